"""Understands a logger's file by its first lines: decimal sign, times, units and rails. Options
settle what they do not tell."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from suite.errors import SuiteError
from suite.metrics.traces.board_rails import rails_of_a_board
from suite.metrics.traces.columns import (
    CURRENT,
    ENERGY,
    POWER,
    VOLTAGE,
    WHOLE_VOLTAGE,
    WORDS,
    TraceOptions,
    column_names,
    column_of,
    floats_of,
    is_quantity,
    refuse_other_unit,
    unit_of_name,
    words_of_name,
)
from suite.metrics.traces.contradictions import refuse_contradictions, refuse_unused
from suite.metrics.traces.decimals import decimal_sign, refuse_ambiguous
from suite.metrics.traces.head import Head, is_number, read_head
from suite.metrics.traces.moments import TIME_OF_DAY
from suite.metrics.traces.overlaps import refuse_overlaps
from suite.metrics.traces.series import (
    device_turns,
    key_columns,
    refuse_energy_as_power,
    refuse_other_quantities,
    rows_of_series,
)
from suite.metrics.traces.sniffed_times import time_columns, time_form, time_kind
from suite.metrics.traces.trace_format import MICRO, UNITS, Rail, TraceFormat, quantity_of_unit

ON_CHANGE = ("last changed",)
"""Home Assistant writes a row when the state has changed."""
OF_MEANS = (
    {"watts", "volts", "mark"},
    {"current", "voltage", "power", "charge", "energy"},
    {"timestamp(ms)", "current(ua)"},
    {"pkgwatt"},
)
"""Columns of instruments that average since the last row: SPEC's PTDaemon, Joulescope's statistics,
Nordic's PPK2, turbostat."""
MAX_DIRECT_V = 60.0
"""Above it is the mains, where current times voltage is no power."""
MAX_UNSTATED = 300.0
"""A larger number without a unit is asked for: milliwatts of a board are more likely than watts."""


def recognise_format(path: Path, options: TraceOptions) -> TraceFormat:
    """The format of a file; raises SuiteError, which names the option to give, for what the file
    does not tell."""
    refuse_contradictions(options)
    head = read_head(path)
    chosen = rows_of_series(head, options.series)
    _refuse_changing_units(chosen)
    decimal = options.decimal or decimal_sign(head)
    times = time_columns(head, options, decimal)
    rails = _rails(chosen, options, set(times), decimal)
    kind, unit = time_kind(head, times, options, decimal)
    refuse_unused(options, kind, rails)
    form = time_form(path, head, times, options) if kind == "text" else ""
    measured = {column for rail in rails for column in rail.columns}
    if options.decimal is None:
        refuse_ambiguous(chosen, measured, times)
    keys = _keys(head, set(times), measured, options)
    return TraceFormat(
        encoding=head.encoding,
        delimiter=head.delimiter,
        decimal=decimal,
        skip_lines=head.skip_lines,
        columns=len(head.names),
        comment=head.comment,
        time_kind=("time of day" if form == TIME_OF_DAY else "date") if form else kind,
        time_unit=unit,
        time_columns=times,
        rate_hz=options.rate_hz or 0.0,
        rails=rails,
        names=head.names,
        leaves_out_spikes=True,
        is_on_change=_is_on_change(head, times, rails),
        is_mean=_is_mean(head, rails) if options.mean is None else options.mean,
        log=head.log,
        series_columns=keys,
        series=options.series,
        adds=options.sum,
        turns=1 if keys else device_turns(chosen, times, rails[0].columns[0], decimal, options),
        time_form=form,
        is_decimal_stated=options.decimal is not None,
        repeats_header=head.repeats_header,
        keeps_gaps=True,
    )


