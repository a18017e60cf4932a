"""Power and load of one run over time, with its epochs and evaluations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import span_s
from suite.bundle.channels import Channel, Channels
from suite.bundle.log import Log, run_window
from suite.bundle.reader import Bundle
from suite.catalog.power import PowerRule, PowerTotal
from suite.catalog.rounds import judging_round
from suite.metrics.machine_figures import NVML, gpu_of_figures
from suite.metrics.power_totals import counted_rules, describe_totals, power_totals

INTERVALS = 100
LOADS = (
    ("cpu", "utilisation.total", "CPU"),
    ("tegra", "gpu.utilisation", "GPU"),
)


@dataclass(frozen=True)
class TimeSeries:
    """Readings over time in at most INTERVALS intervals: the mean time of each, s since run_start,
    ascending, and its lowest, mean and highest reading, in ``unit``.
    """

    name: str
    unit: str
    t_s: tuple[float, ...]
    low: tuple[float, ...]
    mean: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class TimelineSpan:
    """The whole run, an epoch or an evaluation, from ``start_s`` to ``stop_s``, s since
    run_start."""

    name: str
    is_epoch: bool
    start_s: float
    stop_s: float


@dataclass(frozen=True)
class Timeline:
    """A run's power, its loads, and itself with its epochs and evaluations; all empty for a run
    without run_start."""

    power: tuple[TimeSeries, ...] = ()
    load: tuple[TimeSeries, ...] = ()
    spans: tuple[TimelineSpan, ...] = ()


@dataclass(frozen=True)
class Series:
    """Readings in ascending order of time on the monotonic clock, ns."""

    t_ns: np.ndarray
    values: np.ndarray

    def select(self, mask: np.ndarray) -> "Series":
        """The readings that a mask selects."""
        return Series(self.t_ns[mask], self.values[mask])


def read_timeline(bundle: Bundle, log: Log) -> Timeline:
    """The timeline of a bundle with its parsed log."""
    start = log.first("run_start")
    if start is None or start.mono_ns is None:
        return Timeline()
    channels, rules, run = bundle.channels(), counted_rules(bundle), run_window(log)
    is_before_v03 = judging_round(bundle.run().round).is_before_v03
    gpu = gpu_of_figures(channels, run, is_before_v03=is_before_v03)
    load = _loads(channels, gpu, start.mono_ns)
    return Timeline(
        tuple(_power(channels, power_totals(channels, rules, run), start.mono_ns)),
        tuple(sorted(load, key=lambda one: one.name)),
        tuple(sorted(_spans(log, start.mono_ns), key=_order)),
    )


def _power(channels: Channels, totals: Sequence[PowerTotal], start_ns: int) -> Iterator[TimeSeries]:
    """The power totals that the energy is computed from, added; nothing without a power sensor."""
    parts = [_calibrated(channels, total) for total in totals]
    if parts and all(len(part.t_ns) for part in parts):
        yield from _time_series(describe_totals(totals), "W", _sum(parts), start_ns)


def _calibrated(channels: Channels, total: PowerTotal) -> Series:
    parts = [
        _watts(_samples(channels.get(total.source, channel)), total.rule)
        for channel in total.channels
    ]
    if not all(len(part.t_ns) for part in parts):
        return Series(np.empty(0, np.int64), np.empty(0))
    whole = _sum(parts)
    return Series(whole.t_ns, whole.values * total.rule.scale + total.rule.offset_w)


def _samples(channel: Channel) -> Series:
    return Series(channel.in_time.t_ns, channel.in_time.values)


def _watts(readings: Series, rule: PowerRule) -> Series:
    """A channel's readings as power, W, without implausible ones; an energy counter gives the mean
    power since its previous reading."""
    if rule.unit == "J":
        with np.errstate(divide="ignore", invalid="ignore"):
            readings = Series(
                readings.t_ns[1:],
                np.diff(readings.values) / (np.diff(readings.t_ns) * SECONDS_PER_NS),
            )
    low, high = rule.plausible_w
    return readings.select((readings.values >= low) & (readings.values <= high))


def _sum(parts: list[Series]) -> Series:
    """Sum of channels at the times of the first one; the others are interpolated linearly."""
    first = parts[0]
    values = first.values
    for part in parts[1:]:
        values = values + np.interp(first.t_ns, part.t_ns, part.values)
    return Series(first.t_ns, values)


def _loads(channels: Channels, gpu: str, start_ns: int) -> Iterator[TimeSeries]:
    of_gpu = (NVML, f"{gpu}.utilisation", "GPU")
    for source, channel, name in (*LOADS, of_gpu):
        yield from _time_series(
            f"{name} ({source}: {channel})", "%", _samples(channels.get(source, channel)), start_ns
        )


def _time_series(name: str, unit: str, readings: Series, start_ns: int) -> Iterator[TimeSeries]:
    """Readings in at most INTERVALS intervals of equal length, or one interval per reading if there
    are fewer; nothing without readings."""
    known = readings.select(np.isfinite(readings.values))
    t_s, values = (known.t_ns - start_ns) * SECONDS_PER_NS, known.values
    if len(values) > INTERVALS:
        starts = np.unique(
            [0, *np.searchsorted(t_s, np.linspace(t_s[0], t_s[-1], INTERVALS + 1)[1:-1])]
        )
        starts = starts[starts < len(values)]
        counts = np.diff([*starts, len(values)])
        times, means = (np.add.reduceat(one, starts) / counts for one in (t_s, values))
        lows, highs = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        yield TimeSeries(name, unit, *(tuple(one.tolist()) for one in (times, lows, means, highs)))
    elif len(values):
        unchanged = tuple(values.tolist())
        yield TimeSeries(name, unit, tuple(t_s.tolist()), unchanged, unchanged, unchanged)


def _spans(log: Log, start_ns: int) -> Iterator[TimelineSpan]:
    run = run_window(log)
    if run is not None:
        yield TimelineSpan("whole run", False, 0.0, span_s(run))
    for event, kind in (("epoch", "epoch"), ("eval", "evaluation")):
        stops = {stop.epoch: stop.mono_ns for stop in log.all(f"{event}_stop")}
        for begin in log.all(f"{event}_start"):
            stop_ns = stops.get(begin.epoch)
            if begin.mono_ns is not None and stop_ns is not None and begin.epoch is not None:
                yield TimelineSpan(
                    f"{kind} {begin.epoch}",
                    kind == "epoch",
                    (begin.mono_ns - start_ns) * SECONDS_PER_NS,
                    (stop_ns - start_ns) * SECONDS_PER_NS,
                )


def _order(span: TimelineSpan) -> tuple[float, str]:
    return span.start_s, span.name
