"""Runs as entries: ids, means over runs, and the words that tell entries apart."""

from typing import Any

import pytest

from reporter.data.entries import (
    describe_property,
    entry_differences,
    entry_id,
    make_entries,
    make_entry_figures,
    make_labels,
    make_score_figures,
)
from reporter.data.entry_scores import MEASURED_J, SCORE_J, SCORE_S, EntryScores, Score, Status
from reporter.data.frames import ENTRIES, FIGURES, IDENTITY, RUNS, Row
from suite.bundle.layout import READINGS, STEPS
from suite.metrics.comparisons import Interval, run_statistics

RUN: Row = {
    **dict.fromkeys((*RUNS, *ENTRIES)),
    **{name: f"{name} 1" for name in IDENTITY},
    "entry_id": "e",
    "division": "closed",
    "precision": "float32",
    "normalisation": "local",
    "isolation": "none",
    "recomputation": "none",
    "accumulation": 1,
    "timing": "synchronised",
    "resumed": 0,
    "short": 0,
    "node_machines": "alike",
    "reached": True,
    "state": "accepted",
    "framework": "numpy",
    "implementation_name": "NumPy",
}


def run(**changes: Any) -> Row:
    return {**RUN, **changes}


def test_every_property_tells_entries_apart_but_what_was_trained_in_closed_ones() -> None:
    is_open = {"division": "open"}
    names = [*IDENTITY, "state"]
    alike = {name for name in names if entry_id(run(**{name: "other"})) == entry_id(RUN)}
    assert alike == {"model_trained", "parameters", "optimizer_used"}
    of_open = (entry_id(run(**{**is_open, name: "other"})) for name in names)
    assert entry_id(run(**is_open)) not in of_open


def test_seed_time_and_unknown_code_are_no_part_of_an_entry() -> None:
    assert entry_id(run(seed=2, started_time_ms=5)) == entry_id(RUN)
    assert entry_id(run(implementation=float("nan"))) == entry_id(run(implementation=None))
    points = [entry_id(run(settings=each)) for each in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {})]
    assert points[0] == points[1] != points[2] == entry_id(RUN)
    assert len({entry_id(run(resumed=2, short=0)), entry_id(run(resumed=0, short=2))}) == 2


def test_an_entry_counts_its_runs_and_has_what_all_of_them_share() -> None:
    members = [
        run(reached=True, board="a", nonce_kind="round", audited_by="x and y and z"),
        run(reached=False, board="b", nonce_kind="round", audited_by="z and y"),
        run(reached=True, board="a", nonce_kind="round", audited_by="z and w and y"),
    ]
    (entry,) = make_entries(members)
    assert [entry[name] for name in ("runs", "reached", "board", "nonce_kind", "audited_by")] == [
        3,
        2,
        None,
        "round",
        "y and z",
    ]
    (without,) = make_entries([run(reached=None), run(reached=None)])
    assert without["reached"] is None
    assert make_entries([*members, run(audited_by=None)])[0]["audited_by"] is None
    both = make_entries([run(entry_id="2", workload="b"), run(entry_id="1", workload="a")])
    assert [each["entry_id"] for each in both] == ["1", "2"]


def figure(run_id: str, value: float | None, name: str = "ipc", **other: Any) -> Row:
    return {**dict.fromkeys(FIGURES), "run_id": run_id, "figure": name, "value": value, **other}


def combined(*rows: Row) -> Row:
    runs = [run(run_id=row["run_id"], reached=True, trained_s=1.0) for row in rows]
    (found,) = make_entry_figures(runs, rows)
    return found


def test_a_figure_of_an_entry_is_the_mean_over_runs_with_their_sample_deviation() -> None:
    found = combined(
        figure("a", 2.0, tier="estimate", covers="chip"),
        figure("b", 9.0, tier="estimate", covers="module"),
        figure("c", 4.0, tier="estimate", covers="chip"),
    )
    names = ("value", "low", "high", "runs", "spread_over", "tier", "covers", "interval_low")
    assert [found.get(name) for name in names] == [5.0, 2.0, 9.0, 3, "runs", "estimate", None, None]
    assert found["spread"] == pytest.approx(13**0.5), "(9 + 16 + 1) / 2"