def _keys(
    head: Head, times: set[int], measured: set[int], options: TraceOptions
) -> tuple[int, ...]:
    """The columns that name a row's series; raises SuiteError where what is chosen of them is no
    power."""
    keys = key_columns(head, times | measured, is_at_a_rate=not times)
    names = {" ".join(row[key] for key in keys) for row in head.rows} if keys else set()
    is_named = any(is_quantity(head.names[column], POWER, "W") for column in measured - times)
    if options.series or (len(names) == 1 and not is_named):
        refuse_other_quantities(options.series or tuple(names), options.unit)
    return keys


def format_sentence(how: TraceFormat) -> str:
    """What was understood, in one sentence."""
    rails = " + ".join(_rail_text(rail, how.names) for rail in how.rails)
    if how.time_kind == "index":
        when = f"rows at {how.rate_hz:g} Hz"
    else:
        names = " ".join(how.names[column] for column in how.time_columns)
        when = (
            f"time from {names!r} ({how.time_unit if how.time_kind == 'number' else how.time_form})"
        )
    delimiter = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "blanks"}.get(
        how.delimiter, repr(how.delimiter)
    )
    layout = f"Lines of {how.log}" if how.log else f"Columns between {delimiter}"
    sign = "comma" if how.decimal == "," else "point"
    return f"{layout}, decimal {sign}; {when}; power = {rails}{_series_text(how)}."


def _series_text(how: TraceFormat) -> str:
    each = f", rows of {' + '.join(how.series)}" if how.series else ""
    each = each or ", the sum of all series" * how.adds
    each += ", each row is the mean since the row before" * how.is_mean
    return each + ", each row holds until the next" * how.is_on_change


def _is_on_change(head: Head, times: Sequence[int], rails: Sequence[Rail]) -> bool:
    is_power = all(quantity_of_unit(rail.power_unit) == "W" for rail in rails)
    return is_power and any(
        words_of_name(head.names[place]).lower() in ON_CHANGE for place in times
    )


def _is_mean(head: Head, rails: Sequence[Rail]) -> bool:
    """Whether the instrument is one whose rows are means since the row before."""
    names = {name.lower() for name in head.names}
    is_power = all(quantity_of_unit(rail.power_unit) == "W" for rail in rails)
    return is_power and any(known <= names for known in OF_MEANS)


def _rail_text(rail: Rail, names: Sequence[str]) -> str:
    if rail.power is not None:
        return f"{names[rail.power]!r} ({rail.power_unit})"
    assert rail.current is not None
    volts = (
        f"{rail.volts:g} V"
        if rail.voltage is None
        else f"{names[rail.voltage]!r} ({rail.voltage_unit})"
    )
    return f"{names[rail.current]!r} ({rail.current_unit}) x {volts}"


def _refuse_changing_units(head: Head) -> None:
    """A column beside the numbers that has their unit, row by row: meters that choose their range
    write one."""
    for place, name in enumerate(head.names):
        found = {row[place].translate(MICRO) for row in head.rows}
        if len(found) > 1 and all(unit in UNITS for unit in found):
            keys = key_columns(head, {place})
            series = {(" ".join(row[key] for key in keys), row[place]) for row in head.rows if keys}
            if len({key for key, _ in series}) == len(series) > 0:
                listed_series = ", ".join(f"{key!r} in {unit}" for key, unit in sorted(series))
                raise SuiteError(
                    f"The file has several series: {listed_series}. Add --series NAME for the one"
                    " that measured the run."
                )
            raise SuiteError(
                f"The unit changes from row to row (column {name!r}: {', '.join(sorted(found))}):"
                " export the file in one unit."
            )


