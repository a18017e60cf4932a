"""Limits of CPU time and reads: both versions of cgroups, real throttled processes, and what cannot
be limited."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from reference_impls.contract import OWN_CGROUP
from suite.errors import SuiteError
from suite.machine.limits import (
    cpu_quota,
    least_weight,
    memory_limit,
    process_limits,
    read_limit,
    refuse_limit,
    refuse_quota,
    when_idle,
)
from tests.disks import simulated_disk

V1, V2 = "sys/fs/cgroup/cpu", "sys/fs/cgroup"
OWN = f"{OWN_CGROUP}{os.getpid()}"


def test_version_1_has_a_quota_and_a_period(tmp_path: Path) -> None:
    (tmp_path / V1).mkdir(parents=True)
    (tmp_path / V1 / "cgroup.procs").touch()
    with process_limits([cpu_quota(0.5)], tmp_path) as limit:
        limit(42)
        files = {path.name: path.read_text() for path in (tmp_path / V1 / OWN).iterdir()}
    assert files == {
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "50000",
        "cgroup.procs": "42",
    }


def test_a_quota_is_a_hundredth_of_a_core_at_least_and_no_more_than_there_are(tree) -> None:
    assert cpu_quota(0.01).v2_values == (("cpu.max", "1000 100000"),)
    root = tree({"sys/devices/system/cpu/online": "0-1"})
    refuse_quota(2.0, root)
    with pytest.raises(SuiteError, match="choose at most 2 cores"):
        refuse_quota(2.1, root)
    refuse_quota(4.0, root, of_mode=4)
    with pytest.raises(SuiteError, match="its power mode has 3 cores online"):
        refuse_quota(4.0, root, of_mode=3)


def test_version_2_has_one_file_and_needs_the_controller(tmp_path: Path) -> None:
    (tmp_path / V2).mkdir(parents=True)
    (tmp_path / V2 / "cgroup.controllers").write_text("cpuset cpu io memory\n")
    (tmp_path / V2 / "cgroup.subtree_control").write_text("memory\n")
    with process_limits([cpu_quota(1.5)], tmp_path) as limit:
        limit(42)
        assert (tmp_path / V2 / OWN / "cpu.max").read_text() == "150000 100000"
    assert (tmp_path / V2 / "cgroup.subtree_control").read_text() == "+cpu"


def test_memory_is_one_file_in_both_versions() -> None:
    limit = memory_limit(340)
    assert (limit.v1_values, limit.v2_values) == (
        (("memory.limit_in_bytes", "340000000"),),
        (("memory.max", "340000000"),),
    )
    with pytest.raises(SuiteError, match="memory_mb 1: choose 4 to 1,000,000,000 million bytes"):
        memory_limit(1)


def test_a_group_that_a_killed_command_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / V1 / f"{OWN_CGROUP}1"
    left.mkdir(parents=True)
    (tmp_path / V1 / "cgroup.procs").touch()
    with process_limits([cpu_quota(0.5)], tmp_path):
        assert not left.exists()


def test_all_limits_of_a_process_are_in_force_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 2 has one group for all of them, and removing a group forgets its settings."""
    (tmp_path / V2).mkdir(parents=True)
    (tmp_path / V2 / "cgroup.controllers").write_text("cpu memory\n")
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    with process_limits([cpu_quota(0.5), memory_limit(340)], tmp_path):
        group = tmp_path / V2 / OWN
        assert (group / "cpu.max").read_text() == "50000 100000"
        assert (group / "memory.max").read_text() == "340000000"
    assert not group.exists()


def test_a_real_group_has_all_limits() -> None:
    file = Path("/") / V1 / OWN / "cpu.cfs_quota_us"
    if not (Path("/") / V1 / "cgroup.procs").exists():
        file = Path("/") / V2 / OWN / "cpu.max"
    try:
        with process_limits([cpu_quota(0.5), least_weight()]):
            assert file.read_text().split()[0] == "50000"
    except SuiteError as error:
        pytest.skip(str(error))


def test_without_a_limit_nothing_is_made(tmp_path: Path) -> None:
    with process_limits([], tmp_path) as limit:
        limit(42)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("cores", "words"), [(0.0, "0.01 to 4096 cores"), (0.5, "offers no cgroup controller")]
)
def test_what_cannot_be_limited_is_said(tmp_path: Path, cores: float, words: str) -> None:
    with pytest.raises(SuiteError, match=words):
        refuse_limit(cpu_quota(cores), tmp_path)


@pytest.mark.parametrize(
    ("user", "words"),
    [
        (0, "{} cannot be set, not even by root: .* as in a container"),
        (1000, r"Only root may set limits \({}: .*; type: sudo env SUITE_HOME="),
    ],
    ids=["root", "another user"],
)
def test_only_who_is_not_root_is_told_to_type_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, words: str
) -> None:
    (tmp_path / V2).mkdir(parents=True)
    (tmp_path / V2 / "cgroup.controllers").write_text("cpu\n")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(SuiteError, match=words.format("cpu_quota 0.5")):
        refuse_limit(cpu_quota(0.5), tmp_path)
    with pytest.raises(SuiteError, match=words.format("cpu.idle")), when_idle(tmp_path):
        pass


