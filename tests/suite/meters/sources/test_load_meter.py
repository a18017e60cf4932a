"""The load of this machine: what the suite's own processes use is own, what others use is
foreign."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.meters.meter import MeteredProcess
from suite.meters.sources.load import LoadMeter

BURN = "import time\nwhile time.process_time() < 0.5: pass\nprint(1, flush=True)\ninput()\n"
DETACHED = (
    f"import os, subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', {BURN!r}]).pid,"
    " flush=True)\nos._exit(0)\n"
)


def values(meter: LoadMeter) -> dict[str, float]:
    return {reading.channel: reading.value for reading in meter.read()}


def opened(pid: int, root: Path = Path("/")) -> LoadMeter:
    meter = LoadMeter(root)
    assert meter.availability().available
    meter.open(MeteredProcess(pid, Path("/data")))
    return meter


def increases(meter: LoadMeter, before: dict[str, float]) -> dict[str, float]:
    after = values(meter)
    return {channel: after[channel] - before[channel] for channel in before if channel in after}


def test_a_program_of_somebody_else_is_foreign() -> None:
    """A detached program is nobody's child here; its CPU time is known from its own clock."""
    meter = opened(os.getpid())
    before = values(meter)
    with subprocess.Popen(
        [sys.executable, "-c", DETACHED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        pid = int(process.stdout.readline())
        process.wait()  # the program's parent has exited before the meter knows it
        assert process.stdout.readline()
        grown = increases(meter, before)
        process.stdin.close()
    assert pid not in meter._own.members
    assert grown["busy"] - grown["own"] >= 0.9 * 0.5
    assert grown["own"] < 0.5


def test_the_implementations_exited_children_are_own() -> None:
    meter = opened(os.getpid())
    before = values(meter)
    subprocess.run([sys.executable, "-c", BURN], input=b"\n", check=True, stdout=subprocess.DEVNULL)
    ticks_s = 2 / os.sysconf("SC_CLK_TCK")  # the kernel cuts user and system time to a tick each
    assert increases(meter, before)["own"] >= 0.5 - ticks_s


def test_a_kernel_without_pressure_stall_information_is_read_without_it(
    tree: Callable[[dict[str, str]], Path],
) -> None:
    root = tree(
        {
            "proc/stat": "cpu  200 0 100 1600 100 0 0 7 50 0\n",
            "proc/100/stat": "100 (python) S 1 100 100 0 -1 0 0 0 0 0 300 50 0 0 20 0 1 0 77 0",
        }
    )
    availability = LoadMeter(root).availability()
    assert (
        availability.available
        and "no pressure stall information" in availability.reason
        and "psi=1" in availability.remedy
    )
    assert values(opened(100, root)) == {"busy": 3.0, "steal": 0.07, "own": 3.5}


def test_bytes_of_another_users_process_are_absent(tree: Callable[[dict[str, str]], Path]) -> None:
    stat = "100 (python) S 1 100 100 0 -1 0 0 0 0 0 300 50 0 0 20 0 1 0 77 0"
    assert not {"read", "written"} & set(
        values(
            opened(100, tree({"proc/stat": "cpu  1 0 1 1 1 0 0 0 0 0\n", "proc/100/stat": stat}))
        )
    )


@pytest.mark.parametrize("content", ["", "some avg10=0.00", "some total=x\nfull total=\n"])
def test_pressure_that_cannot_be_read_is_absent(content: str, tree: Any) -> None:
    found = values(
        opened(100, tree({"proc/stat": "cpu  1 0 1 1 1 0 0 0 0 0\n", "proc/pressure/cpu": content}))
    )
    assert set(found) == {"busy", "steal", "own"}
