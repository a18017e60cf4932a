import os
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.measure.meter import Subject
from suite.measure.sources.disk import DiskMeter


def board(tree, mount: str) -> Path:
    """A machine whose root file system is this line of the mount table."""
    return tree(
        {
            "proc/self/mountinfo": mount,
            "sys/devices/mmc/mmcblk0/stat": "  120  5  4096  80  60  7  2048  90  0  1500  170  0 0 0 0\n",
            "sys/devices/mmc/mmcblk0/mmcblk0p2/partition": "2",
            "sys/dev/block/179:2": "-> ../../devices/mmc/mmcblk0/mmcblk0p2",
            "sys/block/mmcblk0": "-> ../devices/mmc/mmcblk0",
        }
    )


def test_counters_are_those_of_the_whole_disk_that_holds_the_data(tree) -> None:
    meter = DiskMeter(board(tree, "22 1 179:2 / / rw - ext4 /dev/mmcblk0p2 rw\n"))
    assert meter.availability().available
    meter.open(Subject(1, Path("/data")))
    assert {(reading.channel, reading.value, reading.unit) for reading in meter.read()} == {
        ("read_operations", 120, "operations"),
        ("read_bytes", 4096 * 512, "B"),
        ("write_operations", 60, "operations"),
        ("write_bytes", 2048 * 512, "B"),
        ("busy", 1.5, "s"),
    }


def test_data_on_no_disk_is_an_error_that_names_where_they_lie(tree) -> None:
    meter = DiskMeter(board(tree, "22 1 0:40 / / rw - nfs4 server:/export rw\n"))
    with pytest.raises(SuiteError, match=r"nfs4 \(server:/export\)"):
        meter.open(Subject(1, Path("/data")))


def test_on_this_machine_written_bytes_arrive_in_the_counters(tmp_path: Path) -> None:
    meter = DiskMeter()
    try:
        meter.open(Subject(1, tmp_path))
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
