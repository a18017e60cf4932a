"""The contract of meters on the bring-up files of boards: any file that is put into ``bringups/``
is tested by being there.

A file is untrusted: it is read with bounds, and nothing in it is executed
(suite.extensions.bringup.record).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.extensions.bringup.measuring.trials import FROM_FILES, try_meter
from suite.extensions.bringup.record import SUFFIX, BringUp, MeterTrial, load_bringup, plant
from suite.machine.identify import identify
from suite.meters.registry import meter_classes, open_meters

FOLDER = Path(__file__).parent / "bringups"
FILES = sorted(FOLDER.glob(f"*{SUFFIX}"))
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(SUFFIX))
GAUGES = ("W", "degC", "Hz", "%", "V", "A")
"""Units of values that come back to where they were; counters only grow."""


@pytest.fixture
def board(path: Path, tmp_path: Path) -> Iterator[tuple[BringUp, Path]]:
    found = load_bringup(path)
    yield found, plant(found, tmp_path)


def test_there_is_a_file() -> None:
    assert FILES, f"{FOLDER} holds no bring-up: `make prove box` makes one of an emulated board"


def test_the_meters_that_are_replayed_exist() -> None:
    assert set(FROM_FILES) <= {make.name for make in meter_classes()}


@every_file
def test_an_emulated_board_is_called_so(path: Path) -> None:
    assert (load_bringup(path).emulator is not None) == path.name.startswith("emulated-")


@every_file
def test_the_board_is_recognised_again(board: tuple[BringUp, Path]) -> None:
    found, root = board
    assert identify(root).device.name == found.device


@every_file
def test_every_meter_reads_from_the_file_what_it_read_on_the_board(
    board: tuple[BringUp, Path],
) -> None:
    found, root = board
    meters = {meter.name: meter for meter in open_meters(root)}
    trials = [trial for trial in found.meters if trial.name in FROM_FILES and trial.available]
    assert trials, "no meter of this board reads files"
    for trial in trials:
        again = try_meter(meters[trial.name])
        assert again.available, f"{trial.name}: {again.reason}"
        assert {one.channel: one.unit for one in again.readings} == {
            one.channel: one.unit for one in trial.readings
        }, trial.name
        assert out_of_range(found, again) == [], trial.name


def out_of_range(found: BringUp, again: MeterTrial) -> list[str]:
    """Gauges that are not within half the lowest and twice the highest value of the staircase."""
    ranges = {(one.source, one.channel): one for one in found.ranges if one.unit in GAUGES}
    problems = []
    for one in again.readings:
        known = ranges.get((again.name, one.channel))
        if (
            known is not None
            and not min(known.lowest / 2, 2 * known.lowest) - 1
            <= one.value
            <= max(known.highest / 2, 2 * known.highest) + 1
        ):
            problems.append(
                f"{one.channel} is {one.value:g} {one.unit}; on the board it was {known.lowest:g}"
                f" to {known.highest:g}"
            )
    return problems
