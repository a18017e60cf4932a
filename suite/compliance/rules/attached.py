"""Traces of external loggers that were attached after the run: kept trace, readings and clock fit
agree."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from suite.bundle.arrays import Times, Values
from suite.bundle.attached import BEFORE, CHANGED, CLOCK_ERROR, KEPT, MEAN, SOURCE
from suite.bundle.layout import POWER, READINGS, RUN
from suite.bundle.reader import Bundle
from suite.catalog.power import Coverage, Tier
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.wording import joined_names
from suite.errors import FileError, SuiteError
from suite.metrics.power_totals import power_rules

ORDER = 89  # after the power evidence and the processes

MAX_KEPT_BYTES = 2**26
OFFSET_TOLERANCE_S, CORRELATION_TOLERANCE, VALUE_TOLERANCE = 0.02, 1e-4, 1e-9
AGAIN = (
    "attach the logger's file again with `suite power attach`; never edit a record, a trace or"
    " readings"
)


def _follows(context: BundleContext) -> Violations:
    """Compare the files with those from before; read the kept trace again, fit its clock again, and
    compare with the record and the readings."""
    record = context.run.attached
    if record is None and context.bundle.channels().of_source(SOURCE):
        yield Violation(
            RUN,
            f"a record of the attached power trace whose readings are in {READINGS}",
            "attached = null",
        )
    if not context.run.is_changed:
        return
    try:
        yield from _unchanged(context)
        if record is not None:
            yield from _compared(context, record)
    except FileError:
        raise
    except SuiteError as error:
        yield Violation(KEPT, "a power trace that can be read, and fitted to this run", str(error))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        yield Violation(
            RUN,
            "the record of an attached power trace, as `suite power attach` writes it",
            str(error),
        )


def _unchanged(context: BundleContext) -> Violations:
    """Compare the run's own record, readings and power rules with those from before a trace was
    attached or a meter left out."""

    before = Bundle(context.bundle.path / BEFORE)
    own, now = before.json(CHANGED[RUN]), context.bundle.json(RUN)
    meters = [meter for meter in now["meters"] if meter.get("name") != SOURCE]
    now = {**now, "meters": meters, "attached": None, "meters_left_out": None}
    changed = sorted(
        name for name in {**own, **now} if now.get(name) != {"attached": None, **own}.get(name)
    )
    if changed:
        yield Violation(
            RUN,
            f"the values of {BEFORE}/{CHANGED[RUN]}, except those of the attached power trace and"
            " the list of meters that were left out",
            f"other values of {', '.join(changed)}",
        )
    if (before.path / POWER).exists():
        carried = power_rules(context.bundle)
        rules = tuple(rule for rule in carried if SOURCE not in rule.sources)
        if rules != power_rules(before):
            yield Violation(
                POWER,
                f"the power rules of {BEFORE}/{POWER}, plus those of an attached power trace",
                "other power rules",
            )
    yield from _same_channels(context, before)


def _same_channels(context: BundleContext, before: Bundle) -> Violations:
    """Compare the run's own readings with those from before."""
    earlier = (
        {(channel.source, channel.name): channel for channel in before.channels()}
        if (before.path / READINGS).exists()
        else {}
    )
    present = {
        (channel.source, channel.name): channel
        for channel in context.bundle.channels()
        if channel.source != SOURCE
    }
    if set(earlier) != set(present):
        yield Violation(
            READINGS,
            f"the channels of {BEFORE}/{READINGS}, plus those of the attached power trace",
            "other channels",
        )
        return
    for name, channel in present.items():
        other = earlier[name]
        if len(channel) != len(other) or not (
            (channel.t_ns == other.t_ns).all() and (channel.known == other.known).all()
        ):
            yield Violation(
                READINGS,
                f"the readings of {' '.join(name)} as in {BEFORE}/{READINGS}",
                "other readings",
            )


