"""An implementation's processes: its root and everything started from there (data-loader workers, MPI ranks of this machine)."""
import os
from dataclasses import dataclass
from pathlib import Path

from suite.measure.procfs import kilobyte_fields

CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class TreeUsage:
    """What a process tree holds and has used.

    ``cpu_s`` includes ended children that were waited for. ``rss_bytes`` adds up the processes' resident sets and so counts
    a page that forked workers share once per process; the kernel's proportional figure is exact but walks every page table
    with the memory map locked (6 ms for 0.5 GB), which a training process would feel.
    """

    processes: int
    cpu_s: float
    rss_bytes: int


def tree(root: Path, pid: int) -> list[int]:
    """The process and its descendants, those that are alive; empty when the process has ended."""
    proc = root / "proc"
    if not (proc / str(pid) / "stat").exists():
        return []
    children = _children_by_listing if (proc / str(pid) / "task" / str(pid) / "children").exists() else _children_by_parent
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(children(proc, found[-1]))
    return found


def cpu_s(root: Path, pids: list[int]) -> float:
    """CPU time of the processes and of their ended children, in seconds; a process that just ended counts nothing."""
    ticks = 0
    for pid in pids:
        fields = _stat(root / "proc", pid)
        ticks += sum(map(int, fields[11:15])) if fields else 0  # utime, stime, cutime, cstime
    return ticks / CLOCK_TICKS_PER_S
