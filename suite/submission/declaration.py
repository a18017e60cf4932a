"""``declaration.json``: organization, round, availability of the system, and the code that ran."""

import enum
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json, write_json
from suite.files.names import plain_name
from suite.submission.launches import DeclaredEntry, build_entries

NAME = "declaration.json"
SCHEMA = 2
READABLE_SCHEMAS = (1, SCHEMA)  # 1: before launches were declared
MAX_NOTES_LENGTH = 4000


class SystemAvailability(str, enum.Enum):
    """Availability of the measured system: to anybody today, within half a year, or not."""

    AVAILABLE = "available"
    PREVIEW = "preview"
    RESEARCH = "research"


@dataclass(frozen=True)
class Code:
    """The code that ran: the repository's address and commit, and whether files differed from it; None where git does not know."""

    address: str | None
    commit: str | None
    modified: bool | None


@dataclass(frozen=True)
class Declaration:
    """The declaration of a submission; ``notes`` are free text, on cooling for instance. ``entries`` is empty in schema 1."""

    schema: int
    organization: str
    round: str
    availability: SystemAvailability
    suite_version: str
    code: Code
    notes: str
    entries: tuple[DeclaredEntry, ...] = ()

    def write(self, directory: Path) -> None:
        """Write the file."""
        write_json(directory / NAME, asdict(self))


def read_declaration(directory: Path) -> Declaration:
    """Read the file; raises FileError naming it and what is wrong."""
    path = directory / NAME
    if path.is_symlink() or not path.is_file():
        raise FileError(path, "is missing")
    values = read_json(path)
    try:
        return _build(values)
    except (TypeError, KeyError, ValueError, SuiteError) as error:
        raise FileError(path, f"is not a declaration ({str(error)[:200]})") from error


def _build(values: dict[str, Any]) -> Declaration:
    schema = values.get("schema")
    names = [field.name for field in fields(Declaration) if schema != 1 or field.name != "entries"]
    if set(values) != set(names) or isinstance(schema, bool) or schema not in READABLE_SCHEMAS:
        raise ValueError(f"its keys must be {', '.join(names)}, its schema {' or '.join(map(str, READABLE_SCHEMAS))}")
    code = values["code"]
    if not all(code[name] is None or isinstance(code[name], str) for name in ("address", "commit")) or code["modified"] not in (None, True, False):
        raise ValueError("code must hold address, commit and modified")
    if not all(isinstance(values[name], str) for name in ("suite_version", "notes")) or len(values["notes"]) > MAX_NOTES_LENGTH:
        raise ValueError(f"suite_version and notes must be text, notes of {MAX_NOTES_LENGTH} characters at most")
    return Declaration(
        schema,
        plain_name(str(values["organization"]), "organization"),
        plain_name(str(values["round"]), "round"),
        SystemAvailability(values["availability"]),
        values["suite_version"],
        Code(code["address"], code["commit"], code["modified"]),
        values["notes"],
        build_entries(values.get("entries", [])),
    )
