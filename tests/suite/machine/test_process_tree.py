import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from suite.machine.process_tree import (
    CLOCK_TICKS_PER_S,
    ProcessUsage,
    cpu_s,
    cpu_usages,
    io_usages,
    is_running,
    parent_of,
    process_tree,
    start_ticks,
)

PARENTS = {100: 1, 101: 100, 102: 100, 103: 102, 200: 1}


def stat(
    pid: int,
    parent: int,
    ticks: tuple[int, int, int, int] = (0, 0, 0, 0),
    state: str = "S",
    started: int = 5,
) -> str:
    """A line of proc(5)'s stat with a command name that tries to mislead."""
    return (
        f"{pid} (a) Z 9 (b) {state} {parent} {pid} {pid} 0 -1 4194304 1 2 3 4"
        f" {' '.join(map(str, ticks))} 20 0 1 0 {started} 7"
    )


def test_descendants_are_found_where_the_kernel_lists_children(tree) -> None:
    files = {f"proc/{pid}/stat": stat(pid, parent) for pid, parent in PARENTS.items()}
    for pid in PARENTS:
        children = [str(child) for child, parent in PARENTS.items() if parent == pid]
        files[f"proc/{pid}/task/{pid}/children"] = " ".join(children)
    # started by another thread
    files["proc/102/task/102/children"], files["proc/102/task/110/children"] = "", "103 "
    assert sorted(process_tree(tree(files), 100)) == [100, 101, 102, 103]


def test_descendants_are_found_where_it_lists_none(tree) -> None:
    root = tree({f"proc/{pid}/stat": stat(pid, parent) for pid, parent in PARENTS.items()})
    assert sorted(process_tree(root, 100)) == [100, 101, 102, 103]


def test_a_process_that_is_gone_has_no_tree(tree) -> None:
    assert process_tree(tree({"proc/1/stat": stat(1, 0)}), 100) == []


def test_time_counts_user_and_system_of_the_living_and_of_ended_children(tree) -> None:
    root = tree(
        {
            "proc/100/stat": stat(100, 1, (100, 20, 3, 4)),
            "proc/101/stat": stat(101, 100, (1000, 0, 0, 0)),
        }
    )
    assert cpu_s(root, [100, 101, 999]) == pytest.approx(1127 / CLOCK_TICKS_PER_S)
    assert [parent_of(root, pid) for pid in (101, 100, 999)] == [100, None, None]


def test_a_process_runs_until_it_is_a_zombie_or_dead(tree) -> None:
    root = tree(
        {f"proc/{pid}/stat": stat(pid, 1, state=state) for pid, state in enumerate("RSDTZX")}
    )
    assert [is_running(root, pid) for pid in range(7)] == [True] * 4 + [False] * 3
    assert [start_ticks(root / "proc" / pid) for pid in ("0", "6")] == [5, None]


def test_an_orphan_is_known_by_its_start_and_a_later_process_of_its_number_is_not(tree) -> None:
    parents = {100: 1, 101: 1, 102: 1, 103: 101}
    files = {f"proc/{pid}/stat": stat(pid, parent) for pid, parent in parents.items()}
    before = {pid: ProcessUsage(100, started, 0.0, 0.0) for pid, started in ((101, 5), (102, 4))}
    files["proc/101/stat"] = stat(101, 1, (100, 20, 3, 4))
    found = cpu_usages(tree(files), (100,), before)
    assert set(found) == {100, 101, 103}
    ticks = (found[101].used * CLOCK_TICKS_PER_S, found[101].from_children * CLOCK_TICKS_PER_S)
    assert ticks == pytest.approx((127, 7))


def test_bytes_of_storage_are_counted_and_all_of_them_may_be_of_children(tree) -> None:
    root = tree({"proc/100/io": "rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 512\n"})
    read, written = io_usages(root, {pid: ProcessUsage(1, 5, 0.0, 0.0) for pid in (100, 101)})
    assert read == {100: ProcessUsage(1, 5, 4096, 4096)}
    assert written == {100: ProcessUsage(1, 5, 512, 512)}


def test_this_machine_agrees_with_psutil() -> None:
    program = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True);"
        " input()'])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        ours, theirs = (
            process_tree(Path("/"), os.getpid()),
            psutil.Process().children(recursive=True),
        )
        process.communicate(b"\n")
    assert sorted(ours) == sorted([os.getpid(), *(child.pid for child in theirs)])
    times = psutil.Process().cpu_times()
    assert cpu_s(Path("/"), [os.getpid()]) == pytest.approx(sum(times[:4]), abs=0.05)
