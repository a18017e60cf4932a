"""Reads a TOML file or plain values into a frozen dataclass. Errors name the file, the key and the
nearest valid key."""

import dataclasses
import difflib
import enum
import sys
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

from suite.errors import SuiteError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = TypeVar("Kind")


def read_toml(path: Path, kind: type[Kind]) -> Kind:
    """The file's content as an instance of the dataclass ``kind``.

    Fields may be str, int, float, bool, enums, nested dataclasses, tuples of these, and each of
    these or None. An absent key takes the field's default. Raises SuiteError for a file that cannot
    be read and for keys that are unknown, missing or of the wrong type.
    """
    return from_plain(read_table(path), kind, f"{path}: ")


def read_table(path: Path) -> dict[str, Any]:
    """The file's content as it is; raises SuiteError for a file that cannot be read, or is not
    TOML."""
    try:
        return dict(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SuiteError(f"{path} is not valid TOML: {error}.") from error


def from_plain(values: dict[str, Any], kind: type[Kind], where: str) -> Kind:
    """Plain values as an instance of ``kind``, converted as in :func:`read_toml`; None is accepted
    for fields that may be None."""
    return typing.cast(Kind, _build(kind, values, where))


def _build(kind: Any, values: dict[str, Any], where: str) -> Any:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    hints = typing.get_type_hints(kind)
    for key in values:
        if key not in fields:
            nearest = difflib.get_close_matches(key, fields, n=1)
            hint = (
                f"did you mean {nearest[0]!r}" if nearest else f"known keys are {', '.join(fields)}"
            )
            raise SuiteError(f"{where}there is no key {key!r}; {hint}.")
    missing = [
        name for name, field in fields.items() if name not in values and not _has_default(field)
    ]
    if missing:
        raise SuiteError(f"{where}the key {missing[0]!r} is missing.")
    return kind(
        **{key: _convert(hints[key], value, f"{where}{key}") for key, value in values.items()}
    )


def _has_default(field: "dataclasses.Field[Any]") -> bool:
    return (
        field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    )


def _convert(hint: Any, value: Any, where: str) -> Any:
    if isinstance(hint, types.UnionType):
        if value is None and type(None) in typing.get_args(hint):
            return None
        (hint,) = (choice for choice in typing.get_args(hint) if choice is not type(None))
    if dataclasses.is_dataclass(hint):
        return _build(hint, _expect(value, dict, "a table", where), f"{where}.")
    if typing.get_origin(hint) is tuple:
        items = value if isinstance(value, tuple) else _expect(value, list, "a list", where)
        return tuple(
            _convert(typing.get_args(hint)[0], item, f"{where}[{index}]")
            for index, item in enumerate(items)
        )
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choice(hint, value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _expect(
        value,
        hint,
        {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}[hint],
        where,
    )


def _choice(kind: type[enum.Enum], value: Any, where: str) -> enum.Enum:
    try:
        return kind(value)
    except ValueError:
        raise SuiteError(
            f"{where}: expected one of {', '.join(str(choice.value) for choice in kind)}, found"
            f" {value!r}."
        ) from None


def _expect(value: Any, kind: type, expected: str, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise SuiteError(f"{where}: expected {expected}, found {value!r}.")
    return value
