"""Plain values of files to frozen classes, by msgspec: types, limits (``msgspec.Meta``) and keys
are those of the class. Errors name the place, what belongs there, and the nearest key of a wrong
one."""

import functools
import re
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Annotated, Any, TypeVar

import msgspec

from suite.errors import SuiteError
from suite.files.names import nearest

Kind = TypeVar("Kind")


class SchemaError(SuiteError, ValueError):
    """Values of a file that are not those of its class."""


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
ShortText = Annotated[str, msgspec.Meta(max_length=1000)]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]
Number = Annotated[float, msgspec.Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
AboveZero = Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_PROBLEM = re.compile(r"(.*?)(?: - at `\$([^`]*)`)?", re.DOTALL)
ANY_KEY = "[...]"
"""What msgspec calls a value of a mapping, whatever its key is."""
_STEP = re.compile(r"\.?([^.\[\]]+)")


def from_plain(
    values: Mapping[str, Any], kind: type[Kind], where: str, needed: Iterable[str] = ()
) -> Kind:
    """Values as an instance of the class ``kind``; ``where`` begins the error's sentence. The keys
    ``needed`` may not be missing, although the class has a default.

    Raises SchemaError for values of the wrong type or beyond a limit, and for keys that are missing
    or unknown.
    """
    for key in needed:
        if key not in values:
            raise SchemaError(f"{where}the key {key!r} is missing.")
    for place, key, known in _unknown(values, kind, ""):
        hint = nearest(key, known) or f"known keys are {', '.join(known)}."
        raise SchemaError(f"{where}{place}there is no key {key!r}; {hint.rstrip()}")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise SchemaError(f"{where}{_sentence(error, values, kind)}.") from None


def problem_of(value: Any, kind: Any) -> str | None:
    """What is wrong with a value that should be of a type; None where it is."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return _sentence(error, value, kind)
    return None


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _unknown(values: Any, kind: Any, place: str) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Keys that no field has: their place, their name, and the keys there are."""
    kind = _without_none(kind)
    if is_dataclass(kind) and isinstance(values, Mapping):
        fields = _fields(kind)  # type: ignore[arg-type]
        for key, value in values.items():
            if key not in fields:
                yield place, key, tuple(fields)
            elif isinstance(value, Mapping | list | tuple):  # most are numbers and texts
                yield from _unknown(value, fields[key], f"{place}{key}.")
    elif typing.get_origin(kind) is tuple and isinstance(values, list | tuple):
        for number, value in enumerate(values):
            item = f"{place.removesuffix('.')}[{number}]."
            yield from _unknown(value, typing.get_args(kind)[0], item)
    elif typing.get_origin(kind) is Mapping and isinstance(values, Mapping):
        of_each = typing.get_args(kind)[1]
        for name, value in values.items() if of_each is not Any else ():
            yield from _unknown(value, of_each, f"{place}{name}.")


def _sentence(error: msgspec.ValidationError, values: Any, kind: Any) -> str:
    kind = _without_none(kind)
    problem, place = _PROBLEM.fullmatch(str(error)).groups("")  # type: ignore[union-attr]
    for step in _STEP.findall(place.replace(ANY_KEY, "[*]")):
        if step == "*" and isinstance(values, Mapping):
            of_each = typing.get_args(kind)[1]
            key = next(key for key, value in values.items() if problem_of(value, of_each))
            place = place.replace(ANY_KEY, f".{key}", 1)
            values, kind = values[key], _without_none(of_each)
        else:
            values, kind = _value_below(values, step), _kind_below(kind, step)
    name = place.removeprefix(".")
    if missing := re.search(r"missing required field `(.*)`", problem):
        return f"{name}{'.' * bool(name)}the key {missing[1]!r} is missing"
    if problem.startswith("Invalid enum value"):
        expected = f"expected one of {', '.join(str(choice.value) for choice in kind)}"
    else:
        words = re.sub(r"`(\w+)[^`]*`", lambda found: WORDS.get(found[1], found[1]), problem)
        expected = words.partition(", got")[0].replace("Expected", "expected")
    return f"{name}{': ' * bool(name)}{expected}, found {values!r}"[:300]


def _value_below(values: Any, step: str) -> Any:
    if isinstance(values, Mapping):
        return values.get(step)
    return values[int(step)] if step.isdecimal() else None


def _kind_below(kind: Any, step: str) -> Any:
    """The type of a field, or of the items of a list."""
    if is_dataclass(kind):
        return _without_none(_fields(kind)[step])  # type: ignore[arg-type]
    return _without_none(typing.get_args(kind)[0]) if typing.get_args(kind) else kind


def _without_none(kind: Any) -> Any:
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        (kind,) = (choice for choice in typing.get_args(kind) if choice is not type(None))
    return kind
