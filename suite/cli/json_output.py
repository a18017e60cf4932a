"""Prints what ``--json`` asks for: one object, whose ``format`` names it and its version
(json_formats.py)."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from suite.cli.json_formats import FORMATS, JsonFormat
from suite.errors import SuiteError
from suite.files.durable import refuse_no_place
from suite.files.json_file import write_json


def print_json(kind: str | JsonFormat, values: Mapping[str, Any]) -> None:
    """Print an object of a format: one of :data:`FORMATS` by its name, or an extension's own."""
    found = FORMATS[kind] if isinstance(kind, str) else kind
    _expect_keys(found, values)
    _print(found, values)


def print_rows(kind: str | JsonFormat, rows: Iterable[Mapping[str, Any]]) -> None:
    """Print a list of equal objects."""
    found = FORMATS[kind] if isinstance(kind, str) else kind
    listed = list(rows)
    for row in listed:
        _expect_keys(found, row)
    _print(found, {"rows": listed})


def expect_place(output: Path | None) -> None:
    """Raise SuiteError where a record cannot be written to ``output``: before the work that it
    would have been of."""
    if output is not None:
        _said(refuse_no_place, output)


def write_record(output: Path | None, record: Mapping[str, Any]) -> None:
    """Write a record where ``--output`` asks for it."""
    if output is not None:
        _said(write_json, output, record)


def _said(function: Callable[..., None], output: Path, *arguments: object) -> None:
    try:
        function(output, *arguments)
    except OSError as error:
        raise SuiteError(
            f"{output} cannot be written: {error.strerror}; choose another --output."
        ) from error


def _print(found: JsonFormat, values: Mapping[str, Any]) -> None:
    print(json.dumps({"format": found.label, **values}, indent=1))


def _expect_keys(found: JsonFormat, values: Mapping[str, Any]) -> None:
    assert set(found.keys) - found.optional <= set(values) <= set(found.keys), (
        f"{found.name}: {sorted(set(values) ^ set(found.keys))}"
    )