def test_a_real_process_is_throttled() -> None:
    try:
        refuse_limit(cpu_quota(0.2))
        with process_limits([cpu_quota(0.2)]) as limit:
            _assert_throttled(
                limit, Path("/") / (V1 if (Path("/") / V1 / "cgroup.procs").exists() else V2) / OWN
            )
    except SuiteError as error:
        pytest.skip(str(error))
    assert not (Path("/") / V1 / OWN).exists()


def _assert_throttled(limit: object, group: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        limit(process.pid)  # type: ignore[operator]
        limit_s = time.monotonic() + 60
        while "nr_throttled 0" in (group / "cpu.stat").read_text():
            assert time.monotonic() < limit_s, "it was never throttled"
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()


def test_reads_are_limited_on_the_whole_disk(tmp_path: Path) -> None:
    simulated_disk(tmp_path, "/")
    limit = read_limit(12.5, Path("/data/mnist"), tmp_path)
    for folder, name, expected in (
        ("blkio", "blkio.throttle.read_bps_device", "8:0 12500000"),
        ("", "io.max", "8:0 rbps=12500000"),
    ):
        groups = tmp_path / V2 / folder
        groups.mkdir(parents=True, exist_ok=True)
        (groups / ("cgroup.procs" if folder else "cgroup.controllers")).write_text(
            "" if folder else "io\n"
        )
        with process_limits([limit], tmp_path):
            assert (groups / OWN / name).read_text() == expected
        if folder:
            shutil.rmtree(groups)


def test_data_on_no_disk_are_refused(tmp_path: Path) -> None:
    simulated_disk(tmp_path, "/", "0:31", "tmpfs")
    (tmp_path / "sys/dev/block/8:1").unlink()
    with pytest.raises(
        SuiteError, match=r"is on tmpfs \(/dev/sda1\), which cannot be traced to a disk"
    ):
        read_limit(10, Path("/data"), tmp_path)
    with pytest.raises(SuiteError, match=r"choose 0\.1 to 100000 million bytes"):
        read_limit(0, Path("/data"), tmp_path)


def test_a_real_disk_is_read_slowly() -> None:
    path = Path.home() / f".cache/{OWN}"
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(4_000_000))
        limit = read_limit(4, path.parent)
        refuse_limit(limit)
        with process_limits([limit]) as limit_process:
            os.sync()
            read = subprocess.Popen(
                ["sh", "-c", f"read go; exec dd if={path} of=/dev/null bs=64k iflag=direct"],
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            limit_process(read.pid)
            began_s = time.monotonic()
            _, said = read.communicate("go\n")
            assert read.returncode == 0, said
            assert time.monotonic() - began_s > 0.8, "4 MB at 4 MB/s"
    except SuiteError as error:
        pytest.skip(str(error))
    finally:
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("version", [1, 2])
def test_idle_time_only_is_one_file_in_both_versions(version: int, tmp_path: Path) -> None:
    folder = tmp_path / (V1 if version == 1 else V2)
    folder.mkdir(parents=True)
    (folder / ("cgroup.procs" if version == 1 else "cgroup.controllers")).write_text(
        "" if version == 1 else "cpu\n"
    )
    (folder / "cgroup.subtree_control").write_text("cpu\n")
    with when_idle(tmp_path) as (name, limit):
        limit(42)
        assert (name, (folder / OWN / "cpu.idle").read_text()) == ("cpu.idle", "1")


def test_a_kernel_without_cpu_idle_gives_the_least_weight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels before 5.15 have no such file, and a cgroup's folder takes no new one."""
    (tmp_path / V1).mkdir(parents=True)
    (tmp_path / V1 / "cgroup.procs").touch()
    write = Path.write_text

    def as_kernel(path: Path, content: str, encoding: str | None = None) -> int:
        if path.name == "cpu.idle":
            raise PermissionError(13, "Permission denied", str(path))
        return write(path, content, encoding)

    monkeypatch.setattr(Path, "write_text", as_kernel)
    with when_idle(tmp_path) as (name, _):
        assert (name, (tmp_path / V1 / OWN / "cpu.shares").read_text()) == ("least weight", "2")
    assert least_weight().v2_values == (("cpu.weight", "1"),)


def test_a_real_process_gets_only_what_another_one_leaves() -> None:
    """Both on one core, until the other one has used 0.6 s of it: the idle one gets less than a
    quarter, even if the tests themselves run at a low priority."""
    try:
        with when_idle() as (_, limit_process):
            core = min(os.sched_getaffinity(0))
            both = [
                subprocess.Popen(
                    [
                        sys.executable,
                        "-c",
                        f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass",
                    ]
                )
                for _ in range(2)
            ]
            try:
                limit_process(both[0].pid)
                began_s = _cpu_s(both[0].pid)
                until_s = _cpu_s(both[1].pid) + 0.6
                while _cpu_s(both[1].pid) < until_s:
                    time.sleep(0.05)
                assert _cpu_s(both[0].pid) - began_s < 0.15
            finally:
                for process in both:
                    process.kill()
                    process.wait()
    except SuiteError as error:
        pytest.skip(str(error))


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
