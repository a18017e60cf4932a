"""Runs to entries: what is one entry, its figures over its runs, and what sets it apart."""

import math
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
from reporter.data.entry_scores import EntryScores, Score, Status
from reporter.data.frames import FIGURES, RUNS, Row
from reporter.data.replications import ShownReplication
from reporter.data.shown_replications import provenance_of, replication_badges
from suite.metrics.comparisons import Interval, run_statistics

USUAL = {
    "normalisation": "local",
    "shares": "equal",
    "isolation": "none",
    "recomputation": "none",
    "accumulation": 1,
    "timing": "synchronised",
    "prefetch": 2,
    "resumed": 0,
    "short": 0,
    "node_machines": "alike",
}


def run(name: str = "r", **other: Any) -> Row:
    described = {
        "workload": "lenet",
        "division": "closed",
        "precision": "float32",
        "state": "accepted",
        "entry_id": "e",
        "device": "their-board",
        "framework": "acme",
        "implementation_name": "Acme",
    }
    return {**dict.fromkeys(RUNS), **USUAL, **described, "run_id": name, **other}


@pytest.mark.parametrize(
    "changes",
    [
        *({name: "another"} for name in (*USUAL, "precision", "implementation", "state")),
        *({name: "another"} for name in ("workload", "cpu_model", "power_mode", "round", "gpu")),
        {"settings": {"cores": "2"}},
        {"division": "open"},
        {"accumulation": 2},
        {"resumed": 2},
        {"short": 2},
    ],
    ids=str,
)
def test_runs_that_differ_in_a_setting_are_other_entries(changes: dict[str, Any]) -> None:
    assert entry_id(run(**changes)) != entry_id(run())


def test_seed_time_and_what_a_closed_run_logged_are_no_part_of_an_entry() -> None:
    own = run(seed=2, started_time_ms=9, boot="b", model_trained="x", parameters=1)
    assert entry_id(own) == entry_id(run())
    shown = {entry_id(run(**{name: 2})) for name in ("accumulation", "resumed", "short")}
    assert len(shown) == 3, "each is written with its own words"
    of_open = {entry_id(run(division="open", **{name: "x"})) for name in ("precision", "framework")}
    assert len({entry_id(run(division="open")), *of_open}) == 3
    settings = [{"a": "1", "b": "2"}, {"b": "2", "a": "1"}, {"a": "2", "b": "1"}]
    assert len({entry_id(run(settings=each)) for each in settings}) == 2


def test_an_entry_has_what_all_its_runs_share() -> None:
    audits = ("x and y and z", "z and x", "x and z and w")
    runs = [
        run(str(number), reached=number != 1, board="b", witnessed_by=str(number), audited_by=audit)
        for number, audit in enumerate(audits)
    ]
    runs.insert(1, run("other", entry_id="f", workload="a", planned_runs=4))
    first, entry = make_entries(runs)
    assert (first["entry_id"], first["runs"], first["reached"]) == ("f", 1, None)
    assert first["planned_runs"] == 4, "sorted by workload; without a target, none reached it"
    assert (entry["runs"], entry["reached"]) == (3, 2)
    assert (entry["board"], entry["witnessed_by"]) == ("b", None)
    assert entry["audited_by"] == "x and z"
    (half,) = make_entries([run("a", audited_by="x"), run("b")])
    assert half["audited_by"] is None


def figure(name: str, value: float | None, run_id: str = "r", **other: Any) -> Row:
    told = {"figure": name, "value": value, "run_id": run_id, "unit": "s", "source": "log.txt"}
    return {**dict.fromkeys(FIGURES), **told, **other}


def figures_of(*rows: Row, **of_entry: Any) -> Row:
    """The figure of the entry whose runs have these rows."""
    runs = [run(row["run_id"], **of_entry) for row in rows]
    (found,) = make_entry_figures(runs, rows)
    return found