def _rails(head: Head, options: TraceOptions, times: set[int], decimal: str) -> tuple[Rail, ...]:
    if options.power:
        columns = _distinct(head, options.power, times)
        refuse_overlaps(head, columns, decimal)
        return tuple(
            Rail(power=column, power_unit=_unit_of(head, column, "W", options.unit))
            for column in columns
        )
    if options.current:
        currents = _distinct(head, options.current, times)
        refuse_overlaps(head, currents, decimal)
        return _pairs(
            head,
            currents,
            [column_of(head, name) for name in options.voltage],
            options,
        )
    free = [place for place in range(len(head.names)) if place not in times]
    rails = (
        _of_powers(head, _columns_named(head, free, POWER, "W"), options)
        or _of_currents(head, free, options)
        # `perf stat -x,` writes the unit in the column beside
        or _of_powers(head, [place for place in free if _unit_beside(head, place)], options)
        or _of_powers(head, [place for place in free if _is_energy(head, place)], options)
        or _of_the_only_number(head, free, options)
    )
    if rails:
        return rails
    names = f"columns {column_names(head, free)}" if free else "columns (only times)"
    raise SuiteError(
        f"Of the {names}, none is clearly the power: add --power COLUMN --unit W (or mW), or"
        " --current and --voltage."
    )


def _columns_named(head: Head, free: Sequence[int], words: re.Pattern[str], unit: str) -> list[int]:
    return [
        place for place in free if head.has_header and is_quantity(head.names[place], words, unit)
    ]


def _of_powers(head: Head, powers: Sequence[int], options: TraceOptions) -> tuple[Rail, ...]:
    # a mode, or a sensor that the machine lacks
    powers = [
        place for place in powers if any(re.match(r"[-+.]?\d", row[place]) for row in head.rows)
    ] or powers
    if len(powers) == 1:
        return (Rail(power=powers[0], power_unit=_unit_of(head, powers[0], "W", options.unit)),)
    rails = rails_of_a_board(head, powers)
    if powers and not rails:
        raise SuiteError(
            f"Several columns are powers or energies ({column_names(head, powers)}): add --power"
            " with the column that measured the machine, or one --power for each of several"
            " columns, none of which includes or repeats another."
        )
    return rails


def _of_currents(head: Head, free: Sequence[int], options: TraceOptions) -> tuple[Rail, ...]:
    voltages = _columns_named(head, free, VOLTAGE, "V")
    supply = [place for place in voltages if WHOLE_VOLTAGE.search(head.names[place])]
    currents = [
        place for place in _columns_named(head, free, CURRENT, "A") if place not in voltages
    ]
    voltages = supply if len(supply) == 1 else voltages
    if len(currents) == 1 and (len(voltages) == 1 or options.volts is not None):
        return _pairs(head, currents, voltages if options.volts is None else [], options)
    if len(currents) == 1 and not voltages:
        raise SuiteError(
            f"The file has a current ({column_names(head, currents)}) and no voltage: add --volts "
            "with the supply's voltage."
        )
    if len(currents) > 1:
        raise SuiteError(
            f"Several columns are currents ({column_names(head, currents)}): add --current"
            " and --voltage with the columns that measured the machine, or one --current and one"
            " --voltage for each of several rails, none of which includes or repeats another."
        )
    return ()


def _of_the_only_number(head: Head, free: Sequence[int], options: TraceOptions) -> tuple[Rail, ...]:
    numeric = [place for place in free if is_number(head.rows[0][place])]
    # Home Assistant's history of one sensor
    is_state = len(numeric) == 1 and head.names[numeric[0]].lower() == "state"
    if len(numeric) == 1 and (options.unit is not None or is_state):
        return (Rail(power=numeric[0], power_unit=options.unit or "W"),)
    return ()


def _is_energy(head: Head, column: int) -> bool:
    name = head.names[column]
    unit = unit_of_name(name)
    is_named = (
        quantity_of_unit(unit) == "J" if unit is not None else ENERGY.search(words_of_name(name))
    )
    return head.has_header and bool(is_named)


def _unit_beside(head: Head, column: int) -> str | None:
    """The unit of power or energy that all cells of the next column have."""
    cells = {row[column + 1] for row in head.rows} if column + 1 < len(head.names) else set()
    text = cells.pop() if len(cells) == 1 else ""
    unit = WORDS.get(text.lower(), text.translate(MICRO))
    return unit if unit in UNITS and quantity_of_unit(unit) in "WJ" else None


