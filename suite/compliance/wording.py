"""Words for values in findings: numbers in a row, JSON values, counts."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

MAX_NAMES = 8


def numbers_text(values: Iterable[int]) -> str:
    """Whole numbers as text, runs of them joined: "1 to 3, 5"; "none" without any. At most eight
    parts, then how many more."""
    found = sorted(set(values))
    if not found:
        return "none"
    starts = [found[0], *(after for before, after in pairwise(found) if after != before + 1)]
    stops = [*(before for before, after in pairwise(found) if after != before + 1), found[-1]]
    parts = [
        f"{start}" if start == stop else f"{start} to {stop}"
        for start, stop in zip(starts, stops, strict=True)
    ]
    return joined_names(parts)


def ranks_text(ranks: Iterable[int]) -> str:
    """Ranks in words: "rank 2", "ranks 0 to 3", "no rank"."""
    found = set(ranks)
    return "no rank" if not found else f"rank{'s' * (len(found) != 1)} {numbers_text(found)}"


def joined_names(names: Sequence[str], most: int = MAX_NAMES) -> str:
    """Names joined by commas, at most ``most`` of them, then how many more."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def value_text(value: object) -> str:
    """A JSON value as text: scalars as they are written, objects and lists by what they have, None
    as nothing."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return (
            f"an object with {joined_names([str(name)[:40] for name in value])}"
            if value
            else "an empty object"
        )
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return repr(value)[:200]


def seconds_text(value_s: float) -> str:
    """A duration with three digits that matter: "0.050 s", "12.3 s", "0.4 microseconds"."""
    if 0 < abs(value_s) < 0.9995e-3:  # else its three digits are 1e+03
        return f"{value_s * 1e6:.3g} microseconds"
    return f"{value_s:.3f} s" if abs(value_s) < 10 else f"{value_s:.1f} s"
