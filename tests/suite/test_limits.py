"""Limits of what is asked for and of hostile files: the last value that is taken and the first one
that is refused."""

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from suite.bundle.lifetime import read_lifetime
from suite.bundle.log import read_log
from suite.bundle.study_mark import read_mark
from suite.catalog.frameworks import load_framework
from suite.catalog.seeds import is_nonce, use_nonce
from suite.datasets.digest_lists import read_list
from suite.errors import SuiteError
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals
from suite.extensions.prediction.record.modes import Axis, grid
from suite.extensions.viewpoint.record.records import SETTING, read_setting
from suite.files.json_file import read_json, write_json
from suite.files.tree import paths_below, refuse_large
from suite.machine.clock_domains import core_numbers
from suite.machine.limits import cpu_quota, memory_limit, read_limit
from suite.machine.modes.available_modes import AvailableModes
from suite.machine.modes.requested_mode import RequestedMode, mode_steps
from suite.witness.statement import read_statement
from tests.extensions.viewpoint.good_folder import SETTING_VALUES

MIB = 2**20
Takes = Callable[[Any], object]
FAN = AvailableModes(fan_file="fan")
STATEMENT = (
    '{"witness": "w", "digest": "%s", "previous": "%s", "serial": 1,'
    ' "time": "2027-01-01T00:00:00.0Z"}'
)
# last value that is taken, first that is not, what takes it: None, False, an error is a refusal
VALUES: dict[str, tuple[Any, Any, Takes]] = {
    "length of a nonce": (200, 201, lambda n: is_nonce("n" * n)),
    "no nonce": (1, 0, lambda n: is_nonce("n" * n)),
    "number of a run": (9999, 10_000, lambda n: use_nonce("n", "r", n, load_framework("fake"), {})),
    "first number": (0, -1, lambda n: use_nonce("n", "r", n, load_framework("fake"), {})),
    "cores of a quota": (4096, 4096.1, cpu_quota),
    "least of a quota": (0.01, 0.0099, cpu_quota),
    "memory": (1e9, 1.001e9, memory_limit),
    "least memory": (4, 3.99, memory_limit),
    "number of a core": ("65536", "65537", core_numbers),
    "cores of a list": ("7,65530-65536", "7,65530-65537", core_numbers),
    "duty of a fan": ("255", "256", lambda duty: mode_steps(RequestedMode(fan=duty), FAN)),
    "images": (1_000_000, 1_000_001, lambda n: Arrivals(ArrivalKind.UNIFORM, n, 1)),
    "images of a long time": (1000.0, 1000.1, lambda s: Arrivals(ArrivalKind.UNIFORM, 1000, s)),
    "settings of a study": (64, 65, lambda n: mark(settings={str(i): "" for i in range(n)})),
    "title of a study": (200, 201, lambda n: mark(title="t" * n)),
    "idle windows": (100, 101, lambda n: read_lifetime(lifetime(idle_ns=[[1, 2]] * n))),
    "an idle window": (5, 4, lambda stop: read_lifetime(lifetime(idle_ns=[[5, stop]]))),
    "modes of a grid": (
        (1000, 1000), (1000, 1001),
        lambda sizes: grid([
            Axis(name, (*range(1, 1 + size),))
            for name, size in zip(("threads", "cpu_mhz"), sizes, strict=True)
        ]),
    ),
}  # fmt: skip
OF_VIEWPOINTS: dict[str, tuple[Any, Any]] = {
    "tracks": (100_000, 100_001), "frames": (100, 101), "sure": (0.999, 1.0), "epochs": (1, 0),
    "storage_bytes": (2**50 - 1, 2**50), "views_deg": ((75,) * 16, (75,) * 17), "seed": (0, -1),
    "foreign_cores": (1e9, math.inf),
}  # fmt: skip


def mark(**values: Any) -> object:
    return read_mark({"title": "t", "settings": {}, "warm_up_steps": 0, **values})


def lifetime(**values: Any) -> dict[str, Any]:
    return {"process_ns": 0, "begin_ns": 1, "idle_ns": [], "closed_ns": 9, **values}


def is_taken(takes: Takes, value: Any) -> bool:
    try:
        return takes(value) not in (None, False)
    except (SuiteError, ValueError):
        return False


@pytest.mark.parametrize("name", VALUES)
def test_the_last_value_is_taken_and_the_next_is_not(name: str) -> None:
    last, first_refused, takes = VALUES[name]
    assert is_taken(takes, last)
    assert not is_taken(takes, first_refused)


@pytest.mark.parametrize("name", OF_VIEWPOINTS)
def test_a_setting_of_viewpoints_has_limits(name: str, tmp_path: Path) -> None:
    def takes(value: Any) -> object:
        write_json(tmp_path / SETTING, asdict(replace(SETTING_VALUES, **{name: value})))
        return read_setting(tmp_path)

    last, first_refused = OF_VIEWPOINTS[name]
    assert is_taken(takes, last)
    assert not is_taken(takes, first_refused)


@pytest.mark.parametrize(
    ("limit", "read"), [(16 * MIB, read_json), (64 * MIB, read_list)], ids=["JSON", "a list"]
)
def test_a_larger_file_is_not_read(limit: int, read: Callable[[Path], Any], tmp_path: Path) -> None:
    """The file is sparse: what is read of it is no JSON, and no list."""
    path = tmp_path / "file"
    for size, is_larger in ((limit, False), (limit + 1, True)):
        with path.open("wb") as file:
            file.truncate(size)
        with pytest.raises(SuiteError) as refusal:
            read(path)
        assert ("larger than" in str(refusal.value)) is is_larger


def test_a_folder_has_limits(tmp_path: Path) -> None:
    """2 GiB in its files, and folders in 64 folders."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2 * 2**30)
    refuse_large(tmp_path)
    (tmp_path / "small").write_text("1")
    with pytest.raises(SuiteError, match="remove what does"):
        refuse_large(tmp_path)
    deep = tmp_path.joinpath(*"d" * 66)
    deep.mkdir(parents=True)
    assert max(len(path.relative_to(tmp_path).parts) for path in paths_below(tmp_path)) == 64


@pytest.mark.parametrize(("length", "problems"), [(MIB - 1, 0), (MIB, 1)])
def test_a_long_line_of_a_log_is_a_problem(length: int, problems: int, tmp_path: Path) -> None:
    """Of other output, which is none otherwise; the line's end is not counted."""
    (tmp_path / "log.txt").write_text("x" * length + "\nmore output\n")
    assert len(read_log(tmp_path / "log.txt").problems) == problems


@pytest.mark.parametrize("mb_s", [0.1, 100_000.0])
def test_a_limit_of_reads_is_in_a_range(mb_s: float, tmp_path: Path) -> None:
    """On a machine without disks it is refused for another reason."""
    beyond = mb_s * (0.99 if mb_s < 1 else 1.01)
    for each, is_range in ((mb_s, False), (beyond, True)):
        with pytest.raises(SuiteError) as refusal:
            read_limit(each, tmp_path, tmp_path)
        assert ("choose 0.1 to 100000" in str(refusal.value)) is is_range


def test_a_statement_has_at_most_2000_characters() -> None:
    short = STATEMENT % ("a" * 64, "b" * 64)
    for length, is_read in ((2000, True), (2001, False)):
        text = short + " " * (length - len(short))
        assert (read_statement(text) is not None) is is_read
