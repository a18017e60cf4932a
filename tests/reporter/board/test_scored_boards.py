"""Boards by score: the reference runs, what other entries may change, and the data for any pair."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reporter
from reporter.board.best_settings import best_settings
from reporter.board.boards import Leaderboard
from reporter.board.comparison import comparables, compare_entries, compare_pair
from reporter.board.dot_chart import time_chart
from reporter.board.making import make_boards
from reporter.data import scores
from reporter.data.entry_scores import Status
from reporter.data.frames import Frames, rows_of
from reporter.pages.board_view import board_view
from reporter.pages.comparison import framework_comparisons
from reporter.pages.comparison_data import comparison_files
from reporter.pages.headlines import device_headline, headline
from reporter.pages.leaderboard import why_other_round
from suite.catalog.scoring import load_scoring
from suite.compliance.rules import short_entries
from suite.files.paths import repository_root
from suite.metrics.comparisons import OTHER_ACCELERATORS, Ratio
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.log_edits import set_everywhere


@pytest.fixture(scope="module")
def reference_runs() -> Frames:
    return reporter.load([repository_root() / "submissions" / "v0.1"])


@pytest.fixture(scope="module")
def newer_runs() -> Frames:
    return reporter.load([repository_root() / "submissions" / "v0.2"])


def verdicts(frames: Frames, figure: str = "score_s") -> dict[frozenset[str], bool | None]:
    return {
        frozenset((pair.entry.split(" · ")[0], pair.base.split(" · ")[0])): pair.differs
        for pair in compare_entries(frames, figure)
    }


def test_the_reference_runs_of_chainer_are_told_apart_and_the_two_others_are_not(
    reference_runs: Frames,
) -> None:
    assert verdicts(reference_runs) == {
        frozenset(("TensorFlow", "Chainer")): True,
        frozenset(("PyTorch", "Chainer")): True,
        frozenset(("TensorFlow", "PyTorch")): False,
    }
    pair = next(
        pair
        for pair in compare_entries(reference_runs, "score_s")
        if "Chainer" not in pair.entry + pair.base
    )
    assert (
        pair.ratio == pytest.approx(1.006, abs=0.001)
        and pair.low == pytest.approx(0.589, abs=0.001)
        and pair.high == pytest.approx(1.718, abs=0.001)
    )
    (board,) = make_boards(reference_runs)
    assert [(row.entry["framework"], row.rank.words, row.rank.alike) for row in board.accepted] == [
        ("tensorflow", "1st, not distinguishable from 1 other", 1),
        ("pytorch", "2nd, not distinguishable from 1 other", 1),
        ("chainer", "3rd", 0),
    ]


def test_at_its_own_epochs_a_run_has_its_measured_time(reference_runs: Frames) -> None:
    """TensorFlow's runs all needed five epochs: what they are made of adds up to what was
    measured."""
    wide = reference_runs.figures.pivot(index="run_id", columns="figure", values="value")
    for _, run in wide.iterrows():
        epochs = run["epochs_to_target"]
        assert run["first_epoch_s"] + (epochs - 1) * run["time_to_epoch_s"] + epochs * run[
            "evaluation_s"
        ] == pytest.approx(run["time_to_target_s"])


def test_another_entry_changes_no_score_and_no_pair(runs: Path, tmp_path: Path) -> None:
    before = reporter.load([runs])
    for seed in (1, 2, 3, 4):
        scenario = Scenario(
            name=f"noisy-{seed}",
            seed=seed,
            organization="rival",
            step_s=0.00055 * seed,
            learning_rate=0.01,
            later_s=90_000 + 900 * seed,
        )
        make_bundle(tmp_path / str(seed), scenario)
    after = reporter.load([runs, tmp_path])
    assert len(after.scores) == len(before.scores) + 1
    assert {name: after.scores[name] for name in before.scores} == before.scores
    first, second = (
        {
            (pair.ratio, pair.low, pair.high, pair.differs)
            for pair in compare_entries(each, "score_s")
            if pair.ratio
        }
        for each in (before, after)
    )
    assert len(first) == 3 and len(second) == 6 and first <= second


def test_one_or_two_runs_stand_behind_all_confirmed_entries(runs: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        make_bundle(
            tmp_path / str(seed),
            Scenario(
                name=f"few-{seed}",
                seed=seed,
                organization="few",
                step_s=0.001,
                learning_rate=0.01,
                later_s=900 * seed,
            ),
        )
    board = board_of(reporter.load([runs, tmp_path]))
    assert [row.entry["organization"] for row in board.accepted] == [*["none"] * 3, "few"], (
        "it is faster than Chainer, and stands behind all confirmed entries"
    )
    row = board.accepted[3]
    assert row.rank.text == ""
    assert row.rank.words == "the entry has 2 of the 3 runs needed for a rank"
    assert not row.is_confirmed and [row.rank.place for row in board.ranked] == [1, 2, 3]


def board_of(frames: Frames) -> Leaderboard:
    return next(board for board in make_boards(frames) if board.division == "closed")


def files(board: Leaderboard) -> dict[str, Any]:
    return {
        page.place.rpartition("-")[2]: json.loads(page.content) for page in comparison_files(board)
    }


def by_method(
    one: Mapping[str, Any], other: Mapping[str, Any], t: Mapping[str, Mapping[str, float]]
) -> tuple[float, float]:
    """The ends of a ratio by what the file's ``method`` says."""
    d = one["log_mean"] - other["log_mean"]
    w, f = (
        sum(each["log_variance"] / each["runs"] for each in (one, other)),
        sum(each["fixed_variance"] for each in (one, other)),
    )
    n = 2 * (min(one["runs"], other["runs"]) - 1)
    r = d - one["epochs_excess"] + other["epochs_excess"]
    g = str(min(math.floor((w + f) ** 2 / (w**2 / n)), len(t["reference"])))
    low, high = (
        r - t["reference"][g] * math.sqrt(w + f),
        r + t["reference"][g] * math.sqrt(w + f),
    )
    e = one["epochs_variance"] + other["epochs_variance"]
    if one["epochs_excess"] or other["epochs_excess"]:
        scatter = w**2 / n + sum(
            each["epochs_variance"] ** 2 / each["epochs_freedom"]
            for each in (one, other)
            if each["epochs_freedom"]
        )
        q = t["own"][str(math.floor((w + e) ** 2 / scatter))] * math.sqrt(w + e + f)
        low = d - q if other["epochs_excess"] else max(low, d - q)
        high = d + q if one["epochs_excess"] else min(high, d + q)
    return math.exp(low), math.exp(high)


