"""Differences between a stored JSON record and the same record recomputed, possibly on another
machine."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

TOLERANCE = 1e-9


def differences(
    computed: Any, written: Any, where: str = "", tolerance: float = TOLERANCE
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """All differences of two JSON values, as (path, (computed, written)); ``tolerance`` for numbers
    is relative to the larger one."""
    if not _same_text(computed, written):
        yield from _differences(computed, written, where, tolerance)


def _same_text(computed: Any, written: Any) -> bool:
    """Whether both are the same JSON text, as nearly every record is that the same code computes
    again."""
    try:
        return json.dumps(computed) == json.dumps(written)
    except (TypeError, ValueError, RecursionError):
        return False


def _differences(
    computed: Any, written: Any, where: str, tolerance: float
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    if isinstance(computed, Mapping) and isinstance(written, Mapping):
        keys = [
            key
            for key in {*computed, *written}
            if not _identical(computed.get(key), written.get(key))
        ]
        for key in sorted(keys, key=str):
            yield from _differences(
                computed.get(key),
                written.get(key),
                f"{where}.{key}" if where else str(key),
                tolerance,
            )
    elif (
        isinstance(computed, list | tuple)
        and isinstance(written, list)
        and len(computed) == len(written)
    ):
        for index, (one, other) in enumerate(zip(computed, written, strict=True)):
            yield from _differences(one, other, f"{where}[{index}]", tolerance)
    elif not _agree(computed, written, tolerance):
        yield where, (computed, written)


def _identical(computed: Any, written: Any) -> bool:
    """Whether two scalars have the same type and value: a fast path, which most values take."""
    return (
        type(computed) is type(written)
        and not isinstance(computed, Mapping | list | tuple)
        and bool(computed == written)
    )


def _agree(computed: Any, written: Any, tolerance: float) -> bool:
    numbers = [
        value
        for value in (computed, written)
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if len(numbers) == 2:
        try:
            return math.isclose(computed, written, rel_tol=tolerance, abs_tol=1e-12)
        except OverflowError:
            return False
    return type(computed) is type(written) and bool(computed == written)


def json_values(value: Any) -> Any:
    """Dataclasses, tuples and enumerations as JSON has them."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: json_values(item) for name, item in vars(value).items()}
    if isinstance(value, dict):
        return {name: json_values(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    return getattr(value, "value", value)
