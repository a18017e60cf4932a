"""``declaration.json``: organization, round, availability of the system, and the code that ran."""

import enum
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from suite.errors import FileError, SuiteError
from suite.files.json_file import read_record, write_json
from suite.files.names import plain_name
from suite.files.schema import Digest, from_plain
from suite.submission.launches import MAX_LAUNCHES, DeclaredEntry

NAME = "declaration.json"
SCHEMA = 3
READABLE_SCHEMAS = (1, 2, SCHEMA)
ADDED = {"entries": 2, "implementations": 3}
"""Keys by the schema that added them."""

Title = Annotated[str, Meta(max_length=200)]
Notes = Annotated[str, Meta(max_length=4000)]


class SystemAvailability(str, enum.Enum):
    """Availability of the measured system: to anybody today, within half a year, or not."""

    AVAILABLE = "available"
    PREVIEW = "preview"
    RESEARCH = "research"


ADDRESSES = ("https://", "git@", "ssh://")
"""How the address of a repository begins."""


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
    sha256: Digest
    title: Title
    language: Title
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
    notes: Notes
    entries: tuple[DeclaredEntry, ...] = ()
    implementations: Annotated[tuple[DeclaredImplementation, ...], Meta(max_length=100)] = ()

    def write(self, directory: Path) -> None:
        """Write the file."""
        write_json(directory / NAME, asdict(self))


def read_declaration(directory: Path) -> Declaration:
    """Read the file; raises FileError naming it and what is wrong."""
    path = directory / NAME
    values = read_record(path, *READABLE_SCHEMAS)
    keys = [key.name for key in fields(Declaration) if ADDED.get(key.name, 1) <= values["schema"]]
    try:
        if set(values) != set(keys):
            raise ValueError(f"its keys must be {', '.join(keys)}")
        found = from_plain(values, Declaration, "")
        if sum(len(entry.launches) for entry in found.entries) > MAX_LAUNCHES:
            raise ValueError(f"its entries have more than {MAX_LAUNCHES} launches in all")
        plain_name(found.organization, "organization")
        plain_name(found.round, "round")
        for implementation in found.implementations:
            plain_name(implementation.name, "implementation")
    except (ValueError, SuiteError, RecursionError) as error:
        raise FileError(path, f"is not a declaration ({str(error)[:200]})") from error
    return found
