"""What is more than one run: finds and reads the records that lie above the bundles of a study."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas

from reporter.text import plain, plain_or_none
from suite.bundle import MANIFEST, BundleError, read_json
from suite.digest import sha256
from suite.errors import SuiteError
from suite.experiments import stalls

ROWS: Mapping[str, str] = {
    "part": "the run within the study, or the study as a whole",
    "figure": "its name; the unit ends it, except for ratios",
    "value": "None where it is unknown",
    "unit": "of value and spread",
    "count": "from how many values",
    "spread": "sample standard deviation over the values",
    "method": "how it was made, and how sure it is",
    "reason": "why it is unknown",
}
WHOLE = "study"


@dataclass(frozen=True)
class Study:
    """A study: its kind, its runs as (part, run id) in their order, and its figures as a tidy frame whose columns are those of ROWS.

    ``place`` is where it was found, relative to the path that was given; ``record`` is the sealed file that the figures were read from.
    """

    name: str
    kind: str
    title: str
    place: str
    record: Path
    facts: tuple[tuple[str, str], ...]
    runs: tuple[tuple[str, str], ...]
    figures: pandas.DataFrame
    notes: tuple[str, ...]


def find_studies(paths: Iterable[Path]) -> tuple[tuple[Study, ...], tuple[dict[str, str], ...]]:
    """Every study at or below the paths, by name, and those that cannot be shown, as rows of the frame ``broken``; no link is followed."""
    studies: dict[str, Study] = {}
    broken = []
    for given in paths:
        for record in _records(given):
            place = record.parent.relative_to(given).as_posix() if record.parent != given else record.parent.resolve().name
            try:
                study = READERS[record.name](record, plain(place))
                studies.setdefault(study.name, study)
            except SuiteError as error:
                said = f"{error.path.name} {error.what}" if isinstance(error, BundleError) else str(error)
                broken.append({"place": plain(place), "reason": plain(said.replace(str(record.parent), "it"), 400)})
    return tuple(studies[name] for name in sorted(studies)), tuple(broken)


def _records(given: Path) -> Iterator[Path]:
    found = (path for name in READERS for path in given.rglob(name))
    return (path for path in sorted(found) if path.is_file() and not path.is_symlink())


def _read_stalls(record: Path, place: str) -> Study:
    """A folder of ``suite run --stall-analysis``; raises SuiteError unless its figures follow from the bundles that it names."""
    values = read_json(record)
    try:
        again = json.loads(json.dumps(stalls.analyse(record.parent).to_dict()))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SuiteError(f"its bundles do not hold what the suite writes ({type(error).__name__}: {plain(error)})") from error
    if values != again:
        raise SuiteError(f"{record.name} does not say what its three bundles say; run the analysis again.")
    _refuse_broken_seal(record.parent)
    parts = [source.value for source in stalls.Source]
    rows = [_row(part, name, values["runs"][part][key]) for part in parts for key, name in _OF_A_RUN.items()]
    rows += [_row(WHOLE, name, figure) for name, figure in values["figures"].items()]
    runs = tuple((part, plain(values["runs"][part]["run_id"])) for part in parts)
    return Study(
        name=f"stalls-{runs[0][1].removesuffix('-cold')}",
        kind="stalls",
        title=f"Stalls of {plain(values['workload'])} in {plain(values['framework'])}",
        place=place,
        record=record,
        facts=tuple((name, plain(values[name])) for name in ("workload", "data", "framework", "device")),
        runs=runs,
        figures=pandas.DataFrame(rows, columns=list(ROWS)),
        notes=tuple(plain(note, 400) for note in values["notes"]),
    )


_OF_A_RUN = {"epoch": "time_to_epoch_s", "stall": "fetch_stall_s", "copy": "copy_s", "compute": "compute_s", "overhead": "overhead_s"}


def _row(part: str, name: str, figure: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {key: None if figure[key] is None else float(figure[key]) for key in ("value", "count", "spread")}
    words = {key: plain_or_none(figure[key]) for key in ("unit", "method", "reason")}
    return {"part": part, "figure": name, **numbers, **words}


def _refuse_broken_seal(folder: Path) -> None:
    """The study's own manifest: the record and the manifests of its bundles."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SuiteError(f"{folder} has no seal ({MANIFEST}); run the study again.") from error
    for line in lines:
        digest, _, name = line.partition("  ")
        file = folder / name
        if not file.resolve().is_relative_to(folder.resolve()) or not file.is_file() or sha256(file) != digest:
            raise SuiteError(f"{name} is not what the study sealed; run it again.")


READERS: Mapping[str, Callable[[Path, str], Study]] = {stalls.RECORD: _read_stalls}
"""Records by the name of their file. A new kind of study is one reader and one entry here."""
