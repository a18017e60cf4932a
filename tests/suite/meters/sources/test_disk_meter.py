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
