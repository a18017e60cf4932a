"""Objections to submissions: one TOML file each in the folder ``OBJECTIONS/<folder>`` beside the
submission ``<folder>``, which stays as it was signed."""

import datetime
import enum
import re
from dataclasses import dataclass
from pathlib import Path

from suite.errors import FileError, SuiteError
from suite.files.toml_file import read_toml
from suite.submission.folder_names import RUN_FOLDER

FOLDER = "OBJECTIONS"
"""No organization has this name: names of organizations have no capital letters."""
SCHEMA = 1
MAX_FILES = 100
MAX_FILE_BYTES = 64 * 2**10
MAX_LINE_LENGTH, MAX_TEXT_LENGTH, MAX_SENTENCE_LENGTH = 200, 4000, 500
_AGAINST = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")


class ObjectionState(str, enum.Enum):
    """Open: nobody has decided. Upheld: the result has to be withdrawn. Dismissed: the result
    stays."""

    OPEN = "open"
    UPHELD = "upheld"
    DISMISSED = "dismissed"


@dataclass(frozen=True)
class Objection:
    """An objection; the keys of its file.

    ``against`` is the id of a rule or the name of a figure, ``record`` the file, with its line,
    that contradicts the result. ``run`` is ``<workload>/<framework>/run_<n>``, None for the whole
    submission. ``decision`` and ``decided_by`` are None while it is open.
    """

    schema: int
    date: str
    by: str
    against: str
    record: str
    text: str
    state: ObjectionState = ObjectionState.OPEN
    run: str | None = None
    decision: str | None = None
    decided_by: str | None = None


@dataclass(frozen=True)
class Objections:
    """The objections to a submission by the names of their files, and a sentence for each file that
    is none."""

    by_file: dict[str, Objection]
    unreadable: tuple[str, ...]


def objections_folder(submission: Path) -> Path:
    """The folder of the objections to a submission."""
    whole = submission.resolve()
    return whole.parent / FOLDER / whole.name


def read_objections(submission: Path) -> Objections:
    """Read the untrusted files of the objections to a submission, sorted by name; links are not
    followed."""
    folder = objections_folder(submission)
    if any(path.is_symlink() for path in (folder.parent, folder)):
        problem = f"{folder} is reached through a link; objections must be plain files."
        return Objections({}, (problem,))
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    found, unreadable = {}, []
    for name in names[:MAX_FILES]:
        try:
            found[name] = _read_objection(folder / name, submission)
        except SuiteError as error:
            unreadable.append(str(error)[:MAX_SENTENCE_LENGTH])
    if len(names) > MAX_FILES:
        unreadable.append(f"{folder} has more than {MAX_FILES} files; the others were not read.")
    return Objections(found, tuple(unreadable))


def _read_objection(path: Path, submission: Path) -> Objection:
    if path.suffix != ".toml" or path.is_symlink() or not path.is_file():
        raise FileError(
            path, "is not an objection, which must be a plain file with the ending .toml"
        )
    if path.stat().st_size > MAX_FILE_BYTES:
        raise FileError(path, f"is larger than {MAX_FILE_BYTES} bytes")
    try:
        objection = read_toml(path, Objection)
    except RecursionError as error:
        raise FileError(path, "is not an objection (nested too deeply)") from error
    problem = _problem(objection, submission)
    if problem is not None:
        raise FileError(path, f"is not an objection: {problem}")
    return objection


def _problem(objection: Objection, submission: Path) -> str | None:
    """The first thing that is wrong with it; None for none."""
    limits = {
        **dict.fromkeys(("by", "record", "decided_by"), MAX_LINE_LENGTH),
        **dict.fromkeys(("text", "decision"), MAX_TEXT_LENGTH),
    }
    texts = ((name, getattr(objection, name)) for name in limits)
    wrong = [name for name, text in texts if text is not None and not _is_text(text, limits[name])]
    is_decided = objection.state is not ObjectionState.OPEN
    problems = (
        (objection.schema != SCHEMA, f"its schema must be {SCHEMA}"),
        (not _is_date(objection.date), "`date` must be YYYY-MM-DD"),
        *((True, f"`{name}` must be text with 1 to {limits[name]} characters") for name in wrong),
        (
            not _AGAINST.fullmatch(objection.against),
            "the key `against` must be the id of a rule or the name of a figure",
        ),
        (
            objection.run is not None and not _is_run(objection.run, submission),
            "the key `run` must be a run of the submission, <workload>/<framework>/run_<n>",
        ),
        (
            is_decided and None in (objection.decision, objection.decided_by),
            "a decided objection needs `decision` and `decided_by`",
        ),
        (
            not is_decided and (objection.decision or objection.decided_by),
            "an open objection must not have a decision",
        ),
    )
    return next((sentence for is_wrong, sentence in problems if is_wrong), None)


def _is_text(text: str, max_length: int) -> bool:
    return bool(text.strip()) and len(text) <= max_length


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_run(name: str, submission: Path) -> bool:
    parts = name.split("/")
    is_named = (
        len(name) <= MAX_LINE_LENGTH
        and len(parts) == 3
        and not {"", ".", ".."} & {*parts}
        and RUN_FOLDER.fullmatch(parts[2]) is not None
    )
    return is_named and "\0" not in name and (submission / name).is_dir()
