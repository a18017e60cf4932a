"""One meter in one run: its state and counts, and the record of them in run.json."""

import statistics
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from reference_impls.contract import NS_PER_S
from suite.meters.meter import Meter, MeterAvailability, Moments, Reading, moments_of

RECORDER = "recorder"
"""Names the recorder in its own record."""


@dataclass(frozen=True)
class MeterRecord:
    """A meter's record in run.json; the one named "recorder" describes the recorder itself.

    ``readings`` is the number of readings taken (the recorder's: written); ``cost_s`` their CPU
    time, threads and programs included. ``achieved_period_s`` is the median time between readings
    of the meter's first channel, None for fewer than two; ``longest_gap_s`` the longest time
    without one between opening and stop, None for a meter that was not opened. ``moments`` says
    when it is read within its periods, ``jitter_s`` is the standard deviation of the times between
    its readings (0.41 periods for random moments), None for fewer than three. ``settings`` is the
    sensor's configuration, where it has one.
    """

    name: str
    period_s: float
    available: bool
    reason: str
    readings: int = 0
    failures: int = 0
    last_error: str | None = None
    cost_s: float = 0.0
    achieved_period_s: float | None = None
    longest_gap_s: float | None = None
    moments: str = Moments.FIXED.value
    jitter_s: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass
class MeterSession:
    """A meter's state and counts while it is recorded."""

    meter: Meter
    availability: MeterAvailability = field(
        default_factory=lambda: MeterAvailability(False, "the recorder never opened this meter")
    )
    is_open: bool = False
    opened_ns: int | None = None
    readings: int = 0
    failures: int = 0
    failures_in_a_row: int = 0
    retry_after_ns: int = 0
    last_error: str | None = None
    cost_s: float = 0.0
    leading_channel: str | None = None
    times_ns: "array[int]" = field(default_factory=lambda: array("q"))
    settings: Mapping[str, str] = field(default_factory=dict)

    def count_readings(self, readings: Sequence[Reading]) -> None:
        """Count a successful read, and keep the times of the first channel's readings."""
        self.readings += len(readings)
        self.failures_in_a_row = 0
        if self.leading_channel is None and readings:
            self.leading_channel = readings[0].channel
        self.times_ns.extend(
            reading.t_ns for reading in readings if reading.channel == self.leading_channel
        )

    def count_failure(self, error: str) -> None:
        """Count a failed call."""
        self.failures += 1
        self.failures_in_a_row += 1
        self.last_error = error

    def record(self, stopped_ns: int) -> MeterRecord:
        """The meter's record, when the recorder has stopped."""
        longest_gap_s = None
        if self.opened_ns is not None:
            moments_ns = [self.opened_ns, *self.times_ns, stopped_ns]
            longest_gap_s = max(after - before for before, after in pairwise(moments_ns)) / NS_PER_S
        gaps_ns = [after - before for before, after in pairwise(self.times_ns)]
        return MeterRecord(
            name=self.meter.name,
            period_s=self.meter.period_s,
            available=self.availability.available,
            reason=self.availability.reason,
            readings=self.readings,
            failures=self.failures,
            last_error=self.last_error,
            cost_s=self.cost_s,
            achieved_period_s=statistics.median(gaps_ns) / NS_PER_S if gaps_ns else None,
            longest_gap_s=longest_gap_s,
            moments=moments_of(self.meter).value,
            jitter_s=statistics.stdev(gaps_ns) / NS_PER_S if len(gaps_ns) > 1 else None,
            settings=self.settings,
        )
