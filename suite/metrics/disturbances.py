"""What disturbed a run, found in its readings: throttling, low voltage, a wall clock that was set."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.channels import Channel, Channels

STEP_S = 0.05  # the kernel's slewing moves both clocks; what is less than this is the scatter of reading them
SINCE_BOOT = ".since_boot"
# NVML, nvmlClocksThrottleReasons: slowed by hardware, by the driver's and the chip's own temperature limits, by an external power brake.
# Idleness, a clock that was set, and a card at its power limit as it should be under load, are no disturbance.
GPU_THROTTLE_BITS = 0x8 | 0x20 | 0x40 | 0x80


@dataclass(frozen=True)
class ThrottlingEvent:
    """Something held the machine back: a flag came up, or a counter moved. ``t_ns`` is the first reading that shows it.

    ``held_s`` lasts until the first reading that no longer shows the flag, or the end of the window; None for what only counts.
    ``count`` is how many events that were, 1 for a flag.
    """

    channel: str
    t_ns: int
    held_s: float | None
    count: int


@dataclass(frozen=True)
class ClockStep:
    """The wall clock was set: by how much, and when at the latest on the monotonic clock."""

    t_ns: int
    step_s: float


def is_watched(channels: Channels) -> bool:
    """Whether anything that tells of throttling was read: without it, no event means nothing."""
    return bool(_that_tell_of_throttling(channels))


def find_throttling(channels: Channels, start_ns: int, stop_ns: int) -> tuple[ThrottlingEvent, ...]:
    """Every event of the window, in order of time; what held before the window and not in it is left out."""
    found: list[ThrottlingEvent] = []
    for channel in _that_tell_of_throttling(channels):
        found += _events(channel.in_time.during((start_ns, stop_ns)), stop_ns)
    seen = {event.channel for event in found}  # of a flag that was seen itself, its memory since boot tells nothing more
    kept = [event for event in found if event.channel.removesuffix(SINCE_BOOT) == event.channel or event.channel.removesuffix(SINCE_BOOT) not in seen]
    return tuple(sorted(kept, key=lambda event: (event.t_ns, event.channel)))


def find_clock_steps(channels: Channels, start_ns: int, stop_ns: int) -> tuple[ClockStep, ...]:
    """Every time the wall clock moved against the monotonic clock by more than 50 ms between two readings."""
    found = []
    for channel in channels.of("wall-clock"):
        inside = channel.in_time.during((start_ns, stop_ns))
        steps_s = np.diff(inside.values)
        found += [ClockStep(int(inside.t_ns[index + 1]), float(steps_s[index])) for index in np.flatnonzero(np.abs(steps_s) > STEP_S)]
    return tuple(found)


def _events(channel: Channel, stop_ns: int) -> Iterator[ThrottlingEvent]:
    """Of readings in the order of time."""
    name, t_ns, values = channel.name, channel.t_ns, channel.values
    if channel.unit == "events":
        for index in np.flatnonzero(np.diff(values) > 0):
            yield ThrottlingEvent(name, int(t_ns[index + 1]), None, int(values[index + 1] - values[index]))
    elif name.endswith(SINCE_BOOT):
        for index in np.flatnonzero(np.diff(values) > 0):  # it came up between two readings of the flag itself
            yield ThrottlingEvent(name, int(t_ns[index + 1]), None, 1)
    else:
        is_up = np.concatenate(([False], values > 0 if channel.unit != "bits" else (values.astype(np.int64) & GPU_THROTTLE_BITS) > 0, [False]))
        ends_ns = np.append(t_ns, stop_ns)
        for begin, end in zip(np.flatnonzero(~is_up[:-1] & is_up[1:]), np.flatnonzero(is_up[:-1] & ~is_up[1:]), strict=True):
            yield ThrottlingEvent(name, int(t_ns[begin]), float(ends_ns[end] - t_ns[begin]) * SECONDS_PER_NS, 1)


def _that_tell_of_throttling(channels: Channels) -> tuple[Channel, ...]:
    of_gpu = (channel for channel in channels.of("nvml") if channel.name.endswith(".throttle_reasons"))
    return (*channels.of("throttling"), *of_gpu)
