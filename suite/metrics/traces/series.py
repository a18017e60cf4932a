"""Files with several series in turn: entities, GPUs, channels. One is chosen, or all are added."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from suite.bundle.arrays import Values, median
from suite.errors import SuiteError
from suite.metrics.traces.columns import (
    CURRENT,
    ENERGY,
    NOT_POWER,
    POWER,
    VOLTAGE,
    TraceOptions,
    floats_of,
    words_of_name,
)
from suite.metrics.traces.head import Head, is_number, looks_like_time
from suite.metrics.traces.trace_format import UNITS, quantity_of_unit
from suite.metrics.window import GAP_PERIODS

KEY = re.compile(
    r"(entity|entity id|index|idx|(gpu|device|sensor|channel) ?(id|index|name|uuid)?|ch|card|outlet"
    r"|plug|topic|uuid|serial|event|rail|domain|host|hostname|node|socket|cpu|core|pci bus id|id)",
    re.IGNORECASE,
)
OFTEN_A_LOAD = re.compile(r"cpu|gpu|core|node|socket|device|channel", re.IGNORECASE)
"""Names that utilisations have, too: a series only where their values take turns."""
SUMMARY = "-"
"""turbostat's row of the whole machine."""
MAX_TURNS, MIN_ROWS = 16, 40
MIN_PARTS, MIN_OF_PLACE, MIN_AT_A_RATE = 10, 0.5, 0.8
"""Turns that tell devices apart, and the share of the scatter in a turn that is of the place, where
rows share their times and where they come at a rate: a load may keep step with the rate."""
MIN_RISES = 10
"""For each fall: a counter's."""
LARGEST_STEP_S, MAX_STEPS = 0.1, 100_000
PARTS, MIN_SHARE = 10, 0.3
"""Parts of a trace, and how many of them must show the turns."""
MAX_RATIO, MAX_PAUSE_RATIO = 0.4, 0.1
"""Of the differences between rows in turn to those between neighbours, and of the shortest pause in
a turn to the longest: below them, rows take turns."""


def key_columns(
    head: Head, used: Collection[int], *, is_at_a_rate: bool = False
) -> tuple[int, ...]:
    """The columns whose values name the series of a row. Of rows without times each may be another
    device, read once."""
    found = []
    for place in set(range(len(head.names))) - set(used):
        cells = [row[place] for row in head.rows]
        name = words_of_name(head.names[place])
        is_text = not any(
            is_number(cell) or looks_like_time(cell) or cell in UNITS for cell in cells
        )
        is_key = head.has_header and KEY.fullmatch(name) is not None
        if is_key and is_text and is_at_a_rate and len(set(cells)) == len(cells):
            return (place,)
        if len(cells) > 3 and len(set(cells)) > len(cells) / 2:
            continue  # the row's number
        if (is_key and "" not in cells and not OFTEN_A_LOAD.fullmatch(name)) or (
            (is_key or is_text) and _take_turns(cells)
        ):
            found.append(place)
    return tuple(sorted(found))


