"""What fits a limit of power: measured power modes, and predicted ones that are marked as such."""

from pathlib import Path

import pytest

import reporter
from reporter.board.boards import Leaderboard
from reporter.board.making import make_boards
from reporter.site import build_site
from suite.extensions.prediction.page import MIN_MODES, PredictedModes, predicted_modes
from tests.builders import Scenario, make_bundle
from tests.reporter.papers.conftest import MODES, edit_system, in_mode


def make_modes(folder: Path, names: list[str], threads: int = 2) -> Path:
    for number, name in enumerate(names):
        cores, cpu, gpu, memory, power_w = MODES[name]
        step_s = 2 / threads * (0.02 + 60.0 / (cores**0.4 * cpu) + 10.0 / gpu)
        scenario = Scenario(
            name=f"{name}-{threads}",
            batch_size=2048,
            division="open",
            accuracies=(0.6, 0.9, 0.991),
            step_s=step_s,
            power_w=power_w,
            later_s=1000 * number,
            threads=threads,
        )
        make_bundle(folder / name, scenario)
        edit_system(folder / name, in_mode(name, cores, cpu, gpu, memory))
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run in each of eight power modes; tests must not change it."""
    return make_modes(tmp_path_factory.mktemp("modes"), list(MODES))


@pytest.fixture(scope="module")
def board(runs: Path) -> Leaderboard:
    (board,) = make_boards(reporter.load([runs]))
    return board


@pytest.fixture(scope="module")
def found(board: Leaderboard) -> PredictedModes:
    (found,) = predicted_modes(board)
    return found


def test_every_combination_of_measured_cores_and_clocks_is_predicted(found: PredictedModes) -> None:
    cores, cpu, gpu, memory = (len({mode[place] for mode in MODES.values()}) for place in range(4))
    assert (found.measured, found.modes) == (len(MODES), cores * cpu * gpu * memory - len(MODES))


def test_the_measured_mode_of_a_limit_is_the_fastest_within_it(found: PredictedModes) -> None:
    limits = {each.limit: each for each in found.fitting}
    assert limits["5 W"].measured is not None and "MODE_15W" in limits["5 W"].measured.setting
    assert limits["10 W"].measured is not None and "MAXN" in limits["10 W"].measured.setting


def test_a_predicted_mode_is_faster_than_the_measured_one_and_has_intervals(
    found: PredictedModes,
) -> None:
    predicted = [each.predicted for each in found.fitting if each.predicted is not None]
    assert predicted
    for one in predicted:
        assert " to " in one.time_around and " to " in one.power_around and "cores" in one.mode


def test_the_fastest_entry_of_a_mode_is_its_measurement(
    runs: Path, found: PredictedModes, tmp_path: Path
) -> None:
    (board,) = make_boards(reporter.load([runs, make_modes(tmp_path, list(MODES)[:2], threads=1)]))
    (again,) = predicted_modes(board)
    assert (again.measured, again.modes) == (found.measured, found.modes)
    assert [one.predicted for one in again.fitting] == [one.predicted for one in found.fitting]


def test_nothing_is_predicted_from_a_few_modes(tmp_path: Path) -> None:
    (board,) = make_boards(reporter.load([make_modes(tmp_path, list(MODES)[: MIN_MODES - 1])]))
    assert predicted_modes(board) == ()


def test_the_page_marks_predicted_modes_and_gives_them_no_row_among_entries(
    runs: Path, board: Leaderboard, tmp_path: Path
) -> None:
    page = (
        build_site([runs], tmp_path / "site").parent / "boards" / f"{board.slug}.html"
    ).read_text()
    entries, _, limits = page.partition('id="limits-of-power"')
    assert (
        '<span class="badge">predicted</span>' in limits
        and '<span class="badge">predicted</span>' not in entries
    )
    assert entries.count("<tr id=e-") == len(MODES)
