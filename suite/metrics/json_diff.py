"""Differences between a stored JSON record and the same record recomputed, possibly on another
machine."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from suite.metrics.former_texts import as_now

TOLERANCE = 1e-9


def json_differences(
    computed: Any, written: Any, where: str = "", tolerance: float = TOLERANCE
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """All differences of two JSON values, as (path, (computed, written)); ``tolerance`` for numbers
    is relative to the larger one; a text's former words agree with those of now."""
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
        for key in sorted({*computed, *written}, key=str):
            place = f"{where}.{key}" if where else str(key)
            yield from _differences(computed.get(key), written.get(key), place, tolerance)
    elif (
        isinstance(computed, list | tuple)
        and isinstance(written, list)
        and len(computed) == len(written)
    ):
        for index, (one, other) in enumerate(zip(computed, written, strict=True)):
            yield from _differences(one, other, f"{where}[{index}]", tolerance)
    elif not _agree(computed, written, tolerance):
        yield where, (computed, written)


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
    if isinstance(computed, str) and isinstance(written, str):
        return computed == written or computed == as_now(written)
    return type(computed) is type(written) and bool(computed == written)
