"""Disturbances of a run, from its readings: throttling, low voltage, wall clock steps, changes of
the power mode and of limits on clocks and power, and links that lost something."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Values
from suite.bundle.channels import Channel, Channels
from suite.catalog.throttling import is_throttling_channel

POWER_MODE, CHANGED, MODE_ID = "power-mode", "changed", "nvpmodel"
"""The meter of the power mode and of limits on clocks and power, and two of its channels."""
MIN_STEP_S = 0.05  # slewing moves both clocks; smaller differences are noise of reading them
SINCE_BOOT = ".since_boot"
LINKS, CARRIER = "links", "carrier_changes"
"""The meter of network links, and its counter that may not rise at all."""
LOST_OF = {"retransmitted": "segments", "dropped": "packets", "errors": "packets"}
MIN_LOST, MIN_LOST_SHARE, LONGEST_PAUSE_S = 3, 0.01, 5.0
"""What a stretch has lost at least, and each second of it. Honest networks lose a packet here and
there (0.1 % of segments on a busy machine's veth); waiting times of TCP double from 0.2 s on, so
that a cut of some seconds is one stretch."""
MISSED_PERIODS = 10
"""That readings may begin late or end early by: a busy machine reads late."""
# nvmlClocksThrottleReasons of NVML: hardware slowdown, temperature limits of driver and chip,
# external power brake. Not disturbances: idle, clocks set by the user, and the power limit, which a
# GPU reaches under normal load.
GPU_THROTTLE_BITS = 0x8 | 0x20 | 0x40 | 0x80


@dataclass(frozen=True)
class ThrottlingEvent:
    """A throttling flag that was set, or a counter of throttling events that increased. ``t_ns`` is
    the first reading that shows it.

    ``held_s`` is the time to the first reading without the flag, or to the end of the window; None
    for counters. ``count`` is the number of events, 1 for a flag.
    """

    channel: str
    t_ns: int
    held_s: float | None
    count: int


@dataclass(frozen=True)
class ClockStep:
    """A step of the wall clock: its size, and its latest possible time on the monotonic clock."""

    t_ns: int
    step_s: float


@dataclass(frozen=True)
class SettingChange:
    """A setting that was read with another value than before: ``t_ns`` is the first reading of the
    new value, at most a period late."""

    t_ns: int
    channel: str
    before: float
    after: float
    unit: str


@dataclass(frozen=True)
class LinkLoss:
    """A stretch in which a counter of lost packets or of carrier changes rose: from the last
    reading before it, for ``held_s``; ``share`` is of all packets (of TCP: segments) of the
    stretch, None of carrier changes."""

    t_ns: int
    channel: str
    held_s: float
    count: int
    share: float | None


def is_watched(channels: Channels) -> bool:
    """Whether any throttling channel was read; without one, the absence of events is no
    evidence."""
    return bool(_throttling_channels(channels))


def is_watched_throughout(channels: Channels, start_ns: int, stop_ns: int) -> bool:
    """Whether a throttling channel was read during the whole window: a meter that was read before
    it, or that failed in it, saw no event either."""
    return any(_spans(each, start_ns, stop_ns) for each in _throttling_channels(channels))


def is_clock_watched(channels: Channels, start_ns: int, stop_ns: int) -> bool:
    """Whether the wall clock was read during the whole window."""
    return any(_spans(each, start_ns, stop_ns) for each in channels.of_source("wall-clock"))


def _spans(channel: Channel, start_ns: int, stop_ns: int) -> bool:
    """Whether the readings reach from the window's start to its stop, give or take some periods."""
    if channel.period_s is None:
        return False
    first_ns, last_ns = channel.ends_ns
    reach_ns = MISSED_PERIODS * channel.period_s / SECONDS_PER_NS
    return first_ns <= start_ns + reach_ns and last_ns >= max(start_ns, stop_ns - reach_ns)


def find_throttling(channels: Channels, start_ns: int, stop_ns: int) -> tuple[ThrottlingEvent, ...]:
    """All throttling events in the window, sorted by time; flags that were set only before the
    window are excluded."""
    found: list[ThrottlingEvent] = []
    for channel in _throttling_channels(channels):
        found += _events(channel.in_time.during((start_ns, stop_ns)), stop_ns)
    # if a flag was read as set, its since-boot copy adds nothing
    copies = {event.channel + SINCE_BOOT for event in found}
    kept = [event for event in found if event.channel not in copies]
    return tuple(sorted(kept, key=lambda event: (event.t_ns, event.channel)))


def find_clock_steps(channels: Channels, start_ns: int, stop_ns: int) -> tuple[ClockStep, ...]:
    """All steps of the wall clock against the monotonic clock of more than 50 ms between two
    readings."""
    found = []
    for channel in channels.of_source("wall-clock"):
        inside = channel.in_time.during((start_ns, stop_ns))
        steps_s = np.diff(inside.values)
        found += [
            ClockStep(int(inside.t_ns[index + 1]), float(steps_s[index]))
            for index in np.flatnonzero(np.abs(steps_s) > MIN_STEP_S)
        ]
    return tuple(found)


def find_setting_changes(
    channels: Channels, start_ns: int, stop_ns: int
) -> tuple[SettingChange, ...]:
    """All changes of a setting between two readings, the second of them in the window; sorted by
    time. Empty where the meter read nothing."""
    found = []
    for channel in channels.of_source(POWER_MODE):
        if channel.name == CHANGED:
            continue
        t_ns, values = channel.in_time.t_ns, channel.in_time.values
        for index in np.flatnonzero(np.diff(values) != 0):
            if start_ns <= t_ns[index + 1] <= stop_ns:
                before, after = float(values[index]), float(values[index + 1])
                found.append(
                    SettingChange(int(t_ns[index + 1]), channel.name, before, after, channel.unit)
                )
    return tuple(sorted(found, key=lambda change: (change.t_ns, change.channel)))


def find_link_losses(channels: Channels, start_ns: int, stop_ns: int) -> tuple[LinkLoss, ...]:
    """All stretches of the window in which a link lost something, sorted by time."""
    found = []
    for channel in channels.of_source(LINKS):
        place, _, noun = channel.name.rpartition(".")
        counted = channel.in_time.during((start_ns, stop_ns))
        if noun == CARRIER:
            found += [_loss(counted, *ends, None) for ends in _stretches(counted, None)]
        elif noun in LOST_OF and (whole := channels.get(LINKS, f"{place}.{LOST_OF[noun]}")):
            of_all = np.interp(counted.t_ns, whole.in_time.t_ns, whole.in_time.values)
            losses = [_loss(counted, *ends, of_all) for ends in _stretches(counted, of_all)]
            found += [loss for loss in losses if loss.count >= MIN_LOST]
    return tuple(sorted(found, key=lambda loss: (loss.t_ns, loss.channel)))


def _stretches(channel: Channel, of_all: Values | None) -> Iterator[tuple[int, int]]:
    """The stretches in which a counter rose, by MIN_LOST_SHARE of all between two readings or more,
    pauses of LONGEST_PAUSE_S included: places of their first and last readings."""
    t_ns, steps = channel.t_ns, np.diff(channel.values)
    least = 0.0 if of_all is None else MIN_LOST_SHARE * np.diff(of_all)
    rises = np.flatnonzero((steps > 0) & (steps >= least) & np.isfinite(steps))
    pauses_s = (t_ns[rises[1:]] - t_ns[rises[:-1] + 1]) * SECONDS_PER_NS
    for stretch in np.split(rises, np.flatnonzero(pauses_s > LONGEST_PAUSE_S) + 1):
        if len(stretch):
            yield int(stretch[0]), int(stretch[-1]) + 1


def _loss(channel: Channel, first: int, last: int, of_all: Values | None) -> LinkLoss:
    """What was lost between two readings, in which a driver may have set its counters back."""
    t_ns, lost = channel.t_ns, _rise(channel.values[first : last + 1])
    share = None if of_all is None else lost / max(lost, _rise(of_all[first : last + 1]))
    held_s = float(t_ns[last] - t_ns[first]) * SECONDS_PER_NS
    return LinkLoss(int(t_ns[first]), channel.name, held_s, int(lost), share)


def _rise(counted: Values) -> float:
    """How far a counter rose, without its resets."""
    steps = np.diff(counted)
    return float(steps[(steps > 0) & np.isfinite(steps)].sum())


def _events(channel: Channel, stop_ns: int) -> Iterator[ThrottlingEvent]:
    """Events of one channel, whose readings are sorted by time."""
    name, t_ns, values = channel.name, channel.t_ns, channel.values
    # set between two readings of the flag itself: since-boot flags grow as counters do
    if channel.unit == "events" or name.endswith(SINCE_BOOT):
        for index in np.flatnonzero(np.diff(values) > 0):
            grown = int(values[index + 1] - values[index]) if channel.unit == "events" else 1
            yield ThrottlingEvent(name, int(t_ns[index + 1]), None, grown)
        return
    is_set = values > 0
    if channel.unit == "bits":
        is_set = (values.astype(np.int64) & GPU_THROTTLE_BITS) > 0
    edges = np.diff(np.concatenate(([0], is_set.astype(int), [0])))
    ends_ns = np.append(t_ns, stop_ns)
    for begin, end in zip(np.flatnonzero(edges > 0), np.flatnonzero(edges < 0), strict=True):
        held_s = float(ends_ns[end] - t_ns[begin]) * SECONDS_PER_NS
        yield ThrottlingEvent(name, int(t_ns[begin]), held_s, 1)


def _throttling_channels(channels: Channels) -> tuple[Channel, ...]:
    of_gpu = (
        channel
        for channel in channels.of_source("nvml")
        if channel.name.endswith(".throttle_reasons")
    )
    of_processor = (
        channel
        for channel in channels.of_source("throttling")
        if is_throttling_channel(channel.name)
    )
    return (*of_processor, *of_gpu)
