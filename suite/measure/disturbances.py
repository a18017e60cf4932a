"""What disturbed a run, found in its readings: throttling, low voltage, a wall clock that was set."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

STEP_S = 0.05  # the kernel's slewing moves both clocks; what is less than this is the scatter of reading them


@dataclass(frozen=True)
class Throttling:
    """A channel of the meter "throttling" that told of it: ``seconds`` while it held (None for counters), ``events`` that were counted."""

    channel: str
    seconds: float | None
    events: int | None


@dataclass(frozen=True)
class ClockStep:
    """The wall clock was set: by how much, and when at the latest on the monotonic clock."""

    t_ns: int
    step_s: float


def find_throttling(readings: "pandas.DataFrame", start_ns: int, stop_ns: int) -> tuple[Throttling, ...]:
    """Channels that were active, or counted, in the window; what held before the window and not in it is left out."""
    found = []
    of_source = _in_window(readings, "throttling", start_ns, stop_ns)
    for channel, rows in of_source.groupby("channel", sort=True):
        values = rows["value"].to_numpy()
        if str(rows["unit"].iloc[0]) == "events":
            events = int(values[-1] - values[0])
            if events > 0:
                found.append(Throttling(str(channel), None, events))
        elif str(channel).endswith(".since_boot"):
            if values[-1] > values[0]:  # it came up between two readings of the flag itself
                found.append(Throttling(str(channel), None, 1))
        elif values.any():
            held_ns = float((rows["t_ns"].diff().shift(-1).fillna(0).to_numpy() * (values > 0)).sum())
            found.append(Throttling(str(channel), held_ns * 1e-9, None))
    return tuple(found)


def find_clock_steps(readings: "pandas.DataFrame", start_ns: int, stop_ns: int) -> tuple[ClockStep, ...]:
    """Every time the wall clock moved against the monotonic clock by more than 50 ms between two readings."""
    rows = _in_window(readings, "wall-clock", start_ns, stop_ns)
    steps = rows["value"].diff()
    chosen = rows[steps.abs() > STEP_S]
    return tuple(ClockStep(int(t_ns), float(step)) for t_ns, step in zip(chosen["t_ns"], steps[chosen.index], strict=True))


def _in_window(readings: "pandas.DataFrame", source: str, start_ns: int, stop_ns: int) -> "pandas.DataFrame":
    chosen = readings[(readings["source"] == source) & (readings["t_ns"] >= start_ns) & (readings["t_ns"] <= stop_ns)]
    return chosen.sort_values("t_ns", kind="stable")