def test_a_figure_of_an_entry_is_the_mean_of_its_runs_with_its_spread_and_ends() -> None:
    rows = [
        figure("energy_j", value, str(value), tier="analyser", covers="wall", spread=9.0)
        for value in (2.0, 6.0, 1.0)
    ]
    found = figures_of(*rows)
    assert (found["value"], found["low"], found["high"], found["runs"]) == (3, 1, 6, 3)
    assert (found["spread"], found["spread_over"]) == (pytest.approx(math.sqrt(7)), "runs")
    assert (found["tier"], found["covers"]) == ("analyser", "wall")
    assert "interval_low" not in found
    alone = figures_of(rows[0])
    assert (alone["spread"], alone["spread_over"]) == (9.0, "the run's values")
    assert figures_of(figure("x_s", 1.0))["spread_over"] is None


@pytest.mark.parametrize(
    ("of_runs", "of_entry"),
    [((True, False), True), ((False, True), True), ((False, False), False), ((None, None), None)],
)
def test_an_energy_is_attached_where_that_of_any_run_is(
    of_runs: tuple[bool | None, ...], of_entry: bool | None
) -> None:
    rows = [
        figure("energy_j", 1.0, str(place), attached=attached)
        for place, attached in enumerate(of_runs)
    ]
    assert figures_of(*rows)["attached"] is of_entry


@pytest.mark.parametrize(
    "other", [("estimate", "wall"), ("wall meter", "chip"), ("wall meter", None), (None, None)]
)
def test_energies_of_different_instruments_have_no_mean(other: tuple[str | None, ...]) -> None:
    rows = [
        figure("energy_per_epoch_j", value, str(value), tier=tier, covers=covers)
        for value, (tier, covers) in ((300.0, ("wall meter", "wall")), (90.0, other))
    ]
    found = figures_of(*rows)
    assert (found["value"], found["low"], found["high"], found["runs"]) == (None, None, None, 2)
    assert found["reason"] == "the runs' energies come from different instruments"


def test_one_run_without_a_value_makes_it_unknown_with_that_run_s_reason() -> None:
    lacking = figure("x_s", math.nan, "b", reason="no sensor")
    found = figures_of(figure("x_s", 1.0, "a"), lacking, figure("x_s", None, "c"))
    assert (found["value"], found["runs"], found["low"]) == (None, 1, None)
    assert found["reason"] == "2 of 3 runs: no sensor"
    assert figures_of(lacking)["reason"] == figures_of(lacking, lacking)["reason"] == "no sensor"
    assert figures_of(figure("x_s", None))["reason"] == "no reason given"


def test_a_missed_target_s_time_is_shared_in_the_expected_time_to_target() -> None:
    """Four runs of 10, 20, 30 and 60 s reached the target; the fifth trained 40 s: 10 s each."""
    times_s = {"a": 30.0, "b": 10.0, "c": None, "d": 60.0, "e": 20.0}
    runs = [
        run(name, trained_s=40.0 if time_s is None else time_s, reached=time_s is not None)
        for name, time_s in times_s.items()
    ]
    rows = [figure("time_to_target_s", value, name) for name, value in times_s.items()]
    planned = [{**each, "planned_runs": 5} for each in runs]
    (found,) = make_entry_figures(planned, rows)
    assert (found["value"], found["runs"], found["low"], found["high"]) == (40, 4, 20, 70)
    assert found["interval_low"] < (20 * 30 * 40 * 70) ** 0.25 < found["interval_high"]
    (unplanned,) = make_entry_figures(runs, rows)
    assert (unplanned["value"], unplanned["runs"]) == (None, 4)


def test_each_score_is_a_row_with_its_ends_its_unit_and_its_source() -> None:
    def score(*values: float) -> Score:
        by_run = {str(place): value for place, value in enumerate(values)}
        return Score(Interval(4.0, 3.0, 6.0), by_run, run_statistics(values))

    why = {"energy_to_target_j": "no meter"}
    scored = EntryScores(
        Status.CONFIRMED, None, time=score(5.0, 2.0, 8.0), energy=score(7.0), missing=why
    )
    time, energy, measured = make_score_figures({"e": scored})
    assert (time["figure"], time["unit"], time["source"]) == ("score_s", "s", "steps.parquet")
    assert (time["value"], time["runs"], time["low"], time["high"]) == (4, 3, 2, 8)
    assert (time["interval_low"], time["interval_high"], time["spread"]) == (3, 6, 3)
    assert (energy["unit"], energy["source"]) == ("J", "readings.parquet")
    assert energy["value"] == 4 and "spread" not in energy, "of one run"
    assert (measured["reason"], measured["runs"]) == ("no meter", 0)