@pytest.mark.proof
def test_the_statistics_in_the_file_give_every_pair_of_it(
    reference_runs: Frames, tmp_path: Path
) -> None:
    """One of the entries is at its own epochs."""
    for seed in range(1, 6):
        accuracies = (*(0.98,) * 9, 0.9905)
        scenario = Scenario(
            name=f"late-{seed}",
            seed=seed,
            accuracies=accuracies,
            batch_size=16,
            learning_rate=0.005,
            jitter=0.02,
            later_s=9000 * seed,
        )
        make_bundle(tmp_path / str(seed), scenario)
    for seed in (1, 2, 3):
        scenario = Scenario(
            name=f"usual-{seed}",
            framework="chainer",
            seed=seed,
            batch_size=16,
            learning_rate=0.005,
            jitter=0.02,
            later_s=90_000 + 9000 * seed,
        )
        make_bundle(tmp_path / f"usual-{seed}", scenario)
    for board in (*make_boards(reference_runs), board_of(reporter.load([tmp_path]))):
        content = files(board)["comparisons.json"]
        scores = content["scores"]["score_s"]
        entries = {each["entry_id"]: each for each in scores["entries"]}
        assert scores["pairs"]
        for pair in scores["pairs"]:
            assert by_method(
                entries[pair["entry"]], entries[pair["base"]], content["t"]
            ) == pytest.approx((pair["low"], pair["high"]), rel=1e-5)
    assert [each["own_epochs"] for each in entries.values()].count(True) == 1


def test_each_device_has_its_best_setting(runs: Path, reference_runs: Frames) -> None:
    (best,) = best_settings(*make_boards(reference_runs))
    assert (best.row.system, best.of, best.row.entry["framework"]) == ("AMD EPYC", 3, "tensorflow")
    board = board_of(reporter.load([runs]))
    found = {
        (best.score, best.instrument): best.row.entry["framework"] for best in best_settings(board)
    }
    assert found == {("score_s", ""): "pytorch", ("score_energy_j", "wall meter, wall"): "pytorch"}
    assert [row["score"] for row in files(board)["devices.json"]] == ["score_s", "score_energy_j"]


