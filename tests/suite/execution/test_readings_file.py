import resource
import subprocess
import sys
from pathlib import Path

from suite.bundle.frames import read_raw_readings
from suite.execution.readings_file import ReadingsFile
from suite.meters.meter import Reading

AWKWARD = Reading(3, "power", 'CPU, "big" cores', 0.1 + 0.2, "W")


def opened(path: Path) -> ReadingsFile:
    file = ReadingsFile(path)
    file.open()
    return file


def test_readings_read_back_exactly(tmp_path: Path) -> None:
    file = opened(tmp_path / "readings.csv")
    file.add([Reading(1, "cpu", "total", 1 / 3, "%"), AWKWARD])
    file.close()
    table = read_raw_readings(tmp_path / "readings.csv")
    assert table.to_dict("records")[1] == {
        "t_ns": 3,
        "source": "power",
        "channel": 'CPU, "big" cores',
        "value": 0.1 + 0.2,
        "unit": "W",
    }
    assert table["value"][0] == 1 / 3
    assert (file.written, file.failure) == (2, None)


def test_a_flush_writes_complete_lines(tmp_path: Path) -> None:
    file = opened(tmp_path / "readings.csv")
    file.add([AWKWARD])
    assert (tmp_path / "readings.csv").read_text() == "t_ns,source,channel,value,unit\n"
    file.flush()
    assert len(read_raw_readings(tmp_path / "readings.csv")) == 1


def test_a_folder_that_is_gone_is_a_failure_not_an_exception(tmp_path: Path) -> None:
    file = opened(tmp_path / "gone" / "readings.csv")
    file.add([AWKWARD])
    file.close()
    assert file.written == 0
    assert "No such file" in (file.failure or "")


def test_a_full_disk_ends_the_writing_with_an_error_message(tmp_path: Path) -> None:
    # the kernel answers every write with ENOSPC
    (tmp_path / "readings.csv").symlink_to("/dev/full")
    file = opened(tmp_path / "readings.csv")
    file.add([AWKWARD])
    file.close()
    assert "No space left on device" in (file.failure or "")
    assert file.written == 0


def test_a_disk_that_fills_up_leaves_complete_lines_only(tmp_path: Path) -> None:
    """The kernel stops the file at 1000 bytes, in the middle of a line, and takes a part of that
    write."""
    program = f"""
from pathlib import Path
from suite.meters.meter import Reading
from suite.execution.readings_file import ReadingsFile
file = ReadingsFile(Path({str(tmp_path / "readings.csv")!r}))
file.open()
for t_ns in range(100):
    file.add([Reading(t_ns, "cpu", "total", 50.0, "%")])
    file.flush()
file.close()
print(file.written, file.failure)
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    written, _, failure = run.stdout.partition(" ")
    content = (tmp_path / "readings.csv").read_text()
    assert "File too large" in failure, run.stderr
    assert content.endswith("%\n")
    assert content.count("\n") == int(written) + 1
    assert 0 < 1000 - len(content) < 40
