"""When the harness's process began to work for a run."""

import os
import time
from pathlib import Path

from reference_impls.contract import NS_PER_S
from suite.bundle.lifetime import Lifetime
from suite.machine.process_tree import CLOCK_TICKS_PER_S, stat_fields

START_TIME = 19
"""The place of starttime in the fields of ``stat`` after the command's name (proc(5))."""


def begin_lifetime(since_process_start: bool, root: Path = Path("/")) -> Lifetime:
    """The lifetime of a run that this process turns to now, or for which it was started.

    In the latter case the interpreter's start and its imports belong to it: ``begin_ns`` is earlier
    by the CPU time that the process has used, and never before the process's start.
    """
    now_ns = time.monotonic_ns()
    if not since_process_start:
        return Lifetime(None, now_ns)
    process_ns = process_start_ns(root)
    return Lifetime(process_ns, max(now_ns - time.process_time_ns(), process_ns or 0))


def process_start_ns(root: Path = Path("/")) -> int | None:
    """When this process was started (forked), on CLOCK_MONOTONIC, ns, to within a clock tick; None
    where /proc does not say.

    The kernel counts it from boot and includes the time that the machine was suspended
    (CLOCK_BOOTTIME); only the process's age is taken from that.
    """
    fields = stat_fields(root / "proc" / str(os.getpid()))
    if len(fields) <= START_TIME or not fields[START_TIME].isdigit():
        return None
    age_ns = (
        time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        - int(fields[START_TIME]) * NS_PER_S // CLOCK_TICKS_PER_S
    )
    now_ns = time.monotonic_ns()
    return now_ns - age_ns if 0 <= age_ns <= now_ns else None