def test_a_label_has_what_differs_among_entries_of_one_framework_and_machine() -> None:
    rows = [
        run(entry_id=name, framework=framework, workers=workers, batch_size=8)
        for name, framework, workers in (("a", "acme", 1), ("b", "acme", 4), ("c", "other", 2))
    ]
    assert make_labels(rows) == {
        "a": "Acme · their-board · 1 worker",
        "b": "Acme · their-board · 4 workers",
        "c": "Acme · their-board",
    }
    found = entry_differences(rows, ["framework"])
    assert found["b"] == (("workers", 4),)
    assert list(dict(entry_differences(rows)["c"])) == ["framework", "workers"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("nodes", 1, "1 node"),
        ("ranks", 2, "2 ranks"),
        ("threads", 1, "1 thread"),
        ("workers", 0, "0 workers"),
        ("prefetch", 8, "prefetch 8"),
        ("batch_size", 128, "batch 128"),
        ("learning_rate", 0.05, "rate 0.05"),
        ("parameters", 11181642.0, "11181642 parameters"),
        ("resumed", 0, "not resumed"),
        ("resumed", 3, "resumed after epoch 3"),
        ("short", 0, "whole schedule"),
        ("short", 4, "limited to 4 epochs"),
        ("shares", "speed", "shares: speed"),
        ("accumulation", 2, "2 mini-batches an update"),
        ("storage_medium", None, "storage medium unknown"),
        ("storage_medium", math.nan, "storage medium unknown"),
        ("organization", "none", "no submission"),
        ("power_mode", "15W", "15W"),
    ],
)
def test_a_property_in_words(name: str, value: object, words: str) -> None:
    assert describe_property(name, value) == words


def replication(maker: str = "lab", **other: Any) -> ShownReplication:
    told = {name: None for name in ("file", "reason", "ratio", "low", "high", "runs")}
    words = dict.fromkeys(("losses", "accuracy", "times", "verdict"), "confirmed")
    flags = dict.fromkeys(("is_by_others", "is_signed", "is_of_all_runs"), True)
    values: Any = {**told, **words, **flags, **other}
    return ShownReplication(replication_id="0", organization=maker, **values)


@pytest.mark.parametrize(
    ("changes", "badges"),
    [
        ({}, ("functional", "reproduced", "1 replication")),
        ({"is_by_others": False}, ()),
        ({"is_signed": False}, ()),
        ({"is_of_all_runs": False}, ("functional", "1 replication")),
        ({"verdict": "undecided"}, ("functional", "1 replication")),
        ({"losses": "undecided", "verdict": "undecided"}, ("1 replication",)),
        ({"verdict": "refuted"}, ("functional", "1 replication", "refuted by 1 of them")),
    ],
)
def test_a_mark_needs_all_runs_made_again_by_others_signed_and_confirmed(
    changes: dict[str, Any], badges: tuple[str, ...]
) -> None:
    made = replication(**changes)
    assert replication_badges((made,), False) == badges
    assert made.earns_mark == ("reproduced" in badges)
    assert (provenance_of((made,), [], False) == "reproduced by lab") == made.earns_mark


def test_an_entry_is_reproduced_or_audited_by_all_who_did() -> None:
    several = (replication("z"), replication("project"), replication("b", is_signed=False))
    assert provenance_of(several, ["x"], True) == "reproduced by the project and z"
    assert provenance_of((), ["x"], True) == "audited by x"
    assert provenance_of((), ["x"], False) == "audited by x, time stated by the submitter"
    against = (replication(), replication(verdict="refuted", losses="refuted"))
    badges = ("available", "functional", "reproduced", "2 replications", "refuted by 1 of them")
    assert replication_badges(against, True) == badges
    refuted = replication(losses="undecided", verdict="refuted")
    own = replication(is_by_others=False)
    badges = ("available", "1 replication", "refuted by 1 of them")
    assert replication_badges((refuted, own), True) == badges
    partly = replication(verdict="undecided")
    badges = ("functional", "3 replications", "refuted by 2 of them")
    assert replication_badges((refuted, partly, refuted), False) == badges
    both = (replication("uni"), replication("project"), replication("uni"))
    assert provenance_of(both, ["x"], True) == "reproduced by the project and uni"
