"""What somebody says of a logger's file, against itself and against what the file holds."""

from collections.abc import Sequence

from suite.errors import SuiteError
from suite.metrics.traces.columns import TraceOptions
from suite.metrics.traces.trace_format import UNITS, Rail, quantity_of_unit


def refuse_contradictions(options: TraceOptions) -> None:
    """Raise SuiteError for options that are unknown or exclude one another."""
    if options.decimal not in (None, ".", ","):
        raise SuiteError(f"--decimal must be . or a comma, not {options.decimal!r}.")
    for unit in (options.time_unit, options.unit):
        if unit is not None and unit not in UNITS:
            raise SuiteError(f"There is no unit {unit!r}; choose one of {', '.join(UNITS)}.")
    has_volts = bool(options.voltage) or options.volts is not None
    if options.power and (options.current or has_volts):
        raise SuiteError(
            "--power already names the columns of the power; leave --current, --voltage and"
            " --volts out."
        )
    if options.voltage and (not options.current or options.volts is not None):
        raise SuiteError("Give --voltage only with --current, and without --volts.")


def refuse_unused(options: TraceOptions, time_kind: str, rails: Sequence[Rail]) -> None:
    """Raise SuiteError for options that would change nothing: somebody expects that they do."""
    units = {unit for rail in rails for unit in (rail.power_unit, rail.current_unit)}
    unused_of = {
        "--volts": options.volts is not None and all(rail.volts is None for rail in rails),
        "--unit": options.unit is not None and options.unit not in units,
        "--time-unit": options.time_unit is not None and time_kind != "number",
        "--mean or --moment": options.mean is not None and "J" in map(quantity_of_unit, units),
        "--day-first or --month-first": options.day_first is not None and time_kind != "text",
    }
    for option, is_unused in unused_of.items():
        if is_unused:
            raise SuiteError(f"{option} would change nothing about this file; leave it out.")
