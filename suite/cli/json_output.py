"""Prints what ``--json`` asks for: one object, whose ``format`` names it and its version
(json_formats.toml)."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from suite.errors import SuiteError
from suite.files.durable import refuse_existing, refuse_no_place
from suite.files.json_file import write_json
from suite.files.toml_file import read_toml

Json = Annotated[bool, Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class JsonFormat:
    """An object that ``--json`` prints, by its ``name`` and ``version``, which rises when a key
    goes or changes its meaning.

    ``keys`` are its own, or with ``is_list`` those of each object in its list ``rows``, and say
    what each holds; ``optional`` ones may be absent.
    """

    name: str
    printed_by: str
    keys: Mapping[str, str]
    is_list: bool = False
    optional: frozenset[str] = frozenset()
    version: int = 1

    @property
    def label(self) -> str:
        """The value of ``format``: ``check/1``."""
        return f"{self.name}/{self.version}"


@dataclass(frozen=True)
class _FormatsFile:
    formats: tuple[JsonFormat, ...]


@cache
def json_formats() -> dict[str, JsonFormat]:
    """The formats of the suite's own commands, by name; docs/json.md is made from their file."""
    file = read_toml(Path(__file__).with_name("json_formats.toml"), _FormatsFile)
    return {each.name: each for each in file.formats}


def print_json(kind: str | JsonFormat, values: Mapping[str, Any]) -> None:
    """Print an object of a format: one of :func:`json_formats`, by its name, or an extension's.

    Values may be paths and dataclasses; enumerations are those of strings.
    """
    _print(kind, values, [values])


def print_rows(kind: str | JsonFormat, rows: Iterable[Mapping[str, Any]]) -> None:
    """Print a list of equal objects."""
    listed = list(rows)
    _print(kind, {"rows": listed}, listed)


def expect_place(output: Path | None) -> None:
    """Raise SuiteError where a record cannot be written to ``output``, or something is there:
    before the work that it would have been of."""
    if output is not None:
        refuse_existing(output)
        _naming_place(refuse_no_place, output)


def write_record(output: Path | None, record: Mapping[str, Any]) -> None:
    """Write a record where ``--output`` asks for it."""
    if output is not None:
        _naming_place(write_json, output, record)


def _naming_place(function: Callable[..., None], output: Path, *arguments: object) -> None:
    try:
        function(output, *arguments)
    except OSError as error:
        raise SuiteError(
            f"{output} cannot be written: {error.strerror}; choose another --output."
        ) from error


def _print(
    kind: str | JsonFormat, values: Mapping[str, Any], described: Iterable[Mapping[str, Any]]
) -> None:
    """Print the values; those ``described`` have the keys of the format."""
    found = json_formats()[kind] if isinstance(kind, str) else kind
    keys = set(found.keys)
    for each in described:
        assert keys - found.optional <= set(each) <= keys, (
            f"{found.name}: {sorted(set(each) ^ keys)}"
        )
    print(json.dumps({"format": found.label, **values}, indent=1, default=_json_value))


def _json_value(value: Any) -> Any:
    """A path as its text, a dataclass as its fields."""
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return os.fspath(value)
