import json
import mmap
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from suite.errors import SuiteError
from suite.machine.storage import disk_of, mount_of
from suite.meters.meter import MeteredProcess
from suite.meters.sources.disk import DiskMeter
from tests.disks import own_disk


def test_data_on_no_disk_is_an_error_that_names_where_they_lie(tree) -> None:
    meter = DiskMeter(tree({"proc/self/mountinfo": "22 1 0:40 / / rw - nfs4 server:/export rw\n"}))
    with pytest.raises(SuiteError, match=r"nfs4 \(server:/export\)"):
        meter.open(MeteredProcess(1, Path("/data")))


def read_of(root: Path) -> dict[str, float]:
    """What is read of the disk of the root file system."""
    (meter := DiskMeter(root)).open(MeteredProcess(1, Path("/data")))
    return {reading.channel: reading.value for reading in meter.read()}


def test_requests_of_an_nvme_drive_are_counted_on_its_paths(tree) -> None:
    files = {
        "proc/self/mountinfo": "22 1 259:2 / / rw - ext4 /dev/nvme1n1p2 rw\n",
        "sys/dev/block/259:2": "-> ../../devices/nvme-subsys1/nvme1n1/nvme1n1p2",
        "sys/devices/nvme-subsys1/nvme1n1/stat": "0 0 0 0 0 0 0 0 0 0 0\n",
        "sys/devices/nvme-subsys1/nvme1n1/nvme1n1p2/partition": "2",
        "sys/block/nvme1c0n1/stat": "120 5 4096 80 60 7 2048 90 0 1500 170\n",
        "sys/block/nvme1c1n1/stat": "20 0 8 0 0 0 0 0 0 100 0\n",
        "sys/block/nvme1c0n2/stat": "9 9 9 9 9 9 9 9 9 9 9\n",
    }
    assert read_of(tree(files)) == {
        "read_operations": 140,
        "read_bytes": 4104 * 512,
        "write_operations": 60,
        "write_bytes": 2048 * 512,
        "busy": pytest.approx(1.6),
    }


def test_a_busy_time_that_the_kernel_does_not_count_is_not_read(tree) -> None:
    """As of a software RAID before Linux 5.9."""
    files = {
        "proc/self/mountinfo": "22 1 9:0 / / rw - ext4 /dev/md0 rw\n",
        "sys/dev/block/9:0": "-> ../../devices/virtual/block/md0",
        "sys/devices/virtual/block/md0/stat": "1000 0 8000 0 10 0 80 0 0 0 0\n",
    }
    found = read_of(tree(files))
    assert "busy" not in found and found["read_operations"] == 1000


def test_on_this_machine_written_bytes_arrive_in_the_counters(tmp_path: Path) -> None:
    meter = DiskMeter()
    try:
        meter.open(MeteredProcess(1, tmp_path))
    except SuiteError as error:
        pytest.skip(str(error))
    before = {reading.channel: reading.value for reading in meter.read()}
    size = 4 * 2**20
    with (tmp_path / "block").open("wb") as stream:
        stream.write(os.urandom(size))
        os.fsync(stream.fileno())
    after = {reading.channel: reading.value for reading in meter.read()}
    assert after["write_bytes"] - before["write_bytes"] >= size
    assert after["write_operations"] > before["write_operations"]


READS, BLOCK_BYTES = 300, 4096
_ALIGNED = memoryview(mmap.mmap(-1, BLOCK_BYTES))  # direct reading wants whole, aligned blocks


@pytest.mark.proof
@pytest.mark.skipif(
    shutil.which("iostat") is None, reason="iostat is not installed (make prove calculations)"
)
def test_it_agrees_with_iostat_on_a_known_number_of_reads(
    tmp_path: Path, eventually: Callable[..., object]
) -> None:
    with own_disk(tmp_path) as folder:
        (folder / "data").write_bytes(os.urandom(READS * BLOCK_BYTES))
        os.sync()
        mount = mount_of(folder)
        assert mount is not None
        disk = disk_of(mount)
        assert disk is not None
        meter = DiskMeter()
        meter.open(MeteredProcess(1, folder))
        watched = subprocess.Popen(
            ["iostat", "-d", "-k", "-y", "-o", "JSON", disk.name, "2", "1"],
            stdout=subprocess.PIPE,
            text=True,
        )
        # it has read its first counts
        eventually(lambda: psutil.Process(watched.pid).status() == psutil.STATUS_SLEEPING)
        before = {reading.channel: reading.value for reading in meter.read()}
        handle = os.open(folder / "data", os.O_RDONLY | os.O_DIRECT)
        for block in range(READS):
            os.preadv(handle, [_ALIGNED], block * BLOCK_BYTES)
        os.close(handle)
        after = {reading.channel: reading.value for reading in meter.read()}
        (found,) = json.loads(watched.communicate(timeout=120)[0])["sysstat"]["hosts"][0][
            "statistics"
        ][0]["disk"]
    reads, size_bytes = (after[name] - before[name] for name in ("read_operations", "read_bytes"))
    assert (reads, size_bytes) == (READS, READS * BLOCK_BYTES)
    assert found["kB_read"] * 1024 == size_bytes
    # rates, over whatever time it really waited
    assert found["tps"] / found["kB_read/s"] * found["kB_read"] == pytest.approx(reads, rel=0.01)
