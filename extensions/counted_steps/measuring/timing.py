"""CPU time of training steps, and the cores' clock meanwhile: the training that cachegrind counts,
without valgrind.

It is the training of `suite concurrent` alone, which pauses between two steps when the harness says
so: a window is whole steps.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from reference_impls.turns.messages import CONTINUE, PAUSE, PAUSED, STEP_TIMES
from suite.errors import SuiteError
from suite.extensions.counted_steps.record import TimedSteps
from suite.launch.turns import Child, Side, start_training
from suite.machine.core_clock import CoreClock, can_measure, clocks_hz
from suite.machine.process_tree import cpu_s, process_tree

WINDOWS, WINDOW_S = 10, 2.0
CLOCK_PERIOD_S = 0.2
ROOT = Path("/")


def time_steps(side: Side, framework: str, variables: Mapping[str, str]) -> tuple[TimedSteps, ...]:
    """Windows of the side's training, after its warm-up. Raises SuiteError where it ends."""
    with tempfile.TemporaryDirectory(prefix="timed-") as name:
        folder = Path(name) / "training"
        with start_training(side, folder, variables) as training:
            _say(training, PAUSE, PAUSED)
            return tuple(_window(training, folder / STEP_TIMES, framework) for _ in range(WINDOWS))


def _window(training: Child, rows: Path, framework: str) -> TimedSteps:
    steps, used_s = _count(rows), _used_s(training)
    training.command(CONTINUE)
    clocks_hz = list(_clocks_hz(WINDOW_S))
    _say(training, PAUSE, PAUSED)
    taken, used_s = _count(rows) - steps, _used_s(training) - used_s
    if not taken or used_s <= 0:
        raise SuiteError(f"No step ended within {WINDOW_S:g} s", "use a smaller workload")
    return TimedSteps(framework, taken, used_s, statistics.fmean(clocks_hz) if clocks_hz else None)


def _clocks_hz(duration_s: float) -> Iterator[float]:
    """Clocks of the cores, in turns, until the time has passed; none where they cannot be
    measured."""
    until_s, clock = time.monotonic() + duration_s, CoreClock() if can_measure() else None
    while time.monotonic() < until_s:
        if clock is not None:
            yield from (clock_hz for _, clock_hz in clocks_hz(clock))
        time.sleep(CLOCK_PERIOD_S)


def _say(training: Child, command: str, expected: str) -> None:
    training.command(command)
    answer = training.wait_for_answer()
    assert answer == expected, answer


def _count(rows: Path) -> int:
    with rows.open("rb") as stream:
        return sum(1 for _ in stream) - 1


def _used_s(training: Child) -> float:
    return cpu_s(ROOT, process_tree(ROOT, training.pid))
