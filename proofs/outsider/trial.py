"""Applies one entry of the outsider's list to a fresh copy of its sample, and checks the copy as
`suite check` does."""

import hashlib
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proofs.outsider.edits import NOTHING, Lie, save
from proofs.outsider.honest import HONEST, Honest
from proofs.outsider.lies import ALL
from proofs.outsider.samples import copy_of, opened, sample
from suite.bundle.layout import MANIFEST
from suite.compliance.finding import Severity
from suite.compliance.paths import check_paths
from suite.errors import SuiteError

HONEST_CLASS = "honest"
REFUSED, UNREADABLE, WARNED, ACCEPTED, NOT_APPLIED = (
    "refused",
    "could not be checked",
    "warned only",
    "accepted",
    "not applied",
)
NO_CONTRADICTION = "accepted, no contradiction known"
UNCHANGED = "read and sealed again"  # in the name of the one variation that changes nothing
COLUMNS = (REFUSED, UNREADABLE, WARNED, ACCEPTED, NO_CONTRADICTION, NOT_APPLIED)


@dataclass(frozen=True)
class Outcome:
    """What the checker said of one lie or honest variation; ``rules`` are those with severity
    invalid, ``warnings`` those that warned.

    ``column`` is one of COLUMNS. Rules that fire for the untouched sample too do not count.
    """

    class_name: str
    level: str
    name: str
    sample: str
    is_sealed: bool
    contradicts: str
    column: str
    rules: tuple[str, ...]
    warnings: tuple[str, ...]
    message: str


def entries() -> dict[str, Sequence[Lie | Honest]]:
    """Every lie and honest variation by class, the honest ones last."""
    return {**ALL, HONEST_CLASS: HONEST}


def apply(entry: Lie | Honest, folder: Path) -> Path:
    """The edited copy of the entry's sample, below ``folder``, saved if the entry says so. Raises
    AssertionError if no byte is different."""
    path = copy_of(entry.needs, folder)
    edited = opened(entry.needs, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the edited values may be impossible
        entry.change(edited)
        if entry.sealed:
            save(edited)
    assert UNCHANGED in entry.name or digest(path) != _untouched(entry.needs, entry.sealed), (
        "nothing was changed"
    )
    return path


def digest(folder: Path) -> str:
    """SHA-256 over names, links and contents of all files."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        kind = b"link" if path.is_symlink() else b""
        total.update(
            str(path.relative_to(folder)).encode()
            + kind
            + (path.read_bytes() if path.is_file() else b"")
        )
    return total.hexdigest()


def try_out(task: tuple[str, int]) -> Outcome:
    """Apply the n-th entry of a class to a fresh copy, check the copy."""
    class_name, number = task
    entry = entries()[class_name][number]
    contradicts, level = getattr(entry, "contradicts", ""), getattr(entry, "level", HONEST_CLASS)

    def outcome(
        column: str, message: str, rules: Iterable[str] = (), warned: Iterable[str] = ()
    ) -> Outcome:
        facts = (class_name, level, entry.name, entry.needs, entry.sealed, contradicts)
        return Outcome(*facts, column, tuple(sorted(rules)), tuple(sorted(warned)), message)

    with tempfile.TemporaryDirectory() as folder:
        try:
            path = apply(entry, Path(folder))
        except Exception as error:  # noqa: BLE001  counted, and reported with its name
            return outcome(NOT_APPLIED, f"{type(error).__name__}: {error}")
        fired, message = findings(path)
    new = {severity: rules - _of_sample(entry.needs)[severity] for severity, rules in fired.items()}
    invalid, warned = new[Severity.INVALID], new[Severity.WARNING]
    if invalid:
        return outcome(REFUSED, message, invalid, warned)
    if message:
        return outcome(UNREADABLE, message, (), warned)
    if warned:
        return outcome(WARNED, "", (), warned)
    return outcome(NO_CONTRADICTION if contradicts.startswith(NOTHING) else ACCEPTED, "")


def lie_at(place: tuple[str, int]) -> Lie:
    """The n-th entry of a class, which must be a lie."""
    class_name, number = place
    entry = entries()[class_name][number]
    assert isinstance(entry, Lie)
    return entry


def unsealed_lie(place: tuple[str, int]) -> tuple[str, tuple[str, ...] | None]:
    """Name of the lie at this place, and :func:`unsealed_rules` of it."""
    lie = lie_at(place)
    return lie.name, unsealed_rules(lie)


def unsealed_rules(lie: Lie) -> tuple[str, ...] | None:
    """The rules that refuse this lie with the manifests of its sample, as somebody leaves them who
    edits and does not seal again.

    None where the lie is not applied, where it changes no file that a manifest lists, and where it
    changes nothing but manifests: with those of the sample it is undone.
    """
    source = sample(lie.needs)
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = apply(lie, Path(folder))
        except Exception:  # noqa: BLE001  counted as not applied by the checker's column
            return None
        manifests = {
            path / own.relative_to(source): own.read_bytes() for own in source.rglob(MANIFEST)
        }
        changed = [
            place
            for place, content in manifests.items()
            if place.is_file() and place.read_bytes() != content
        ]
        if not changed:
            return None
        for place in changed:
            place.write_bytes(manifests[place])
        if _contents(path) == _contents(source):
            return None
        fired, _ = findings(path)
    return tuple(sorted(fired[Severity.INVALID]))


def _contents(folder: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def findings(path: Path) -> tuple[dict[Severity, set[str]], str]:
    """The rules that fired, by severity, as in `suite check`; and the sentences about what could
    not be checked."""
    fired: dict[Severity, set[str]] = {Severity.INVALID: set(), Severity.WARNING: set()}
    try:
        result = check_paths([path])
    except SuiteError as error:
        return fired, str(error)
    for _, finding in result.all_findings():
        if finding.severity in fired:
            fired[finding.severity].add(finding.rule)
    return fired, "; ".join(result.broken).replace(str(path), path.name)


@cache
def _of_sample(name: str) -> Mapping[Severity, set[str]]:
    """The rules that fire for the untouched sample: runs of a stall analysis are no results."""
    with tempfile.TemporaryDirectory() as folder:
        return findings(copy_of(name, Path(folder)))[0]


@cache
def _untouched(name: str, is_sealed: bool) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = copy_of(name, Path(folder))
        if is_sealed:
            save(opened(name, path))
        return digest(path)
