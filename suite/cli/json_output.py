"""Prints what ``--json`` asks for: one object, whose ``format`` names it and its version (json_formats.py)."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from suite.cli.json_formats import FORMATS, JsonFormat


def print_json(name: str, values: Mapping[str, Any]) -> None:
    """Print an object of a format of :data:`FORMATS`."""
    _expect_keys(FORMATS[name], values)
    _print(FORMATS[name], values)


def print_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Print a list of equal objects."""
    listed = list(rows)
    for row in listed:
        _expect_keys(FORMATS[name], row)
    _print(FORMATS[name], {"rows": listed})


def _print(found: JsonFormat, values: Mapping[str, Any]) -> None:
    print(json.dumps({"format": found.label, **values}, indent=1))


def _expect_keys(found: JsonFormat, values: Mapping[str, Any]) -> None:
    assert set(found.keys) - found.optional <= set(values) <= set(found.keys), f"{found.name}: {sorted(set(values) ^ set(found.keys))}"
