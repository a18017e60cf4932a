"""``declaration.json``: organization, round, availability of the system, and the code that ran."""

import enum
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json, write_json
from suite.files.names import plain_name
from suite.submission.launches import DeclaredEntry, build_entries

NAME = "declaration.json"
SCHEMA = 3
READABLE_SCHEMAS = (1, 2, SCHEMA)
ADDED = {"entries": 2, "implementations": 3}
"""Keys by the schema that added them."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
MAX_NOTES_LENGTH = 4000
MAX_IMPLEMENTATIONS = 100


class SystemAvailability(str, enum.Enum):
    """Availability of the measured system: to anybody today, within half a year, or not."""

    AVAILABLE = "available"
    PREVIEW = "preview"
    RESEARCH = "research"


@dataclass(frozen=True)
class Code:
    """The code that ran: the repository's address and commit, and whether files differed from it;
    None where git does not know."""

    address: str | None
    commit: str | None
    modified: bool | None


@dataclass(frozen=True)
class DeclaredImplementation:
    """An implementation of the runs: its name, the SHA-256 of its files, title and language, and
    the code that they are from."""

    name: str
    sha256: str
    title: str
    language: str
    code: Code


@dataclass(frozen=True)
class Declaration:
    """The declaration of a submission; ``notes`` are free text, on cooling for instance.

    ``entries`` is empty in schema 1, ``implementations`` in the schemas 1 and 2.
    """

    schema: int
    organization: str
    round: str
    availability: SystemAvailability
    suite_version: str
    code: Code
    notes: str
    entries: tuple[DeclaredEntry, ...] = ()
    implementations: tuple[DeclaredImplementation, ...] = ()

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
    if isinstance(schema, bool) or schema not in READABLE_SCHEMAS:
        raise ValueError(f"its schema must be {' or '.join(map(str, READABLE_SCHEMAS))}")
    names = [field.name for field in fields(Declaration) if ADDED.get(field.name, 1) <= schema]
    if set(values) != set(names):
        raise ValueError(f"its keys must be {', '.join(names)}")
    if (
        not all(isinstance(values[name], str) for name in ("suite_version", "notes"))
        or len(values["notes"]) > MAX_NOTES_LENGTH
    ):
        raise ValueError(
            f"suite_version and notes must be text, notes of {MAX_NOTES_LENGTH} characters at most"
        )
    return Declaration(
        schema,
        plain_name(str(values["organization"]), "organization"),
        plain_name(str(values["round"]), "round"),
        SystemAvailability(values["availability"]),
        values["suite_version"],
        _code(values["code"]),
        values["notes"],
        build_entries(values.get("entries", [])),
        _implementations(values.get("implementations", [])),
    )


def _code(values: dict[str, Any]) -> Code:
    are_texts = all(
        values[name] is None or isinstance(values[name], str) for name in ("address", "commit")
    )
    if not are_texts or values["modified"] not in (None, True, False):
        raise ValueError("code must hold address, commit and modified")
    return Code(values["address"], values["commit"], values["modified"])


def _implementations(values: Any) -> tuple[DeclaredImplementation, ...]:
    if not isinstance(values, list) or len(values) > MAX_IMPLEMENTATIONS:
        raise ValueError(f"implementations must be a list of {MAX_IMPLEMENTATIONS} at most")
    return tuple(_implementation(each) for each in values)


def _implementation(values: dict[str, Any]) -> DeclaredImplementation:
    if set(values) != {field.name for field in fields(DeclaredImplementation)}:
        raise ValueError(
            "an implementation must have the keys name, sha256, title, language and code"
        )
    if not _DIGEST.fullmatch(str(values["sha256"])) or not all(
        isinstance(values[key], str) and len(values[key]) <= 200 for key in ("title", "language")
    ):
        raise ValueError(
            "an implementation has a digest that is no SHA-256, or a title or language that is no"
            " text"
        )
    name = plain_name(str(values["name"]), "implementation")
    return DeclaredImplementation(
        name, values["sha256"], values["title"], values["language"], _code(values["code"])
    )