def test_pcs_with_one_processor_and_different_gpus_are_devices_named_as_on_the_board(
    reference_runs: Frames,
) -> None:
    entries = reference_runs.entries
    gpu = entries["framework"].map({"chainer": "NVIDIA GTX 1650"}).fillna("NVIDIA RTX 4090")
    (board,) = make_boards(
        replace(reference_runs, entries=entries.assign(gpu=gpu, accelerator="cuda"))
    )
    found = files(board)["devices.json"]
    assert [(each["system"], each["framework"], each["entries"]) for each in found] == [
        ("NVIDIA RTX 4090", "tensorflow", 2),
        ("NVIDIA GTX 1650", "chainer", 1),
    ]
    assert [row.name for row in time_chart(board).rows] == [each["system"] for each in found]


def test_unranked_entries_come_last_with_their_reason(runs: Path, tmp_path: Path) -> None:
    make_bundle(
        tmp_path / "one",
        Scenario(name="elsewhere", step_s=0.000025, learning_rate=0.03, organization="fast"),
    )
    board = board_of(reporter.load([runs, tmp_path]))
    last = board.accepted[-1]
    assert last.entry["organization"] == "fast"
    assert "has no reference point at batch size 32, rate 0.03" in last.rank.words
    assert board.why_no_ranks is None


def test_a_headline_names_the_quantity_of_its_number(tmp_path: Path) -> None:
    """One of three runs misses the target: what is known of all is the time of an epoch."""
    for seed in (1, 2, 3):
        accuracies = (0.98, 0.9905) if seed < 3 else (0.9,) * 10
        scenario = Scenario(
            name=f"run-{seed}", seed=seed, accuracies=accuracies, later_s=900 * seed
        )
        make_bundle(tmp_path / str(seed), replace(scenario, data="digits", division="open"))
    (board,) = make_boards(reporter.load([tmp_path]))
    assert board.time.figure == "time_to_epoch_s"
    found = headline(board)
    assert "trains an epoch of LeNet-5 on digits" in found.text
    assert found.lines[0].startswith("Time per epoch.") and "target" not in found.text


def test_a_board_of_the_open_division_is_of_measured_times(tmp_path: Path) -> None:
    """Also at a setting of the reference: without ranks no score would be in order."""
    for seed in (1, 2, 3):
        scenario = Scenario(name=f"run-{seed}", seed=seed, learning_rate=0.01, later_s=900 * seed)
        make_bundle(tmp_path / str(seed), replace(scenario, division="open"))
    (board,) = make_boards(reporter.load([tmp_path]))
    assert board.time.figure == "time_to_target_s" and board.in_order == board.accepted
    assert " s measured." in headline(board).text


def test_a_tie_is_said_and_so_is_what_another_round_set_otherwise(
    reference_runs: Frames, newer_runs: Frames
) -> None:
    (newer,) = make_boards(newer_runs)
    (older,) = make_boards(reference_runs)
    boards = (newer, older)
    for board in (newer, older):
        who, tie, said = headline(board).lines[0].partition(" are not distinguishable on AMD EPYC")
        assert tie and "PyTorch" in who and "TensorFlow" in who
        assert said.startswith(": each trains LeNet-5")
        assert "contains 1" in headline(board).lines[1]
        assert "too few sessions" in " ".join(headline(board).notes)
        first = who.partition(" and ")[0]
        assert f" epochs (measured, {first}: " in headline(board).lines[1]
        lowest, second, third = board.accepted
        vouched = (lowest, replace(second, provenance="reproduced by lab"), third)
        frames = board.frames.of_entries(board.frames.entries)
        told = " ".join(headline(replace(board, accepted=vouched, frames=frames)).lines)
        assert f"Self-reported and lower, not significantly faster: {lowest.system} with" in told
    assert why_other_round(newer, boards) == ""
    assert why_other_round(older, boards) == (
        "Not comparable with round v0.2: batch size 128 here, 16 there; learning rate 0.04 here,"
        " 0.005 there."
    )
    refused = replace(newer, accepted=(), refused=newer.accepted)
    assert why_other_round(older, (refused, older)) == "", "no setting to compare with"
    assert why_other_round(refused, (refused, older)) == ""
    assert why_other_round(replace(older, accepted=()), (newer, older)) == ""


def test_recorded_frameworks_stand_side_by_side(newer_runs: Frames) -> None:
    """On one page, with their counters where the machine has any: their codes differ, of course."""
    ((setting, frames),) = framework_comparisons(newer_runs)
    assert set(frames.entries["framework"]) == {"pytorch", "tensorflow", "chainer"}
    assert frames.entries["implementation"].nunique() == 3 and "implementation" not in setting