def _compared(context: BundleContext, record: Mapping[str, Any]) -> Violations:
    from suite.metrics.traces.attaching import channel_name, trace_readings  # start-up: pandas
    from suite.metrics.traces.clock_fit import ClockFit, fit_clock, given_clock  # start-up
    from suite.metrics.traces.course import course_of  # start-up
    from suite.metrics.traces.reading import read_trace  # start-up: pandas
    from suite.metrics.traces.trace_format import format_of  # start-up

    path = context.bundle.file(KEPT)
    read = read_trace(path, format_of(record["format"], context.bundle.path / RUN), MAX_KEPT_BYTES)
    described = record["trace"]
    stated = ClockFit(**record["fit"])
    course = course_of(context.bundle)
    if described["is_kept_whole"] and read.sha256 != described["sha256"]:
        yield Violation(
            KEPT,
            f"the logger's file with the SHA-256 {described['sha256'][:12]}…",
            f"a file with the SHA-256 {read.sha256[:12]}…",
        )
    trace = read.trace
    if stated.method == "correlation":
        fit = fit_clock(
            trace.t_s,
            trace.power_w,
            course,
            is_absolute=described["is_absolute"],
            is_robust=stated.is_robust or not context.round.is_before_v03,
        )
    else:
        fit = given_clock(trace.t_s, trace.power_w, course, stated.offset_s)
    for name, tolerance in (
        ("offset_s", OFFSET_TOLERANCE_S),
        ("half_width_s", OFFSET_TOLERANCE_S),
        ("correlation", CORRELATION_TOLERANCE),
    ):
        if not abs(getattr(fit, name) - getattr(stated, name)) <= tolerance:
            yield Violation(
                RUN,
                f"fit.{name} = {getattr(fit, name):.6g} ± {tolerance:g}, as fitted again from"
                f" {KEPT}",
                f"{getattr(stated, name):.6g}",
            )
    name = channel_name(Coverage(record["covers"]), Tier(record["tier"]))
    is_mean = bool(described.get("is_mean"))
    if described["is_kept_whole"] and trace.is_mean != is_mean:
        yield Violation(RUN, f"is_mean = {trace.is_mean}, as in {KEPT}", f"{is_mean}")
    yield from _same_readings(
        context, name, *trace_readings(trace, stated, course), is_mean=is_mean
    )
    error = context.bundle.channels().get(SOURCE, CLOCK_ERROR)
    if not np.array_equal(error.values, [stated.half_width_s] * 2):
        yield Violation(
            READINGS,
            f"two readings of {CLOCK_ERROR}, both {stated.half_width_s:.6g} s, as in {RUN}",
            f"{error.values[:3].tolist()}",
        )


def _same_readings(
    context: BundleContext, name: str, t_ns: Times, power_w: Values, *, is_mean: bool
) -> Violations:
    """Compare the attached readings with those that follow from the kept trace."""
    channel = context.bundle.channels().get(SOURCE, name)
    of_clock = {CLOCK_ERROR, MEAN} if is_mean else {CLOCK_ERROR}
    read = {each.name for each in context.bundle.channels().of_source(SOURCE)}
    if len(channel) != len(t_ns) or read != {name, *of_clock}:
        yield Violation(
            READINGS,
            f"{len(t_ns)} readings of {SOURCE} {name}, as in {KEPT}, and only the channels"
            f" {joined_names(sorted({name, *of_clock}))}",
            f"{len(channel)} readings, and the channels {joined_names(sorted(read))}",
        )
    elif np.abs(channel.t_ns - t_ns).max() > 1000 or not np.allclose(
        channel.values, power_w, rtol=VALUE_TOLERANCE, atol=VALUE_TOLERANCE
    ):
        place = int(
            np.argmax(
                (np.abs(channel.t_ns - t_ns) > 1000)
                | ~np.isclose(channel.values, power_w, rtol=VALUE_TOLERANCE)
            )
        )
        yield Violation(
            READINGS,
            f"{power_w[place]:.6g} W at {t_ns[place]} ns in reading {place + 1} of {SOURCE} {name},"
            f" as in {KEPT}",
            f"{channel.values[place]:.6g} W at {channel.t_ns[place]} ns",
        )


def _fitted(context: BundleContext) -> Violations:
    record = context.run.attached
    fit = None if record is None else record.get("fit")
    if isinstance(fit, Mapping) and fit.get("method") != "correlation":
        yield Violation(
            RUN,
            "an attached power trace whose clock was fitted to the run",
            f"an offset given by hand: {fit.get('offset_s')!r} s,"
            f" correlation {fit.get('correlation')!r}",
            fix="run again with `suite run … --power-pulse`, log the power from ten seconds before"
            " the run to ten seconds after it, and attach this log without --offset",
        )


RULES = (
    Rule(
        "attached-trace",
        "The bundle keeps the power trace that was attached (averaged if it is too large). The"
        " attached readings and the fit of the logger's clock can be recomputed from this trace."
        " The clock was fitted to the run: its offset was not given by hand. No other record"
        " changes when a trace is attached or a meter is left out.",
        "A trace is added after the run, so every reader of the bundle must be able to compute its"
        " readings again, and attaching it must not be a way to edit the run. If a person gave the"
        " clock's offset, no record shows whether the offset is right.",
        AGAIN,
        (
            OfBundle("attached-trace", _follows),
            OfBundle("attached-fitted", _fitted, severity=Severity.WARNING),
        ),
    ),
)
