"""The page of changes names a result that was the fastest until then, and only such a one."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reporter.board.comparison import Comparable
from reporter.board.making import make_boards
from reporter.data.entry_scores import Status
from reporter.pages import changes
from reporter.pages.entry_lines import entry_lines
from suite.metrics.comparisons import run_statistics
from tests.reporter.gallery import make_template, many_entries


def a_line(name: str, day: int, *, confirmed: bool = True, section: str = "accepted") -> Any:
    """A result whose last run was on that day."""
    row = SimpleNamespace(entry_id=name, entry={"entry_id": name}, is_confirmed=confirmed)
    board = SimpleNamespace(frames=None, time=SimpleNamespace(figure="score_s"))
    dates = SimpleNamespace(last_ms=day)
    return SimpleNamespace(row=row, board=board, section=section, dates=dates)


def test_a_result_is_compared_with_the_fastest_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    middles_s = {"first": 100.0, "faster": 50.0, "slower": 80.0, "alike": 49.9, "two runs": 10.0}
    monkeypatch.setattr(
        changes,
        "comparables",
        lambda *_: {
            name: Comparable(name, run_statistics([0.99 * value, value, 1.01 * value]), None)
            for name, value in middles_s.items()
        },
    )
    lines = [
        a_line("alike", 5),
        a_line("slower", 4),
        a_line("faster", 2),
        a_line("first", 1),
        a_line("two runs", 3, confirmed=False),
        a_line("refused", 6, section="refused"),
    ]
    found = {one.line.row.entry_id: one.what for one in changes._changes(lines)}
    assert found == {
        "first": "the first",
        "faster": "2.00 times as fast as the earlier best",
        "two runs": "",
        "slower": "",
        "alike": "",
        "refused": "refused",
    }


def test_an_unranked_score_is_no_record(tmp_path: Path) -> None:
    """As of an entry of which a run missed the target."""
    frames = many_entries(make_template(tmp_path / "run"), 4)
    (board,) = make_boards(frames)
    fastest, *others = board.accepted
    missed = replace(fastest, scores=replace(fastest.scores, status=Status.UNRANKED))
    lines = entry_lines((replace(board, accepted=(*others, missed)),), frames)
    found = {one.line.row.entry_id: one.what for one in changes._changes(lines)}
    assert found[missed.entry_id] == "" and "the first" in found.values()


def test_a_faster_result_on_another_accelerator_is_the_best_that_later_ones_must_beat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its ratio would say nothing of the two frameworks, so none is claimed."""
    trained = {
        "processor": (100.0, ("orin", "chainer", "cpu")),
        "alike": (99.9, ("orin", "tensorflow", "cuda")),
        "graphics": (10.0, ("orin", "pytorch", "cuda")),
        "between": (50.0, ("orin-nano", "pytorch", "cuda")),
        "fastest": (5.0, ("agx-thor", "pytorch", "cuda")),
    }
    monkeypatch.setattr(
        changes,
        "comparables",
        lambda *_: {
            name: Comparable(
                name,
                run_statistics([0.99 * middle_s, middle_s, 1.01 * middle_s]),
                None,
                None,
                where,
            )
            for name, (middle_s, where) in trained.items()
        },
    )
    lines = [a_line(name, day) for day, name in enumerate(trained)]
    assert {one.line.row.entry_id: one.what for one in changes._changes(lines)} == {
        "processor": "the first",
        "alike": "",
        "graphics": "faster than the earlier best, which is on another accelerator",
        "between": "",
        "fastest": "2.00 times as fast as the earlier best",
    }