def _take_turns(cells: Sequence[str]) -> bool:
    changes = sum(map(str.__ne__, cells, cells[1:]))
    # a phase or an event comes a few times, a device in every turn
    return any(
        len(set(cells[:turns])) > 1
        and min(changes, *map(cells.count, set(cells[:turns]))) >= 0.9 * (len(cells) // turns)
        and sum(map(str.__eq__, cells, cells[turns:])) >= 0.9 * (len(cells) - turns)
        for turns in range(2, min(MAX_TURNS, len(cells) // 2) + 1)
    )


def rows_of_series(head: Head, names: Sequence[str]) -> Head:
    """The head with the rows of these series alone; all where a name is not a cell."""
    rows = tuple(row for row in head.rows if not set(names).isdisjoint(row))
    return replace(head, rows=rows) if rows else head


def refuse_energy_as_power(name: str, unit: str | None) -> None:
    """Raise SuiteError for a unit of power given to what is an energy by its name."""
    words = words_of_name(name)
    if unit and quantity_of_unit(unit) == "W" and ENERGY.search(words) and not POWER.search(words):
        raise SuiteError(
            f"{name!r} is the name of an energy, but --unit {unit} is a unit of power: give the"
            " energy's unit (J, Wh, kWh, …), or rename the column in the file if it is a power."
        )


def refuse_counter(values: Values) -> None:
    """Raise SuiteError for a power that only rises, a few resets apart."""
    steps = np.diff(values)
    if np.sum(steps > 0) >= MIN_RISES * max(1, int(np.sum(steps < 0))):
        raise SuiteError(
            "The power hardly ever falls from one reading to the next, so it may be an energy"
            " counter. Add --unit with the counter's unit (J, mJ, uJ, Wh, mWh or kWh), or choose"
            " another column with --power. If it is a power, attach a part of the"
            " trace in which it also falls."
        )


def refuse_other_quantities(names: Sequence[str], unit: str | None) -> None:
    """Raise SuiteError for a series whose name says that it is no power, unless a unit is given
    that fits it."""
    for name in names:
        words = words_of_name(name)
        refuse_energy_as_power(name, unit)
        is_other = any(each.search(words) for each in (NOT_POWER, VOLTAGE, CURRENT))
        if unit is None and is_other and not POWER.search(words):
            raise SuiteError(
                f"By its name, the series {name!r} is not a power: choose others with --series, or"
                " add --unit (W, kWh, J, …)."
            )


def chosen_series(counts: Mapping[str, int], series: Sequence[str], *, adds: bool) -> list[str]:
    """The series to add up, of those found with their numbers of rows; raises SuiteError where
    several were found and none is chosen, or one is chosen twice or has no readings to add."""
    listed = ", ".join(f"{name!r} ({count} rows)" for name, count in list(counts.items())[:20])
    unknown = [name for name in series if name not in counts]
    if unknown:
        raise SuiteError(f"There is no series {unknown[0]!r}; the file has {listed}.")
    twice = next((name for name, times in Counter(series).items() if times > 1), None)
    if twice is not None:
        raise SuiteError(f"The series {twice!r} is named twice; name each series once.")
    if series or adds or len(counts) < 2:
        chosen = list(series) or list(counts)
        silent = [name for name in chosen if not counts[name]] if len(chosen) > 1 else []
        if silent:
            raise SuiteError(
                f"The series {silent[0]!r} has no readings to add: choose the others with --series."
            )
        return chosen
    summaries = [name for name in counts if set(name.split()) == {SUMMARY}]
    if summaries:
        return summaries
    raise SuiteError(
        f"The rows of the file belong to {len(counts)} series: {listed}. Add --series NAME for"
        " the one that measured the run, or --sum to add them all up."
    )


def sum_of_series(
    parts: Sequence[tuple[Values, Values]], *, keeps_gaps: bool
) -> tuple[Values, Values]:
    """Times and sums of several series: at the times of the first, where all have readings; with
    ``keeps_gaps`` not within a gap of another."""
    (t_s, total), *others = parts
    first_s, last_s = max(part[0][0] for part in parts), min(part[0][-1] for part in parts)
    inside = (t_s >= first_s) & (t_s <= last_s)
    for other_s, _ in others:
        if keeps_gaps and len(other_s) > 1:
            inside &= _nearest_s(t_s, other_s) <= GAP_PERIODS / 2 * median(np.diff(other_s))
    t_s, total = t_s[inside], total[inside].copy()
    for other_s, values in others:
        total += np.interp(t_s, other_s, values)
    return t_s, total


def _nearest_s(t_s: Values, other_s: Values) -> Values:
    """How far each time is from the nearest of two others or more."""
    after = np.searchsorted(other_s, t_s).clip(1, len(other_s) - 1)
    distances_s: Values = np.minimum(np.abs(t_s - other_s[after - 1]), np.abs(other_s[after] - t_s))
    return distances_s


def as_steps(t_s: Values, values: Values) -> tuple[Values, Values]:
    """Rows that hold until the next one, on an even grid which is finer than they are; nothing
    after a row without a number."""
    if len(t_s) < 2:
        return t_s, values
    span_s, shortest_s = float(t_s[-1] - t_s[0]), float(np.diff(t_s).min())
    spacing_s = max(min(LARGEST_STEP_S, shortest_s / 2), span_s / MAX_STEPS)
    moments_s = t_s[0] + spacing_s * np.arange(int(span_s / spacing_s) + 1)
    held = values[np.searchsorted(t_s, moments_s, side="right") - 1]
    return moments_s[np.isfinite(held)], held[np.isfinite(held)]


def device_turns(
    head: Head, times: Sequence[int], column: int, decimal: str, options: TraceOptions
) -> int:
    """How many devices take turns in rows without a key that share their times, or come at a rate;
    1 for one device. Raises SuiteError where there are several and --sum is not given."""
    cells = [re.sub(r"\s*[^\d\s.,]+$", "", row[column]) for row in head.rows]
    values = floats_of(cells, decimal)
    counts = (_rows_of_a_time(head, times),) if times else range(2, MAX_TURNS + 1)
    least = MIN_OF_PLACE if times else MIN_AT_A_RATE
    turns = next((count for count in counts if _share_of_place(values, count) >= least), 1)
    if turns == 1 or options.series:
        return 1
    if options.sum:
        return turns
    rows = f"{turns} rows share each time" if times else f"The values repeat every {turns} rows"
    one = "" if times else "; add --series 1 if one device wrote all rows"
    raise SuiteError(
        f"{rows}, as if {turns} devices wrote in turn: add --sum to add up their powers, or"
        " export again with a column that names the device, and choose one device with"
        f" --series{one}."
    )


def _rows_of_a_time(head: Head, times: Sequence[int]) -> int:
    """How many rows share each time; 1 where their number varies."""
    stamps = [tuple(row[place] for place in times) for row in head.rows]
    whole = [len(list(rows)) for _, rows in groupby(stamps)][:-1]  # the last may be cut off
    return whole[0] if len(set(whole)) == 1 else 1


def _share_of_place(values: Values, turns: int) -> float:
    """How much of a row's difference from the mean of its turn its place among ``turns`` tells."""
    parts = values[: len(values) // turns * turns].reshape(-1, turns)
    is_long = len(values) >= MIN_ROWS and len(parts) >= MIN_PARTS
    if not 1 < turns <= MAX_TURNS or not is_long or not np.isfinite(parts).all():
        return 0.0
    apart = parts / np.maximum(np.abs(parts.mean(axis=1, keepdims=True)), 1e-12)
    apart -= apart.mean(axis=1, keepdims=True)
    scatter = float(apart.var())
    return float(apart.mean(axis=0).var()) / scatter if scatter > 0 else 0.0


def turns_of(t_s: Values, power_w: Values) -> int:
    """How many devices take turns in rows that name none: their levels or their pauses repeat;
    1 for one device."""
    if len(t_s) < MIN_ROWS:
        return 1
    pauses_s = np.diff(t_s)
    for turns in range(2, MAX_TURNS + 1):
        of_turn = [median(pauses_s[place::turns]) for place in range(turns)]
        is_in_bursts = min(of_turn) < MAX_PAUSE_RATIO * max(of_turn)
        if _repeats(power_w, turns) or (is_in_bursts and _repeats(pauses_s, turns)):
            return turns
    return 1


def _repeats(values: Values, turns: int) -> bool:
    """Whether the same of ``turns`` values in turn is the highest all the time: a load with such a
    period drifts from one to the other."""
    length = max(MIN_ROWS, len(values) // PARTS) // turns * turns
    parts = values[: len(values) // length * length].reshape(-1, length)
    beside = np.abs(np.diff(parts, axis=1)).mean(axis=1)
    apart = np.abs(parts[:, turns:] - parts[:, :-turns]).mean(axis=1)
    repeats = apart < MAX_RATIO * beside
    highest = parts.reshape(len(parts), -1, turns).mean(axis=1).argmax(axis=1)[repeats]
    return len(highest) >= MIN_SHARE * len(parts) and len(set(highest)) == 1
