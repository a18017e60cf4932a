"""Seeds that nobody chose: computed from a nonce, the round, the digest of what is run, and the
run's number.

The section "Seeds" of rules/RULES.md defines each digest; sha256sum and Python's json module
compute them, too.
"""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.catalog.frameworks import Framework
from suite.catalog.frameworks import implementations_folder as implementations
from suite.errors import SuiteError
from suite.files.canonical import canonical_json, sha256_of_lines, sha256_of_text
from suite.files.digest import sha256
from suite.files.schema import from_plain

NOT_CONFIGURATION = (
    "contract_version",
    "seed",
    "output_directory",
    "cache_cleared",
    "drop_cache_every_epoch",
    "loading",
    "threads",
    "accelerator",
    "recomputation",
    "data.directory",
    "data.verified",
    "start.path",
    "old_task",
    "parallel.nodes",
    "parallel.bucket_bytes",
    "parallel.overlap",
)
"""Fields of the request without influence on the seed: the seed itself, paths, states of the
machine, and what may be tuned for time."""

MAX_NONCE_LENGTH = 200
MAX_RUN_NUMBER = 9999
_SHARED = "data"
NOT_SOURCES = ("build", "__pycache__")
MAX_FILES, MAX_BYTES = 1000, 64 * 2**20


@dataclass(frozen=True)
class NonceUse:
    """Where a run's seed came from, as run.json records it: nonce, round, run number (0, 1, 2, …)
    and digests (SHA-256, hexadecimal).

    ``entry_sha256`` is the digest of the other two; it is locked before the round's nonce is given
    out.
    """

    nonce: str
    round: str
    run_number: int
    implementation_sha256: str
    configuration_sha256: str
    entry_sha256: str

    @property
    def seed(self) -> int:
        """The seed, 0 to 2**32 - 1."""
        return seed_of(self.nonce, self.round, self.entry_sha256, self.run_number)


def read_nonce_use(values: Mapping[str, Any]) -> NonceUse | None:
    """The record in untrusted values; None if a key or a type is wrong, or the nonce or the number
    is not allowed."""
    try:
        used = from_plain(values, NonceUse, "")
    except SuiteError:
        return None
    return used if is_nonce(used.nonce) and 0 <= used.run_number <= MAX_RUN_NUMBER else None


class NonceKind(str, enum.Enum):
    """Where a run's seed came from: the round's nonce, one that the submitter chose, or none: the
    submitter chose the seed."""

    ROUND = "round"
    SELF_CHOSEN = "self-chosen"
    NONE = "none"


def nonce_kind(recorded: Mapping[str, Any] | None, of_round: str | None) -> NonceKind:
    """The kind of a run's nonce (run.json's record of it), in a round with the nonce
    ``of_round``."""
    if recorded is None:
        return NonceKind.NONE
    return (
        NonceKind.ROUND
        if of_round is not None and recorded.get("nonce") == of_round
        else NonceKind.SELF_CHOSEN
    )


def use_nonce(
    nonce: str, round_name: str, run_number: int, framework: Framework, request: Mapping[str, Any]
) -> NonceUse:
    """What a run of ``request`` (plain JSON values) with this nonce records; raises SuiteError for
    a nonce or number that is not allowed."""
    if not is_nonce(nonce):
        raise SuiteError(
            f"--nonce must be 1 to {MAX_NONCE_LENGTH} printable characters on one line, without"
            " blanks at its ends."
        )
    if not 0 <= run_number <= MAX_RUN_NUMBER:
        raise SuiteError(f"--run-number must be between 0 and {MAX_RUN_NUMBER}, not {run_number}.")
    implementation, configuration = (
        implementation_sha256(framework),
        configuration_sha256(request),
    )
    return NonceUse(
        nonce,
        round_name,
        run_number,
        implementation,
        configuration,
        entry_sha256(implementation, configuration),
    )


def is_nonce(text: str) -> bool:
    """The text can be a nonce: one line of printable characters."""
    return 0 < len(text) <= MAX_NONCE_LENGTH and text.isprintable() and text == text.strip()


