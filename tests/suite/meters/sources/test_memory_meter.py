import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from suite.meters.meter import MeteredProcess, Reading
from suite.meters.sources.memory import MemoryMeter

MEMINFO = """\
MemTotal:        4059000 kB
MemFree:          100000 kB
MemAvailable:    3000000 kB
SwapTotal:       2000000 kB
SwapFree:        1500000 kB
"""


def values(readings: list[Reading]) -> dict[str, float]:
    """Values by channel."""
    return {reading.channel: reading.value for reading in readings}


def opened(root: Path, pid: int = 100) -> MemoryMeter:
    """The meter on a process."""
    meter = MemoryMeter(root)
    meter.open(MeteredProcess(pid, Path("/data")))
    return meter


def test_the_tree_holds_what_its_processes_hold_and_a_zombie_holds_nothing(tree) -> None:
    processes = {
        "proc/100/stat": "100 (python) S 1",
        "proc/101/stat": "101 (worker) S 100",
        "proc/102/stat": "102 (done) Z 100",
        "proc/100/status": "Name:\tmpirun\nVmHWM:\t    8000 kB\nVmRSS:\t    4000 kB\n",
        "proc/101/status": "Name:\tpython\nVmHWM:\t    9000 kB\nVmRSS:\t    2000 kB\n",
        "proc/102/status": "Name:\tdone\n",
    }
    found = values(opened(tree({"proc/meminfo": MEMINFO, **processes})).read())
    assert found["process_tree_rss"] == 6_144_000
    assert found["process_tree_size"] == 2
    assert found["largest_process_peak_rss"] == 9_216_000


def test_a_process_that_exits_while_it_is_read_counts_in_no_reading(tree) -> None:
    """Else the memory in use could be above the peaks of the processes that remain."""
    processes = {
        "proc/100/stat": "100 (mpirun) S 1",
        "proc/101/stat": "101 (python) S 100",
        "proc/101/statm": "9000 50000 10 1 0 0 0",
        "proc/101/status": "VmRSS:\t    2000 kB\n",
        "proc/100/status": "VmHWM:\t    8000 kB\nVmRSS:\t    4000 kB\n",
    }
    found = values(opened(tree({"proc/meminfo": MEMINFO, **processes})).read())
    assert (
        found["process_tree_rss"],
        found["process_tree_size"],
        found["largest_process_peak_rss"],
    ) == (4_096_000, 1, 8_192_000)


def test_a_kernel_too_old_to_say_what_is_available_is_told_apart(tree) -> None:
    availability = MemoryMeter(
        tree({"proc/meminfo": "MemTotal: 4059000 kB\nMemFree: 100000 kB\n"})
    ).availability()
    assert not availability.available
    assert "MemAvailable" in availability.reason


SUBJECT = """
import mmap, sys
def hold(size_bytes):
    with mmap.mmap(-1, size_bytes) as block:
        for page in range(0, size_bytes, 4096):
            block[page] = 1
for words in sys.stdin:
    hold(int(words))
    print("let go", flush=True)
"""


@pytest.fixture
def child() -> "Iterator[subprocess.Popen[str]]":
    """A process without children; it holds as many bytes as it is told, and lets them go."""
    with subprocess.Popen(
        [sys.executable, "-c", SUBJECT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        hold(process, 1)
        yield process
        process.kill()


def hold(process: "subprocess.Popen[str]", size_bytes: int) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{size_bytes}\n")
    process.stdin.flush()
    process.stdout.readline()


def test_this_machine_agrees_with_psutil(child: "subprocess.Popen[str]") -> None:
    found = values(opened(Path("/"), child.pid).read())
    assert found["available"] == pytest.approx(psutil.virtual_memory().available, rel=0.02)
    assert found["process_tree_rss"] == pytest.approx(
        psutil.Process(child.pid).memory_info().rss, rel=0.02
    )


def test_a_peak_between_two_readings_is_not_missed(child: "subprocess.Popen[str]") -> None:
    meter, size_bytes = opened(Path("/"), child.pid), 64 * 2**20
    before = values(meter.read())
    hold(child, size_bytes)
    after = values(meter.read())
    assert after["process_tree_rss"] - before["process_tree_rss"] < size_bytes / 2
    assert after["largest_process_peak_rss"] >= before["process_tree_rss"] + 0.9 * size_bytes


FORKED = """
import os, sys
size = 64 * 2**20
block = bytearray(size)
for page in range(0, size, 4096):
    block[page] = 1
children = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        sys.stdin.read()
        os._exit(0)
print(1, flush=True)
sys.stdin.read()
"""


def test_pages_that_forked_workers_share_count_once() -> None:
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("the kernel has no smaps_rollup")
    with subprocess.Popen(
        [sys.executable, "-c", FORKED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = values(opened(Path("/"), process.pid).read())
    assert found["process_tree_size"] == 4
    assert found["process_tree_rss"] > 4 * 64 * 2**20
    assert 64 * 2**20 < found["process_tree_pss"] < 2 * 64 * 2**20


def test_proportional_sets_are_read_of_several_processes_only_and_seldom(tree) -> None:
    rollup = "00400000-7fff [rollup]\nRss:  4000 kB\nPss:  3000 kB\n"
    one = {
        "proc/100/stat": "100 (python) S 1",
        "proc/100/status": "VmHWM: 4000 kB\nVmRSS: 4000 kB\n",
        "proc/100/smaps_rollup": rollup,
    }
    root = tree({"proc/meminfo": MEMINFO, **one})
    meter = opened(root)
    assert "process_tree_pss" not in values(meter.read())
    tree({path.replace("100", "101"): text.replace("S 1", "S 100") for path, text in one.items()})
    assert values(meter.read())["process_tree_pss"] == 2 * 3_072_000
    # not before a thousand times the time that it took
    assert "process_tree_pss" not in values(meter.read())


@pytest.mark.parametrize(
    ("readable", "pss"), [(3, 9_216_000), (2, 6_144_000), (1, None)], ids="{0} of three".format
)
def test_one_process_may_exit_while_proportional_sets_are_read(
    readable: int, pss: int | None, tree
) -> None:
    files = {"proc/meminfo": MEMINFO}
    for pid, parent in ((100, 1), (101, 100), (102, 100)):
        files[f"proc/{pid}/stat"] = f"{pid} (python) S {parent}"
        files[f"proc/{pid}/status"] = "VmHWM: 4000 kB\nVmRSS: 4000 kB\n"
        if pid < 100 + readable:
            files[f"proc/{pid}/smaps_rollup"] = "Pss:  3000 kB\n"
    assert values(opened(tree(files)).read()).get("process_tree_pss") == pss
