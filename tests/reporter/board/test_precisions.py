"""Entries of the closed division are compared within one precision, each on a board of its own; the
open division shows it as a column."""

import shutil
from pathlib import Path

import pytest

import reporter
from reference_impls.contract import BF16_MIXED, FLOAT32, PRECISIONS
from reporter.board.boards import Leaderboard
from reporter.board.comparison import compare_entries
from reporter.board.making import make_boards
from reporter.pages.shared import board_title
from tests.faults.edits.editable_bundle import EditableBundle
from tests.open_round import SLUG

BITS = {FLOAT32: (23, False), "tf32": (10, False), BF16_MIXED: (7, False), "fp16-mixed": (10, True)}


def in_precision(bundle: Path, place: Path, precision: str, log: bool = True) -> None:
    """The run as one of another precision; without ``log`` its log still says float32."""
    edited = EditableBundle(Path(shutil.copytree(bundle, place)))
    edited.run["run_id"] += precision
    edited.run["command"] = [*edited.run["command"], "--precision", precision]
    edited.request["precision"] = precision
    if log:
        bits, overflows = BITS[precision]
        edited.event("precision")["value"] = precision
        edited.event("arithmetic")["value"] = {
            "product_bits": bits,
            "convolution_bits": bits,
            "overflows": overflows,
            "settings": {},
        }
    edited.save(recomputed=True)


@pytest.fixture
def boards(runs: Path, tmp_path: Path) -> list[Leaderboard]:
    """A closed run in every precision."""
    for precision in PRECISIONS:
        in_precision(runs / "lenet-pytorch-1", tmp_path / precision, precision)
    return make_boards(reporter.load([tmp_path]))


def test_every_precision_has_a_board_with_ranks_of_its_own_the_strict_one_first(
    boards: list[Leaderboard],
) -> None:
    assert [board.precision for board in boards] == [FLOAT32, BF16_MIXED, "fp16-mixed", "tf32"]
    assert [len(board.accepted) for board in boards] == [1, 1, 1, 1]
    assert len({board.slug for board in boards}) == 4 and boards[0].slug.endswith(SLUG)
    assert [board_title(board).partition(",")[0] for board in boards[:2]] == [
        "LeNet-5 on MNIST",
        "LeNet-5 on MNIST in bf16-mixed",
    ]


def test_a_precision_is_part_of_an_entry_and_float32_is_as_before_there_were_others(
    boards: list[Leaderboard], runs: Path
) -> None:
    entries = [row.entry["entry_id"] for board in boards for row in board.accepted]
    (as_before,) = make_boards(reporter.load([runs / "lenet-pytorch-1"]))
    assert len(set(entries)) == 4
    assert entries[0] == as_before.accepted[0].entry["entry_id"]


def test_no_pair_is_of_two_precisions(runs: Path, tmp_path: Path) -> None:
    in_precision(runs / "lenet-pytorch-1", tmp_path / "run", BF16_MIXED)
    strict = [runs / "lenet-pytorch-1", runs / "lenet-chainer-1"]
    (pair,) = compare_entries(reporter.load([*strict, tmp_path]), "time_to_epoch_s")
    assert {name.partition(" · ")[0] for name in (pair.entry, pair.base)} == {"PyTorch", "Chainer"}
    assert BF16_MIXED not in pair.entry + pair.base


def test_a_log_that_says_another_precision_than_the_request_is_refused(
    runs: Path, tmp_path: Path
) -> None:
    in_precision(runs / "lenet-pytorch-1", tmp_path / "run", BF16_MIXED, log=False)
    frames = reporter.load([tmp_path])
    (board,) = make_boards(frames)
    assert not board.accepted and len(board.refused) == 1
    (verdict,) = frames.verdicts.values()
    assert {"closed-trained", "arithmetic-as-requested"} <= {
        finding.check for finding in verdict.findings
    }