def seed_of(nonce: str, round_name: str, entry: str, run_number: int) -> int:
    """The first 32 bits of the SHA-256 of four lines: nonce, round, entry digest, run number."""
    return int(sha256_of_lines(nonce, round_name, entry, str(run_number))[:8], 16)


def entry_sha256(implementation: str, configuration: str) -> str:
    """The digest of an entry: SHA-256 of two lines, the digests of implementation and
    configuration."""
    return sha256_of_lines(implementation, configuration)


def request_identity(request: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request (plain JSON values) that change what is computed or whose result it
    is."""
    left: dict[str, Any] = {
        key: dict(value) if isinstance(value, Mapping) else value for key, value in request.items()
    }
    for name in NOT_CONFIGURATION:
        parent, _, child = name.rpartition(".")
        inner = left.get(parent) if parent else left
        if isinstance(inner, dict):
            inner.pop(child, None)
    return left


def configuration_sha256(request: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of :func:`request_identity`."""
    return sha256_of_text(canonical_json(request_identity(request)))


def implementation_sha256(framework: Framework, root: Path | None = None) -> str:
    """SHA-256 of the listing that sha256sum prints for the implementation's files, sorted by
    path."""
    return sha256_of_text(
        "".join(f"{digest}  {name}\n" for name, digest in implementation_files(framework, root))
    )


def describe_implementation(framework: Framework) -> dict[str, Any]:
    """What run.json records of the implementation: digest of its files, title, language, and the
    command that trains (empty: ``python -m``)."""
    digest = implementation_sha256(framework)
    return {
        "sha256": digest,
        "title": framework.title,
        "language": framework.language,
        "train": list(framework.train),
    }


def refuse_other_files(framework: Framework, recorded: Mapping[str, Any] | None, run: Path) -> None:
    """Raise SuiteError for an implementation elsewhere of other files than those that run.json
    records."""
    if recorded is None or recorded.get("sha256") == implementation_sha256(framework):
        return
    raise SuiteError(
        f"The files in {framework.outside} differ from those that made {run}; restore the"
        " files that made the run."
    )


def implementation_files(
    framework: Framework, root: Path | None = None
) -> Iterator[tuple[str, str]]:
    """Path from the checkout and SHA-256 of every file that an implementation consists of, sorted
    by path.

    They are the files in the framework's folder (with those of the framework that it is a variant
    of) and the shared ones. Compiled modules (``__pycache__``) are left out. Of an implementation
    elsewhere they are all files of its folder, paths from there, without those in folders named
    ``build`` (what its build command makes) and hidden ones. Raises SuiteError for a folder that is
    no implementation's by its size.
    """
    if framework.outside is not None:
        yield from _outside_files(Path(framework.outside))
        return
    folder = implementations(root)
    names = [
        name for name in (framework.name, framework.environment_of, _SHARED) if name is not None
    ]
    found = [*folder.glob("*.py"), *(path for name in names for path in (folder / name).rglob("*"))]
    files = {
        path.relative_to(folder.parent).as_posix(): path
        for path in found
        if path.is_file() and "__pycache__" not in path.parts
    }
    for name in sorted(files, key=lambda name: name.encode()):
        yield name, sha256(files[name])


def _outside_files(folder: Path) -> Iterator[tuple[str, str]]:
    sources = [path for path in folder.rglob("*") if _is_source(path.relative_to(folder))]
    for path in sources:
        if path.is_symlink() and path.is_dir():
            raise SuiteError(
                f"{path} is a link to a folder, whose files the digest would leave out; replace the"
                " link by a copy of that folder."
            )
    found = {path.relative_to(folder).as_posix(): path for path in sources if path.is_file()}
    if len(found) > MAX_FILES or sum(path.stat().st_size for path in found.values()) > MAX_BYTES:
        raise SuiteError(
            f"{folder} has more than {MAX_FILES} files or {MAX_BYTES // 2**20} MiB; keep data and"
            " results out of an implementation's folder."
        )
    for name in sorted(found, key=lambda name: name.encode()):
        yield name, sha256(found[name])


def _is_source(path: Path) -> bool:
    return not any(part.startswith(".") or part in NOT_SOURCES for part in path.parts)
