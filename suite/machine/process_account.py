"""Totals over a set of processes that include those that have exited: CPU time, bytes read and
written.

The kernel adds an exited child's CPU time and I/O to the parent that waits for it. What nobody
waits for (orphans, children of a parent that ignores SIGCHLD) is lost with the process; here it is
kept as it was last read. Sources: proc(5), wait(2).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.machine.process_tree import CLOCK_TICKS_PER_S, children_reader, stat_fields


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
            owed[_heir(usage.parent, gone)] += usage.used
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


def _heir(pid: int, gone: Usages) -> int:
    """The nearest ancestor that has not exited."""
    while pid in gone:
        pid = gone[pid].parent
    return pid


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
