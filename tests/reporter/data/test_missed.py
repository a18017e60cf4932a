"""Entries with runs that missed their target: k of N, ranked only if planned with five runs of
which four reach it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import reporter
from reporter.board.boards import Leaderboard
from reporter.board.making import make_boards
from reporter.data.entries import make_entries, make_scores
from reporter.data.frames import Frames, Row, records, rows_of
from reporter.data.missed import is_short, reached_text, times_with_shares, why_unranked
from reporter.data.values import values_of_runs
from suite.bundle.reader import Bundle
from suite.metrics.summary import target_figures
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package_runs
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle

REACHED, MISSED = (0.97, 0.985, 0.9905), (0.97, *(0.985,) * 9)


def submit(folder: Path, reached: int, missed: int, planned: int | None = None) -> Frames:
    """The frames of a submission with one entry of these numbers of runs."""
    made = []
    for seed in range(1, reached + missed + 1):
        accuracies = REACHED if seed <= reached else MISSED
        scenario = Scenario(
            name=f"lenet-pytorch-{seed}",
            seed=seed,
            jitter=0.05,
            accuracies=accuracies,
            later_s=900 * seed,
            learning_rate=0.01,
        )
        made.append(make_bundle(folder / "made" / str(seed), scenario))
    offer = PackageRequest(
        "pies-ltd", None, SystemAvailability.PREVIEW, "", (), planned_runs=planned
    )
    package_runs(made, offer, folder / "tree")
    return reporter.load([folder / "tree"])


def board_of(frames: Frames) -> Leaderboard:
    (board,) = make_boards(frames)
    return board


def accepted(frames: Frames) -> Frames:
    """The frames with every entry accepted: a submission without a verdict on its model is
    refused."""
    entries, runs = (each.assign(state="accepted") for each in (frames.entries, frames.runs))
    tables = (entries, runs, frames.figures, frames.epochs)
    scores = make_scores(*(list(records(table)) for table in tables))
    return replace(frames, entries=entries, runs=runs, scores=scores)


@pytest.fixture(scope="module")
def four_of_five(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    return accepted(submit(tmp_path_factory.mktemp("five"), 4, 1))


def test_a_missed_target_is_kept_in_its_entry(four_of_five: Frames) -> None:
    (entry,) = four_of_five.entries.to_dict("records")
    assert (entry["runs"], entry["reached"], entry["planned_runs"], entry["launches"]) == (
        5,
        4,
        5,
        5,
    )
    assert sorted(four_of_five.runs["epochs"]) == [3, 3, 3, 3, 10]


def test_five_planned_runs_of_which_four_reach_the_target_are_ranked_by_their_expected_time(
    four_of_five: Frames,
) -> None:
    (row,) = board_of(four_of_five).accepted
    assert (row.rank.text, row.scores.status.value, row.reached) == (
        "1",
        "confirmed",
        "4 of 5 reached",
    )
    assert row.scores.epochs is not None and row.scores.epochs.own == (4 * 3 + 10) / 4
    expected_s = four_of_five.runs["trained_s"].sum() / 4
    figures = four_of_five.entry_figures.set_index("figure")
    assert figures.loc["time_to_target_s", "value"] == pytest.approx(expected_s)
    (times_s,) = values_of_runs(four_of_five, "time_to_target_s").values()
    assert len(times_s) == 4 and sum(times_s) / 4 == pytest.approx(expected_s)


def test_a_missed_target_of_three_runs_is_unranked_with_the_reason(tmp_path: Path) -> None:
    frames = accepted(submit(tmp_path, 2, 1))
    (row,) = board_of(frames).accepted
    assert (row.rank.text, row.reached) == ("", "2 of 3 reached")
    assert row.rank.reason == (
        "2 of 3 reached the target; a miss is allowed only if at least 5 runs are planned"
    )
    assert list(values_of_runs(frames, "time_to_target_s").values()) == [[]]
    reason = frames.entry_figures.set_index("figure").loc["time_to_target_s", "reason"]
    assert reason == "1 of 3 runs: the target was not reached"


def test_a_short_entry_has_no_times_of_the_runs_alone_that_were_lucky(
    four_of_five: Frames,
) -> None:
    short = replace(four_of_five, entries=four_of_five.entries.assign(short=4))
    assert list(values_of_runs(short, "time_to_target_s").values()) == [[]]


def entry(runs: int, reached: int | None, planned: int | None) -> Row:
    return {"runs": runs, "reached": reached, "planned_runs": planned, "short": 0}


@pytest.mark.parametrize(
    ("runs", "reached", "planned", "reason"),
    [
        (3, 3, 3, None),
        (3, 3, None, None),
        (3, None, 3, None),
        (5, 4, 5, None),
        (10, 8, 10, None),
        (5, 3, 5, "3 of 5 reached the target, less than 80%"),
        (
            5,
            4,
            None,
            "4 of 5 reached the target; a miss is allowed only if at least 5 runs are planned",
        ),
        (
            4,
            3,
            4,
            "3 of 4 reached the target; a miss is allowed only if at least 5 runs are planned",
        ),
        (10, 7, 10, "7 of 10 reached the target, less than 80%"),
        (6, 6, 5, "the entry has 6 runs instead of the 5 planned"),
        (4, 4, 5, "the entry has 4 runs instead of the 5 planned"),
    ],
)
def test_what_is_ranked(
    runs: int, reached: int | None, planned: int | None, reason: str | None
) -> None:
    assert why_unranked(entry(runs, reached, planned)) == reason


def test_the_text_is_empty_where_every_run_reached_the_target() -> None:
    assert [reached_text(entry(5, reached, 5)) for reached in (5, 4, None)] == [
        "",
        "4 of 5 reached",
        "",
    ]


def test_shares_of_missed_time_are_unknown_without_their_time() -> None:
    runs = [{"run_id": "a", "trained_s": 1.0}, {"run_id": "b", "trained_s": None}]
    assert times_with_shares(runs, {"a": 1.0}) is None
    assert times_with_shares(runs, {}) is None
    assert times_with_shares([runs[0], {"run_id": "b", "trained_s": 6.0}], {"a": 1.0}) == [7.0]
    trained_s = zip("abcde", (0.0, 10.0, 0.0, 5.0, 0.0), strict=True)
    runs = [{"run_id": name, "trained_s": time_s} for name, time_s in trained_s]
    assert times_with_shares(runs, {"e": 1.0, "a": 2.0, "c": 3.0}) == [7.0, 8.0, 6.0]


def test_a_short_entry_misses_no_target_and_is_whole_where_all_reached_it() -> None:
    short = {**entry(5, 3, 5), "short": 4}
    assert (reached_text(short), why_unranked(short)) == ("", None)
    found = [is_short({**short, **each}) for each in ({}, {"reached": 5}, {"short": 0})]
    assert found == [True, False, False]


def test_a_withdrawn_run_stays_on_the_page_and_leaves_its_entry_unranked(tmp_path: Path) -> None:
    submit(tmp_path, 4, 0)
    (run,) = (tmp_path / "tree").glob("*/*/*/*/run_2")
    (run / "WITHDRAWN").write_text("The fan failed.\n")
    frames = reporter.load([tmp_path / "tree"])
    assert sorted(map(str, frames.runs["withdrawn"])) == ["None", "None", "None", "The fan failed."]
    assert (
        why_unranked(frames.entries[frames.entries["state"] != "withdrawn"].to_dict("records")[0])
        == "the entry has 3 runs instead of the 4 planned"
    )


@pytest.mark.parametrize(
    ("launches", "is_accepted", "is_ranked"),
    [(10, False, True), (11, False, False), (11, True, True)],
)
def test_more_unfinished_launches_than_planned_runs_need_a_decision(
    four_of_five: Frames, launches: int, is_accepted: bool, is_ranked: bool
) -> None:
    entry = four_of_five.entries.iloc[0].to_dict()
    told = why_unranked({**entry, "launches": launches, "launches_accepted": is_accepted})
    assert told == (
        None
        if is_ranked
        else "6 launches did not finish, more than the 5 planned runs: a reviewer has to accept"
        " these launches"
    )


def test_launches_are_counted_as_unfinished_where_all_planned_runs_are_there() -> None:
    few = {**entry(3, 3, 5), "launches": 11, "launches_accepted": False}
    assert why_unranked(few) == "the entry has 3 runs instead of the 5 planned"


def test_two_boards_of_one_kind_are_one_entry_with_what_both_submissions_planned(
    tmp_path: Path,
) -> None:
    one = list(rows_of(submit(tmp_path, 3, 0).runs))
    other = [{**row, "path": row["path"].replace("pies-ltd", "pies-ltd.second")} for row in one]
    (entry,) = make_entries([*one, *other])
    assert (entry["runs"], entry["planned_runs"], entry["launches"]) == (6, 6, 6)
    assert entry["launches_accepted"] is False
    assert why_unranked(entry) is None


def test_launches_of_one_board_are_accepted_whatever_another_of_the_kind_had_to_ask_for(
    tmp_path: Path,
) -> None:
    """Nobody accepts launches of a submission where they are no more than its planned runs."""
    made = rows_of(submit(tmp_path, 3, 0).runs)
    one = [{**row, "launches": 11, "launches_accepted": True} for row in made]
    for launches, is_ranked in ((3, True), (6, True), (7, False)):
        changes = {"launches": launches, "launches_accepted": False}
        other = [
            {**row, **changes, "path": row["path"].replace("pies-ltd", "pies-ltd.second")}
            for row in one
        ]
        (entry,) = make_entries([*one, *other])
        assert (why_unranked(entry) is None) is is_ranked


def test_a_target_that_was_reached_at_an_unknown_moment_is_not_called_missed(
    tmp_path: Path,
) -> None:
    bundle = make_bundle(tmp_path / "run")
    log = bundle / "log.txt"
    lines = [
        re.sub(r'"mono_ns": \d+, ', "", line) if "eval_accuracy" in line else line
        for line in log.read_text().splitlines()
    ]
    log.write_text("\n".join(lines) + "\n")
    figure = target_figures(Bundle(bundle).log())["time_to_target_s"]
    assert figure.value is None
    assert figure.reason == "the target was reached, but the log does not say after which time"
    EditableBundle(bundle).save(recomputed=True)
    (run,) = reporter.load([bundle]).runs.to_dict("records")
    assert run["reached"], "counted as a run that reached it"
    runs = [
        {**run, "run_id": name, "trained_s": 6.0, "reached": reached}
        for name, reached in (("a", True), ("b", True), ("c", False))
    ]
    assert times_with_shares(runs, {"a": 1.0}) is None, "b has no time, and is not a missed one"
    assert times_with_shares(runs, {"a": 1.0, "b": 2.0}) == [4.0, 5.0]
