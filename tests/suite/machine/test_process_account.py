import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from suite.machine.process_tree import (
    ProcessAccount,
    ProcessUsage,
    cpu_usages,
    descendants,
    io_usages,
)

ROOT = Path("/")
WORK = "import time\nwhile time.process_time() < {seconds}: pass\n"


def usage(parent: int, used: float, from_children: float = 0.0, started: int = 1) -> ProcessUsage:
    return ProcessUsage(parent, started, used, from_children)


def test_a_child_that_was_waited_for_is_counted_once() -> None:
    account = ProcessAccount()
    assert account.update({1: usage(0, 1.0), 2: usage(1, 5.0)}) == 6.0
    assert account.update({1: usage(0, 7.0, 6.0)}) == 7.0


def test_a_child_that_nobody_waited_for_stays_in_the_total() -> None:
    account = ProcessAccount()
    account.update({1: usage(0, 3.0, 2.0), 2: usage(1, 5.0)})
    totals_s = [account.update({1: usage(0, used, 2.0)}) for used in (3.0, 4.0, 5.0)]
    assert totals_s == [8.0, 9.0, 10.0]  # what an earlier child was credited with is not its


def test_a_credit_that_comes_an_update_late_is_counted_once() -> None:
    account = ProcessAccount()
    account.update({1: usage(0, 1.0), 2: usage(1, 5.0)})
    assert account.update({1: usage(0, 1.0)}) == 6.0
    assert account.update({1: usage(0, 6.5, 5.5)}) == 6.5
    assert account.update({1: usage(0, 6.5, 5.5)}) == 6.5


def test_children_of_an_exited_parent_are_credited_to_the_nearest_ancestor() -> None:
    account = ProcessAccount()
    account.update({1: usage(0, 0.0), 2: usage(1, 3.0), 3: usage(2, 4.0)})
    assert account.update({1: usage(0, 7.0, 7.0)}) == 7.0


@pytest.mark.parametrize("credit", [3.0, 0.0], ids=["waited for", "nobody waited"])
def test_a_number_that_is_used_again_is_another_process(credit: float) -> None:
    account = ProcessAccount()
    account.update({1: usage(0, 0.0), 2: usage(1, 3.0)})
    assert account.update({1: usage(0, credit, credit), 2: usage(1, 0.5, started=9)}) == 3.5


def test_when_every_process_has_exited_the_total_stays() -> None:
    account = ProcessAccount()
    account.update({1: usage(0, 1.0), 2: usage(1, 5.0)})
    assert account.update({}) == 6.0


def test_an_orphan_still_descends_from_the_implementation() -> None:
    before = {100: usage(1, 1.0), 101: usage(100, 1.0), 102: usage(101, 1.0)}
    known = descendants(before, 100, {})
    assert set(known) == {100, 101, 102}
    assert set(
        descendants(
            {
                100: usage(1, 1.0),
                101: usage(1, 1.0, started=9),
                102: usage(1, 1.0),
                5: usage(1, 1.0),
            },
            100,
            known,
        )
    ) == {100, 102}


def _own_s(account: ProcessAccount) -> float:
    return account.update(cpu_usages(ROOT, (os.getpid(),), account.members))


def test_many_short_children_are_counted_by_the_kernels_own_sum() -> None:
    account = ProcessAccount()
    before_s, rusage = _own_s(account), _rusage_s()
    for _ in range(60):
        subprocess.run(
            ["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true; done"], check=True
        )
        _own_s(account)
    assert _own_s(account) - before_s == pytest.approx(_rusage_s() - rusage, abs=0.05)


def test_children_whose_parent_ignores_them_are_not_lost() -> None:
    account, program = (
        ProcessAccount(),
        "import signal, subprocess, sys, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n",
    )
    program += (
        f"child = subprocess.Popen([sys.executable, '-c', '''{WORK.format(seconds=0.5)}print(1,"
        " flush=True); input()'''], "
    )
    program += (
        "stdin=subprocess.PIPE, stdout=subprocess.PIPE)\nchild.stdout.readline(); print(1,"
        " flush=True); input()\n"
    )
    program += "child.stdin.close(); child.stdout.read(); print(2, flush=True); input()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin and process.stdout
    process.stdout.readline()
    with_child_s = account.update(cpu_usages(ROOT, (process.pid,), account.members))
    process.stdin.write(b"\n")
    process.stdin.flush()
    process.stdout.readline()
    after_s = account.update(cpu_usages(ROOT, (process.pid,), account.members))
    process.kill()
    process.wait()
    assert with_child_s > 0.45  # the child's 0.5 s, less what the kernel's ticks of 10 ms leave out
    assert after_s >= with_child_s


def test_bytes_that_an_exited_child_wrote_are_its_parents(tmp_path: Path) -> None:
    if not Path("/proc/self/io").exists():
        pytest.skip("the kernel has no CONFIG_TASK_IO_ACCOUNTING")
    account = ProcessAccount()

    def written() -> float:
        return account.update(io_usages(ROOT, cpu_usages(ROOT, (os.getpid(),), {}))[1])

    before = written()
    command = (
        f"import os; f = open({str(tmp_path / 'x')!r}, 'wb'); f.write(b'x' * 2**20); f.flush();"
        " os.fsync(f.fileno())"
    )
    subprocess.run([sys.executable, "-c", command], check=True)
    assert written() - before == pytest.approx(2**20, rel=0.2)


def _rusage_s() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)