def _distinct(head: Head, names: Sequence[str], times: set[int]) -> list[int]:
    """The columns of these names; raises SuiteError for one that is named twice, which would count
    twice, or is the time."""
    columns = [column_of(head, name) for name in names]
    for place, column in enumerate(columns):
        if column in columns[:place]:
            raise SuiteError(
                f"The column {head.names[column]!r} is named twice; name each rail once."
            )
        if column in times:
            raise SuiteError(
                f"The column {head.names[column]!r} is the time; name a column of power or current,"
                " or another --time."
            )
    return columns


def _pairs(
    head: Head, currents: Sequence[int], voltages: Sequence[int], options: TraceOptions
) -> tuple[Rail, ...]:
    if options.volts is not None and not 0 < options.volts < np.inf:
        raise SuiteError(
            f"--volts is the supply's voltage, a finite number above 0, not {options.volts:g}."
        )
    if (not voltages and options.volts is None) or (
        voltages and len(voltages) not in (1, len(currents))
    ):
        raise SuiteError(
            "Give each --current its --voltage, in the same order, or one --voltage or --volts for"
            " all."
        )
    rails = []
    for place, column in enumerate(currents):
        unit = _unit_of(head, column, "A", options.unit)
        if not voltages:
            _refuse_mains(options.volts or 0.0)
            rails.append(Rail(current=column, current_unit=unit, volts=options.volts))
            continue
        voltage = voltages[place] if len(voltages) > 1 else voltages[0]
        voltage_unit = _unit_of(head, voltage, "V", None)
        _refuse_mains(
            float(np.nanmedian(floats_of([row[voltage] for row in head.rows], decimal_sign(head))))
            * UNITS[voltage_unit]
        )
        rails.append(
            Rail(current=column, current_unit=unit, voltage=voltage, voltage_unit=voltage_unit)
        )
    return tuple(rails)


def _refuse_mains(volts: float) -> None:
    if volts > MAX_DIRECT_V:
        raise SuiteError(
            f"At {volts:.0f} V, a mains voltage, current times voltage is the apparent power, "
            "which is higher than the real power. Add --power with the column of the real power."
        )


def _unit_of(head: Head, column: int, base: str, given: str | None) -> str:
    """The unit of a column: as given, as in its header, or in its cells, else the base unit where
    the header names the quantity."""
    wanted = ("W", "J") if base == "W" else (base,)
    known = ", ".join(unit for unit in UNITS if quantity_of_unit(unit) in wanted)
    found = unit_of_name(head.names[column]) if head.has_header else None
    found = found or _unit_beside(head, column)
    if given is not None:
        if quantity_of_unit(given) not in wanted:
            raise SuiteError(
                f"--unit {given} is not a unit of {head.names[column]!r}; it must be one of "
                f"{known}."
            )
        is_stated = found is not None and quantity_of_unit(found) in wanted
        refuse_other_unit(head.names[column], found if is_stated else None, given, "--unit")
        refuse_energy_as_power(head.names[column], given)
        return given
    if found is not None and quantity_of_unit(found) in wanted:
        return found
    after_number = re.sub(r"^[-+\d.,eE\s]+", "", head.rows[0][column]).translate(MICRO)
    if after_number in UNITS and quantity_of_unit(after_number) in wanted:
        return after_number
    words = {"W": POWER, "V": VOLTAGE, "A": CURRENT}[base]
    if (
        head.has_header
        and words.search(words_of_name(head.names[column]))
        and not _is_large(head, column)
    ):
        return base
    raise SuiteError(
        f"The unit of {head.names[column]!r} is not stated: add --unit with one of {known}."
    )


def _is_large(head: Head, column: int) -> bool:
    """Whether the column's numbers are too large to be taken for W, V or A without a word of it."""
    numbers = floats_of([row[column] for row in head.rows], decimal_sign(head))
    return bool(np.isfinite(numbers).any()) and float(np.nanmedian(numbers)) > MAX_UNSTATED
