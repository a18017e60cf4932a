"""Boards of the open division say what was trained; other models, arithmetic and code are other
entries."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import reporter
from reporter.board.boards import Leaderboard
from reporter.board.making import make_boards
from suite.cli.app import app
from tests.faults.edits.editable_bundle import EditableBundle

SOFTMAX = {"model_trained": "softmax_regression", "parameters": 490, "precision": "float64"}


def board_with(folder: Path, bundle: Path, **changes: object) -> Leaderboard:
    """The board of an open run, and of a second one that logged other values."""
    for number in (1, 2):
        edited = EditableBundle(Path(shutil.copytree(bundle, folder / str(number))))
        edited.run["run_id"] = f"{edited.run['run_id'][:-1]}{number}"
        for key, value in changes.items() if number == 2 else ():
            edited.event(key)["value"] = value
        edited.save(recomputed=True)
    (board,) = make_boards(reporter.load([folder]))
    return board


def headings(board: Leaderboard) -> list[str]:
    return [facet.heading for facet in board.facets]


def test_a_softmax_regression_is_shown_for_what_it_is(runs: Path, tmp_path: Path) -> None:
    board = board_with(tmp_path, runs / "lenet-fake-digits", **SOFTMAX)
    rows = {str(row.entry["model_trained"]): row for row in board.accepted}
    assert set(rows) == {"lenet5", "softmax_regression"}
    assert {"model", "parameters", "precision"} <= set(headings(board))
    shown = dict(zip(headings(board), rows["softmax_regression"].facets, strict=True))
    assert (shown["model"], shown["parameters"], shown["precision"]) == (
        "softmax_regression",
        "490",
        "float64",
    )


def test_the_model_is_a_column_where_all_trained_the_same(runs: Path, tmp_path: Path) -> None:
    board = board_with(tmp_path, runs / "lenet-fake-digits")
    assert "model" in headings(board)
    assert ("optimizer", "sgd") in board.same


@pytest.mark.parametrize("key", ["model_trained", "optimizer_used", "precision"])
def test_each_of_them_separates_entries(key: str, runs: Path, tmp_path: Path) -> None:
    board = board_with(tmp_path, runs / "lenet-fake-digits", **{key: "another"})
    assert len({row.entry["entry_id"] for row in board.accepted}) == 2


def test_other_code_is_another_entry_of_a_closed_board(runs: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        edited = EditableBundle(
            Path(shutil.copytree(runs / f"lenet-pytorch-{number}", tmp_path / str(number)))
        )
        edited.run["implementation"]["sha256"] = str(number) * 64
        edited.save()
    (board,) = make_boards(reporter.load([tmp_path]))
    assert len(board.accepted) == 2
    assert "code" in headings(board)
    assert "model" not in {heading for heading, _ in board.same}


@pytest.mark.parametrize(
    ("title", "shown"),
    [("LeNet-5 in C, by hand", "LeNet-5 in C, by hand"), ("pytorch", "theirs"), (" ", "theirs")],
)
def test_an_implementation_outside_the_checkout_has_its_title(
    title: str, shown: str, runs: Path, tmp_path: Path
) -> None:
    """On a board, in labels and in `suite compare`; a framework's name is the framework's."""
    own = runs / "lenet-fake-digits"
    edited = EditableBundle(Path(shutil.copytree(own, tmp_path / "theirs")))
    edited.run["request"]["framework"] = edited.event("framework")["value"] = "theirs"
    edited.run["implementation"]["title"] = title
    edited.save()
    (board,) = make_boards(reporter.load([tmp_path]))
    (row,) = (*board.accepted, *board.refused)
    assert row.framework == shown and row.label.startswith(shown)
    answer = CliRunner().invoke(app, ["compare", str(tmp_path), str(own)])
    assert f"differs: framework: {shown} | " in answer.output