def test_a_figure_that_a_run_lacks_is_unknown_with_its_reason() -> None:
    found = combined(
        figure("a", 2.0), figure("b", None, reason="lost"), figure("c", None, reason="late")
    )
    assert [found[name] for name in ("value", "low", "spread", "runs", "reason")] == [
        *(None, None, None),
        1,
        "2 of 3 runs: lost",
    ]
    assert combined(figure("a", float("nan")))["reason"] == "no reason given"


@pytest.mark.parametrize(("spread", "over"), [(0.5, "the run's values"), (None, None)])
def test_a_single_run_has_the_spread_of_its_values(spread: float | None, over: str | None) -> None:
    found = combined(figure("a", 2.0, spread=spread))
    assert (found["spread"], found["spread_over"]) == (spread, over)


def test_a_time_to_target_has_an_interval_from_two_runs_on() -> None:
    two = combined(figure("a", 10.0, "time_to_target_s"), figure("b", 12.0, "time_to_target_s"))
    assert two["interval_low"] < 10 and two["interval_high"] > 12
    assert combined(figure("a", 10.0, "time_to_target_s")).get("interval_low") is None


def test_scores_become_figures_known_or_not() -> None:
    values = {"a": 8.0, "b": 2.0, "c": 5.0}
    score = Score(Interval(4.3, 3.0, 7.0), values, run_statistics(list(values.values())))
    missing = {SCORE_J: "no meter"}
    scores = {
        "e": EntryScores(Status.CONFIRMED, None, time=score, measured_energy=score, missing=missing)
    }
    time, energy, measured = make_score_figures(scores)
    names = ("figure", "value", "interval_low", "interval_high", "low", "high", "runs", "spread")
    assert [time[name] for name in names] == [SCORE_S, 4.3, 3.0, 7.0, 2.0, 8.0, 3, 3.0]
    assert (time["unit"], time["source"]) == ("s", STEPS)
    assert (energy["figure"], energy["runs"], energy["reason"]) == (SCORE_J, 0, "no meter")
    assert (measured["figure"], measured["unit"]) == (MEASURED_J, "J")
    assert measured["source"] == energy["source"] == READINGS


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("workers", 1, "1 worker"),
        ("workers", 0, "0 workers"),
        ("nodes", 2.0, "2 nodes"),
        ("batch_size", 128, "batch 128"),
        ("learning_rate", 0.005, "rate 0.005"),
        ("storage_medium", None, "storage medium unknown"),
        ("short", 0, "whole schedule"),
        ("short", 4, "limited to 4 epochs"),
        ("resumed", 0, "not resumed"),
        ("organization", "none", "no submission"),
        ("gpu", "Orin", "Orin"),
    ],
)
def test_a_property_is_said_in_words(name: str, value: object, words: str) -> None:
    assert describe_property(name, value) == words


def test_a_label_has_what_tells_entries_of_one_framework_and_machine_apart() -> None:
    entries = [
        run(entry_id="a", device="nano", batch_size=16, threads=4),
        run(entry_id="b", device="nano", batch_size=32, threads=4),
        run(entry_id="c", device="orin", batch_size=16, threads=2),
    ]
    labels = make_labels(entries)
    assert [labels[name].split(" · ")[0] for name in "abc"] == ["NumPy"] * 3
    assert [labels[name].split(" · ")[2:] for name in "abc"] == [["batch 16"], ["batch 32"], []]
    assert entry_differences(entries, ("threads",)) == {
        "a": (("device", "nano"), ("batch_size", 16)),
        "b": (("device", "nano"), ("batch_size", 32)),
        "c": (("device", "orin"), ("batch_size", 16)),
    }
