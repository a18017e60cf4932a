"""An implementation's processes on this machine: its root process and all descendants (data-loader
workers, MPI ranks), and totals over them that include those that have exited."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import read_text

CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_START_TIME = 19  # starttime among the fields of ``stat`` after the command's name (proc(5))


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
    return (read_text(process / "stat") or "").rpartition(")")[2].split()


def start_ticks(process: Path) -> int | None:
    """When a process was started, in clock ticks after boot; None once it has exited. Numbers of
    processes are used again."""
    fields = stat_fields(process)
    ticks = fields[_START_TIME] if len(fields) > _START_TIME else ""
    return int(ticks) if ticks.isdigit() else None


@dataclass(frozen=True)
class ProcessUsage:
    """One process: its parent, its start in clock ticks after boot (numbers of processes are used
    again), and what it has used.

    ``used`` includes children that were waited for; ``from_children`` is the largest part of it
    that may come from these.
    """

    parent: int
    started: int
    used: float
    from_children: float


Usages = Mapping[int, ProcessUsage]


class ProcessAccount:
    """What a set of processes has used, the exited ones included. One that exits before its
    children leaves them in the account.

    The kernel adds an exited child's CPU time and I/O to the parent that waits for it. What nobody
    waits for (orphans, children of a parent that ignores SIGCHLD) is lost with the process; here it
    is kept as it was last read. Sources: proc(5), wait(2).

    A process that nobody waited for, and that lived between two updates only, is not known: the
    total is then too low.
    """

    def __init__(self) -> None:
        self.members: Usages = {}
        self._lost = 0.0
        self._pending: dict[int, float] = {}

    def update(self, present: Usages) -> float:
        """The total, now that the set is ``present``."""
        gone = {
            pid: usage
            for pid, usage in self.members.items()
            if pid not in present or present[pid].started != usage.started
        }
        owed: dict[int, float] = defaultdict(float)
        for usage in gone.values():
            ancestor = usage.parent
            while ancestor in gone:  # to the nearest that has not exited
                ancestor = gone[ancestor].parent
            owed[ancestor] += usage.used
        self._settle(present, owed)
        self.members = present
        return (
            sum(usage.used for usage in present.values()) + sum(self._pending.values()) + self._lost
        )

    def _settle(self, present: Usages, owed: Mapping[int, float]) -> None:
        """Compare what processes took with them with what their nearest ancestor was credited with.

        The credit may come with the next update: a list of children and the parent's counts are not
        read at one moment.
        """
        before, self._pending = self._pending, {}
        for pid in {*owed, *before}:
            new, old = owed.get(pid, 0.0), before.get(pid, 0.0)
            if pid not in present or pid not in self.members:
                self._lost += new + old
                continue
            credit = max(0.0, present[pid].from_children - self.members[pid].from_children)
            unpaid = max(0.0, new + old - credit)
            self._lost += min(unpaid, old)
            self._pending[pid] = max(0.0, unpaid - old)


def cpu_usages(root: Path, roots: Iterable[int], known: Usages) -> dict[int, ProcessUsage]:
    """CPU time (s) of the processes ``roots``, of all their descendants, and of ``known`` processes
    that still run."""
    found: dict[int, ProcessUsage] = {}
    waiting: list[tuple[int, int | None]] = [
        (pid, usage.started) for pid, usage in known.items()
    ] + [(pid, None) for pid in roots]
    children_of = children_reader(root / "proc")
    while waiting:
        pid, started = waiting.pop()
        usage = None if pid in found else _cpu_usage(root / "proc" / str(pid))
        if usage is not None and started in (None, usage.started):
            found[pid] = usage
            waiting += [(child, None) for child in children_of(pid)]
    return found


def io_usages(
    root: Path, processes: Usages
) -> tuple[dict[int, ProcessUsage], dict[int, ProcessUsage]]:
    """Bytes that each process caused to be read from storage, and written to it; processes of other
    users are left out.

    Empty without CONFIG_TASK_IO_ACCOUNTING. A process's counts include those of its threads and of
    the children that it waited for.
    """
    read, written = {}, {}
    for pid, usage in processes.items():
        counts = _io_counts(root / "proc" / str(pid) / "io")
        if counts is not None:
            read[pid], written[pid] = (
                ProcessUsage(usage.parent, usage.started, count, count) for count in counts
            )
    return read, written


def descendants(processes: Usages, pid: int, known: Usages) -> dict[int, ProcessUsage]:
    """Those of ``processes`` that descend from ``pid``, itself included, or are ``known``."""
    found: dict[int, ProcessUsage] = {}
    for each, usage in processes.items():
        ancestor = each
        while ancestor in processes and ancestor != pid:
            ancestor = processes[ancestor].parent
        if ancestor == pid or (each in known and known[each].started == usage.started):
            found[each] = usage
    return found


def _cpu_usage(process: Path) -> ProcessUsage | None:
    fields = stat_fields(process)
    if len(fields) < 15:
        return None  # it has just exited
    # utime, stime, cutime, cstime
    own, from_children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    started = int(fields[19]) if len(fields) > 19 else 0
    return ProcessUsage(
        int(fields[1]),
        started,
        (own + from_children) / CLOCK_TICKS_PER_S,
        from_children / CLOCK_TICKS_PER_S,
    )


def _io_counts(path: Path) -> tuple[float, float] | None:
    try:
        values = dict(line.split(b": ") for line in path.read_bytes().splitlines())
        return float(values[b"read_bytes"]), float(values[b"write_bytes"])
    except (OSError, KeyError, ValueError):
        return None
