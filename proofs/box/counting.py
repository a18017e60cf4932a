"""Runs inside the emulated machine: counts a program of known length, by perf_event_open and by the
suite's counters meter.

python3 -m proofs.box.counting PROGRAM
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from suite.meters import counter_events
from suite.meters.counter_events import open_event, read_event
from suite.meters.meter import MeteredProcess
from suite.meters.sources.event_counts import CountersMeter

LOOPS, BESIDE = 10_000_000, 13
"""Of count.S: two instructions per loop; ret, ldr, five to write, bl, five to read."""
EXACT = ("instructions", "cycles")


def main(program: str) -> None:
    """Print one JSON object."""
    meter = CountersMeter()
    availability = meter.availability()
    metered = _of_program(
        program,
        lambda pid: meter.open(MeteredProcess(pid, Path("/out"))),
        lambda: {one.channel: one.value for one in meter.read()},
    )
    meter.close()
    # on its own: with the meter's there are more events than counters
    user = _of_program(program, _open_in_user_mode, _read_in_user_mode)
    listed = sorted(
        path.name for path in Path("/sys/bus/event_source/devices").glob("armv8*/events/*")
    )
    found = {
        "available": availability.available,
        "reason": availability.reason,
        "user": user,
        "meter": metered,
        "listed": listed,
    }
    print(json.dumps({**found, "expected": 2 * LOOPS + BESIDE}))


def _of_program(
    program: str, attach: Callable[[int], None], read: Callable[[], dict[str, float]]
) -> dict[str, float]:
    """Increase of every count between the program's two waits."""
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        _wait_until_asleep(process.pid)
        attach(process.pid)
        before = read()
        process.stdin.write(b"x")
        process.stdout.read(1)
        _wait_until_asleep(process.pid)
        after = read()
        process.stdin.write(b"x")
    return {name: after[name] - before.get(name, 0.0) for name in after}


_HANDLES: dict[str, int] = {}


def _open_in_user_mode(pid: int) -> None:
    _HANDLES.update(
        {
            one.name: open_event(one.code, pid, include_kernel=False)
            for one in counter_events.counter_events()
            if one.name in EXACT
        }
    )


def _read_in_user_mode() -> dict[str, float]:
    return {name: read_event(handle).count for name, handle in _HANDLES.items()}


def _wait_until_asleep(pid: int) -> None:
    """Return when the program waits for a byte."""
    while Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2][0] != "S":
        time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1])
    os.sync()
