"""CPU time of a reading of every meter and of 150 a second, and memory over ten scripted hours:
`make prove meter-cost`.

1. Every meter that is available here is read here, the others over their recording
   (tests/suite/meters/recordings), as files below a root of their own. Meters of a library, a
   serial line or an external program are not in the table.
2. The INA3221's rails over its recording, at a period that makes 150 readings a second, through the
   recorder, for some seconds.
3. A recorder with 150 readings a second over ten hours of scripted time; its process's resident
   memory.
"""

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from proofs.figures import hand_over
from suite.execution.recorder import Recorder
from suite.meters.background import BackgroundMeter
from suite.meters.meter import AVAILABLE, Meter, MeterAvailability, MeteredProcess, Reading
from suite.meters.registry import MeterFactory, meter_classes
from suite.meters.sources.ina3221 import Ina3221Meter
from tests.suite.meters.meter_recordings import board, load_recording

READINGS_PER_S = 150
HOURS = 10
CHANNELS = 30


@dataclass(frozen=True)
class ReadingCost:
    """CPU time of one reading of a meter, in its own thread where it has one: the median and the
    largest of the calls, s."""

    meter: str
    where: str
    period_s: float
    readings: int
    median_s: float
    largest_s: float

    @property
    def share(self) -> float:
        """Of one core, at the meter's period."""
        return self.median_s / self.period_s


def reading_costs(calls: int) -> Iterator[ReadingCost]:
    """Every meter that can be read here or over its recording; the processes that are measured are
    this one and three workers."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
        )
        for _ in range(3)
    ]
    try:
        for make in meter_classes():
            with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
                root, pid, where = Path("/"), 0, "this machine"
                if not cast(MeterFactory, make)(root).availability().available:
                    recording = load_recording(make.name)
                    if recording.tested_by is not None or recording.http or recording.programs:
                        continue
                    root, pid, where = (
                        stack.enter_context(board(recording, Path(folder))),
                        recording.pid,
                        "recording",
                    )
                yield _cost(cast(MeterFactory, make)(root), pid, root, where, calls)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def _cost(meter: Meter, pid: int, root: Path, where: str, calls: int) -> ReadingCost:
    # what its thread does, not what is fetched from there
    read = meter._produce if isinstance(meter, BackgroundMeter) else meter.read
    meter.open(MeteredProcess(pid or os.getpid(), root / "data" if pid else Path(__file__).parent))
    try:
        readings, spent_s = read(), []
        for _ in range(calls):
            began_s = time.thread_time()
            readings = read() or readings
            spent_s.append(time.thread_time() - began_s)
    finally:
        meter.close()
    return ReadingCost(
        meter.name, where, meter.period_s, len(readings), statistics.median(spent_s), max(spent_s)
    )


def share_of_a_core(seconds: float) -> tuple[float, float]:
    """CPU time of 150 readings a second through the recorder, per second, and the readings per
    second that were reached."""
    with (
        tempfile.TemporaryDirectory() as folder,
        board(load_recording("ina3221"), Path(folder, "root")) as root,
    ):
        meter = Ina3221Meter(root)
        meter.open(MeteredProcess(1, root))
        meter.period_s = len(meter.read()) / READINGS_PER_S
        meter.close()
        recorder = Recorder((meter,), Path(folder))
        recorder.start(MeteredProcess(1, root))
        time.sleep(seconds)
        records = {record.name: record for record in recorder.stop()}
    return records["recorder"].cost_s / seconds, records["recorder"].readings / seconds


class ScriptedClock:
    """Time passes when it is waited for."""

    def __init__(self, end_s: float) -> None:
        self.now_s, self._end_s = 0.0, end_s

    def now_ns(self) -> int:
        """Scripted time."""
        return round(self.now_s * 1e9)

    def thread_cpu_s(self) -> float:
        """CPU time of the thread."""
        return time.thread_time()

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Move on; at the end, set the event."""
        self.now_s += timeout_s
        if self.now_s >= self._end_s:
            event.set()
        return event.is_set()


class Rails:
    """Thirty channels, five times a second."""

    name, period_s, description = "rails", CHANNELS / READINGS_PER_S, "scripted"

    def __init__(self, clock: ScriptedClock, resident: list[float]) -> None:
        self._clock, self._resident, self._turns = clock, resident, itertools.count()

    def availability(self) -> MeterAvailability:
        """Always."""
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Nothing to open."""

    def read(self) -> list[Reading]:
        """One reading per channel; once an hour, the process's resident memory is noted."""
        turn = next(self._turns)
        if turn % round(3600 / self.period_s) == 0:
            self._resident.append(resident_mib())
        return [
            Reading(self._clock.now_ns(), self.name, f"rail{channel}", 5.0 + turn % 7, "W")
            for channel in range(CHANNELS)
        ]

    def close(self) -> None:
        """Nothing to close."""


def resident_over_hours(hours: float) -> list[float]:
    """Resident memory of this process at the start and after every scripted hour, MiB; the readings
    go to /dev/null."""
    resident: list[float] = []
    clock = ScriptedClock(hours * 3600 + 1)
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(
            (Rails(clock, resident),),
            Path(folder),
            clock,
            stop_timeout_s=3600,
            file_name="/dev/null",
        )
        recorder.start(MeteredProcess(1, Path(folder)))
        assert recorder._thread is not None
        recorder._thread.join()
        recorder.stop()
    return resident


def resident_mib() -> float:
    """Resident set of this process (proc(5), statm)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def table(costs: Sequence[ReadingCost]) -> list[str]:
    """The costs in Markdown."""
    lines = [
        (
            "| meter | read on | period | readings | CPU time of a call, median | largest | of one"
            " core |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for cost in costs:
        numbers = (
            f"{cost.readings} | {cost.median_s * 1e3:.3f} ms | {cost.largest_s * 1e3:.3f} ms |"
            f" {cost.share:.3%}"
        )
        lines.append(f"| `{cost.meter}` | {cost.where} | {cost.period_s:g} s | {numbers} |")
    return lines


def main() -> None:
    """Print all three."""
    costs = list(reading_costs(100))
    print("\n".join(table(costs)))
    print(f"\nAll of them together: {sum(cost.share for cost in costs):.2%} of one core.")
    share, reached = share_of_a_core(20.0)
    print(f"{reached:.0f} readings a second through the recorder: {share:.2%} of one core.")
    resident = resident_over_hours(HOURS)
    print(
        f"{READINGS_PER_S} readings a second over {HOURS} h of scripted time: {resident[0]:.1f} MiB"
        f" at the start, {resident[-1]:.1f} MiB at the end."
    )
    hand_over(
        meters=len(costs),
        all_meters_of_a_core_percent=round(100 * sum(cost.share for cost in costs), 2),
        recorder_of_a_core_percent=round(100 * share, 2),
        resident_at_the_start_mib=round(resident[0], 1),
        resident_at_the_end_mib=round(resident[-1], 1),
    )


if __name__ == "__main__":
    main()
