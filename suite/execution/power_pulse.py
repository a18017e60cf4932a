"""A pattern of loads before and after a run, by which the clock of a logger is fitted to it (`suite
run --power-pulse`, `suite power attach`)."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reference_impls.contract import NS_PER_S
from suite.bundle.lifetime import Lifetime
from suite.bundle.reader import RunRecord

PATTERN_S = ((3.0, 3.0), (2.0, 1.5))
"""Idle, then load, twice; ``LAST_IDLE_S`` follows. The two loads differ in length, so that the
pattern fits at one place only."""
LAST_IDLE_S = 3.0
SPIN = """
import sys, time
for window in sys.argv[1:]:
    start, stop = map(int, window.split(":"))
    time.sleep(max(0.0, (start - time.monotonic_ns()) / 1e9))
    while time.monotonic_ns() < stop:
        pass
"""
TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Pulse:
    """A pattern of loads that was made: its first and last moment, and start and stop of each load,
    ns on the monotonic clock."""

    begin_ns: int
    end_ns: int
    loads_ns: list[list[int]]


def run_pulse() -> Pulse:
    """Load every core in the pattern, then wait.

    One process per core spins; it is started in the first idle time and knows the moments, so that
    its start-up delays nothing.
    """
    begin_ns, loads_ns = time.monotonic_ns(), []
    now_ns = begin_ns
    for idle_s, load_s in PATTERN_S:
        start_ns = now_ns + round(idle_s * NS_PER_S)
        now_ns = start_ns + round(load_s * NS_PER_S)
        loads_ns.append([start_ns, now_ns])
    words = [f"{start_ns}:{stop_ns}" for start_ns, stop_ns in loads_ns]
    processes = [
        subprocess.Popen([sys.executable, "-S", "-E", "-c", SPIN, *words])
        for _ in range(len(os.sched_getaffinity(0)))
    ]
    try:
        for process in processes:
            process.wait(sum(map(sum, PATTERN_S)) + TIMEOUT_S)
        time.sleep(LAST_IDLE_S)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return Pulse(begin_ns, time.monotonic_ns(), loads_ns)


def with_pulses(record: RunRecord, before: Sequence[Pulse], lifetime: Lifetime) -> RunRecord:
    """The record with the moments of the pulses, in which the harness left the machine idle; after
    a run that finished, the pattern is made once more."""
    pulses = list(before)
    if before and record.status == "finished":
        pulses.append(run_pulse())
        loads_ns = [load_ns for each in pulses for load_ns in each.loads_ns]
        record = replace(record, power_pulse={"loads_ns": loads_ns})
    idle_ns = (*lifetime.idle_ns, *((each.begin_ns, each.end_ns) for each in pulses))
    return replace(record, lifetime=replace(lifetime, idle_ns=idle_ns).to_dict())
