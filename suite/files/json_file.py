"""JSON: written atomically; read as untrusted input (bounded size and nesting, no NaN, no name
twice)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from suite.errors import FileError
from suite.files.durable import publish
from suite.files.schema import SchemaError, from_plain

Kind = TypeVar("Kind")
NOTHING_ADDED: Mapping[int, Sequence[str]] = {}

MAX_JSON_BYTES = 16 * 2**20
MAX_JSON_VALUES = 500_000
"""Several times those of a run of a thousand epochs. A list of three bytes takes 64 in memory."""


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in an untrusted file. Raises FileError if it is missing, too large, not an
    object, or not strict JSON (:func:`strict_json`)."""
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise FileError(path, f"is larger than {MAX_JSON_BYTES} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from None
    if sum(map(content.count, (b",", b"[", b"{"))) > MAX_JSON_VALUES:
        raise FileError(path, f"holds more than {MAX_JSON_VALUES} values")
    try:
        value = strict_json(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is not valid JSON ({str(error)[:200]})") from error
    if not isinstance(value, dict):
        raise FileError(path, "must hold a JSON object")
    return value


def read_record(path: Path, *schemas: int) -> dict[str, Any]:
    """The JSON object of a record of one of the schemas that this version of the suite reads.

    Raises FileError as :func:`read_json`, and if the file is missing, a link, or has another
    schema.
    """
    if path.is_symlink() or not path.is_file():
        raise FileError(path, "is missing")
    values = read_json(path)
    if values.get("schema") not in schemas:
        raise FileError(
            path,
            f"has schema {values.get('schema')!r}; this version of the suite reads schema"
            f" {' and '.join(map(str, schemas))}",
        )
    return values


def read_as(
    path: Path, kind: type[Kind], *schemas: int, added: Mapping[int, Sequence[str]] = NOTHING_ADDED
) -> Kind:
    """A record as an instance of the class ``kind``, which may have its ``schema`` as a field; a
    record has the keys that its schema and earlier ones ``added``, although the class has defaults.

    Raises FileError as :func:`read_record`, and for values that are not those of the class."""
    values = read_record(path, *schemas)
    needed = [key for since, keys in added.items() if since <= values["schema"] for key in keys]
    if "schema" not in {each.name for each in fields(kind)}:  # type: ignore[arg-type]
        del values["schema"]
    try:
        return from_plain(values, kind, "", needed)
    except (SchemaError, RecursionError) as error:
        raise FileError(path, f"is not as the suite writes it ({str(error)[:200]})") from error


def strict_json(text: str) -> Any:
    """Parse JSON that every reader understands alike. Raises ValueError for NaN, infinity, and an
    object with one name twice; RecursionError for nesting that is too deep.
    """
    return _STRICT.decode(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the key {repeated[:80]!r} twice")
    return values


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object)
"""Made once: a log has an object on each line."""


def flatten(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no object, in nested objects, with its keys joined by dots."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def plain_values(value: Any) -> dict[str, Any]:
    """A dataclass or a mapping as what its JSON has: enumerations by value, lists for tuples."""
    # msgspec.to_builtins leaves out what msgspec.convert left at its default
    plain: dict[str, Any] = json.loads(json.dumps(value, default=asdict))
    return plain


def write_json(path: Path, value: Any) -> None:
    """Write a dataclass or plain value as JSON, atomically (temporary file, fsync, rename). Raises
    OSError as `durable.publish`."""
    plain = value if isinstance(value, Mapping) else asdict(value)
    with publish(path, has_rivals=True) as temporary:
        with temporary.open("w", encoding="utf-8") as stream:
            json.dump(plain, stream, indent=1, allow_nan=False)
            stream.write("\n")
        temporary.chmod(0o644)