def test_frameworks_on_different_accelerators_of_a_device_have_no_ratio(
    reference_runs: Frames,
) -> None:
    """PyTorch on a Jetson's GPU beside TensorFlow's build for CPUs."""
    entries = reference_runs.entries
    where = entries["framework"].map({"pytorch": "cuda"}).fillna("cpu")
    (board,) = make_boards(replace(reference_runs, entries=entries.assign(accelerator=where)))
    rows = {row.name: row for row in time_chart(board, "framework").rows}
    assert rows["PyTorch"].verdicts["TensorFlow"] == OTHER_ACCELERATORS
    assert isinstance(rows["Chainer"].verdicts["TensorFlow"], Ratio)
    fastest = next(iter(rows.values()))
    assert all(
        not row.times
        for row in rows.values()
        if fastest.verdicts.get(row.name) == OTHER_ACCELERATORS
    )
    view = board_view(board, ("framework",))
    chart = next(chart for one in view.views for chart in one.charts)
    assert [view.ratio(chart, row) for row in chart.rows if fastest.name in row.apart] == [
        "not compared" for _ in fastest.apart
    ]
    assert view.ratio(chart, chart.rows[0]) == "lowest", "not all others have a ratio to it"
    assert "not distinguishable" not in headline(board).text
    assert "TensorFlow" not in headline(board).text


@pytest.mark.parametrize(("other", "is_one_machine"), [("Ryzen 9", True), ("Intel N150", False)])
def test_machines_without_a_profile_are_told_apart_by_their_processors(
    other: str, is_one_machine: bool, reference_runs: Frames
) -> None:
    """PyTorch on a PC's GPU beside TensorFlow on a processor: the same PC's, or another one's."""
    entries = reference_runs.entries
    on = {"pytorch": ("cuda", "Ryzen 9"), "tensorflow": ("cpu", other), "chainer": ("cpu", other)}
    accelerator, cpu_model = (
        entries["framework"].map({name: one[place] for name, one in on.items()}) for place in (0, 1)
    )
    changed = entries.assign(accelerator=accelerator, cpu_model=cpu_model, gpu="NVIDIA RTX 4090")
    found = comparables(replace(reference_runs, entries=changed), list(rows_of(changed)), "score_s")
    one_of = {each.trained_on[1]: each for each in found.values() if each.trained_on}
    verdict = compare_pair(one_of["pytorch"], one_of["tensorflow"])
    assert (verdict == OTHER_ACCELERATORS) is is_one_machine
    assert isinstance(verdict, Ratio) is not is_one_machine
    (board,) = make_boards(replace(reference_runs, entries=changed))
    rows = time_chart(board).rows
    others = [device_headline(board, frozenset({row.name})) for row in rows]
    told = " ".join(text for one in (headline(board), *others) for text in (one.text, *one.lines))
    assert len(rows) == 2 and (f" significant: {OTHER_ACCELERATORS}." in told) is is_one_machine
    assert ("fastest" in told or " times the time of " in told) is not is_one_machine


def test_a_short_entry_is_marked_with_its_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(load_scoring().short, min_whole_s=1.0)
    monkeypatch.setattr(scores, "why_other", lambda *_: None)
    monkeypatch.setattr(short_entries, "load_scoring", lambda: replace(load_scoring(), short=short))
    few = Scenario(name="few", accuracies=(0.9, 0.95, 0.96, 0.97), learning_rate=0.01)
    early = replace(few, name="early", accuracies=(0.9, 0.95, 0.992), framework="chainer")
    for scenario in (few, early):
        bundle = EditableBundle(make_bundle(tmp_path / scenario.name, scenario))
        set_everywhere("steps", 4 * 1875)(bundle)
        bundle.run["command"] = ["suite", "run", "--short", "4"]
        bundle.save(recomputed=True)
    make_bundle(tmp_path / "whole", replace(few, name="whole", accuracies=(0.9, 0.992)))
    (board,) = make_boards(reporter.load([tmp_path]))
    # The made bundles name this machine's processor; labels are looked up without it.
    rows = {
        " · ".join((framework, *settings)): row
        for row in board.accepted
        for framework, _, *settings in [row.label.split(" · ")]
    }
    whole, row = (rows[f"PyTorch · {x}"] for x in ("whole schedule", "limited to 4 epochs"))
    assert row.badges == ("4 of 10 epochs trained",)
    assert row.scores.status is Status.PROVISIONAL and row.scores.time is not None
    reached = rows["Chainer"]
    assert reached.badges == whole.badges == (), "the target ended its training, not the limit"
