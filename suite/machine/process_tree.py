"""An implementation's processes on this machine: its root process and all descendants (data-loader
workers, MPI ranks)."""

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def process_tree(root: Path, pid: int) -> list[int]:
    """The process and its present descendants; empty once the process has exited."""
    proc = root / "proc"
    if not (proc / str(pid)).exists():
        return []
    children_of = children_reader(proc)
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(children_of(found[-1]))
    return found


def parent_of(root: Path, pid: int) -> int | None:
    """The parent of a process; None once either has exited (process 1 adopts orphans)."""
    fields = stat_fields(root / "proc" / str(pid))
    return int(fields[1]) if fields and int(fields[1]) > 1 else None


def is_running(root: Path, pid: int) -> bool:
    """Whether the process exists and has not exited (a zombie has)."""
    return stat_fields(root / "proc" / str(pid))[:1] not in ([], ["Z"], ["X"])


def cpu_s(root: Path, pids: list[int]) -> float:
    """CPU time of the processes and of their children that were waited for, s; a process that has
    just exited adds nothing."""
    fields = [stat_fields(root / "proc" / str(pid)) for pid in pids]
    # utime, stime, cutime, cstime
    return sum(int(ticks) for each in fields for ticks in each[11:15]) / CLOCK_TICKS_PER_S


def children_reader(proc: Path) -> Callable[[int], list[int]]:
    """A function that returns a process's children: from the kernel's list, or without
    CONFIG_PROC_CHILDREN from every process's parent."""
    by_parent: dict[int, list[int]] | None = None

    def children_of(parent: int) -> list[int]:
        nonlocal by_parent
        if by_parent is None and (proc / str(parent) / "task" / str(parent) / "children").exists():
            return _listed_children(proc / str(parent))
        if by_parent is None:
            by_parent = defaultdict(list)
            for process in proc.glob("[0-9]*"):
                fields = stat_fields(process)
                if fields:
                    by_parent[int(fields[1])].append(int(process.name))
        return by_parent.get(parent, [])

    return children_of


def _listed_children(process: Path) -> list[int]:
    """The children of all threads of a process; each thread has a list (CONFIG_PROC_CHILDREN)."""
    found = []
    try:
        for thread in os.listdir(process / "task"):  # noqa: PTH208 - names only: this is read for every thread, every second
            found += [
                int(child)
                for child in (process / "task" / thread / "children").read_bytes().split()
            ]
    except OSError:
        pass  # a thread or process that has just exited
    return found


def stat_fields(process: Path) -> list[str]:
    """The fields of ``stat`` after the command's name, which may contain spaces and brackets:
    state, parent, ...; empty once it has exited."""
    try:
        return (
            (process / "stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return []
