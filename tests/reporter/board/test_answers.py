"""What a leaderboard answers first, and the matrix of devices by workloads."""

from dataclasses import replace

import pytest

from reporter.board.answers import Answer, answers
from reporter.board.bars import bar_scale
from reporter.board.boards import Board
from reporter.board.instruments import measured_by
from reporter.board.making import make_boards
from reporter.board.matrix import SHADES, matrices
from tests.reporter.gallery import make_template, many_entries


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Board]:
    frames = many_entries(
        make_template(tmp_path_factory.mktemp("bundle") / "run"), 34, ("lenet", "resnet18")
    )
    return {board.workload: board for board in make_boards(frames)}


def by_title(board: Board) -> dict[tuple[str, str], Answer]:
    return {(answer.title, answer.note): answer for answer in answers(board)}


def test_the_answers_are_the_best_of_each_kind(boards: dict[str, Board]) -> None:
    found = by_title(boards["lenet"])
    assert list(found) == [
        ("Fastest, self-reported", "of 34 entries"),
        ("Least energy, self-reported", "meter at the wall"),
        ("Least energy, self-reported", "on-board sensor of the module, indicative"),
        ("Least memory, self-reported", "peak, without a GPU's"),
        ("Fastest Raspberry Pi, self-reported", "one board"),
    ]
    for answer in found.values():
        values = [each.cell.value or 0.0 for each in answer.rows]
        assert values == sorted(values) and len(values) == 3
    assert [row.row.system for row in found["Fastest, self-reported", "of 34 entries"].rows] == [
        "Jetson AGX Thor",
        "Jetson AGX Thor",
        "Jetson AGX Orin",
    ]
    assert {
        row.row.system for row in found["Fastest Raspberry Pi, self-reported", "one board"].rows
    } == {
        "Raspberry Pi 5",
        "Raspberry Pi 4",
    }


def test_without_reference_points_the_answers_are_as_measured(boards: dict[str, Board]) -> None:
    board = boards["resnet18"]
    assert (
        board.time.figure == "time_to_target_s"
        and board.energy is not None
        and board.energy.figure == "energy_to_target_j"
    )
    answer = by_title(board)["Least energy, self-reported", "meter at the wall"]
    assert answer.sure == "95 % interval", "the error of the instrument and the scatter of the runs"
    assert not any(row.rank.best for group in measured_by(board) for row in group.rows)
    assert board.why_no_ranks is not None and "no reference point" in board.why_no_ranks


def test_an_energy_is_among_those_of_its_instrument(boards: dict[str, Board]) -> None:
    for board in boards.values():
        groups = measured_by(board)
        assert [group.title for group in groups] == [
            "meter at the wall",
            "meter at the board's input",
            "on-board sensor of the module",
            "estimate of one chip",
        ]
        for group in groups:
            assert {row.row.instrument for row in group.rows} == {group.instrument.place}
            longest = max(float(row.bar.end) for row in group.rows if row.bar)
            assert longest == pytest.approx(100, abs=5), (
                "bars of an instrument have a scale of their own"
            )
    assert [group.has_ranks for group in measured_by(boards["lenet"])] == [True, True, False, False]


def test_columns_that_are_empty_in_every_row_are_named_with_the_reason(
    boards: dict[str, Board],
) -> None:
    board = boards["lenet"]
    assert all(board.is_known(column.figure) for column in board.others)
    assert ("foreign_cpu_share", "3 of 3 runs: the meter load did not read busy") in [
        (column.figure, why) for column, why in board.unknown
    ]


def test_the_matrix_has_the_best_entry_of_each_device(boards: dict[str, Board]) -> None:
    found = {matrix.name: matrix for matrix in matrices(tuple(boards.values()))}
    time = found["time"]
    assert [device.system for device in time.devices][:2] == [
        "Jetson AGX Thor",
        "Jetson AGX Orin",
    ] and len(time.devices) == 11
    for place, (board, column) in enumerate(time.columns):
        for device in time.devices:
            best = device.best[place]
            same = [
                cell.value
                for row in board.in_order
                if row.system == device.system and (cell := row.cell(column.figure)) and cell.value
            ]
            assert best is not None and best.cell.value == min(same)
        shades = [device.best[place].shade for device in time.devices if device.best[place]]  # type: ignore[union-attr]
        assert min(shades) == 0 and max(shades) == SHADES - 1
    assert all("energy" in name or name in ("time", "memory") for name in found)


def test_bars_are_logarithmic_where_values_span_a_decade(boards: dict[str, Board]) -> None:
    cells = [row.cell("score_s") for row in boards["lenet"].accepted]
    whole, few = bar_scale(cells), bar_scale(cells[:3])
    assert whole.is_logarithmic and not few.is_logarithmic
    ends = [float(bar.end) for cell in cells if (bar := whole.bar(cell))]
    assert ends == sorted(ends) and 0 < ends[0] < 10 and 90 < ends[-1] <= 100
    assert (
        whole.bar(None) is None
        and bar_scale([]).bar(cells[0] and replace(cells[0], raw="")) is None
    )
