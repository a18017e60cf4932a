"""Energies compare inside one kind of instrument and coverage only; the best instrument comes
first, estimates last."""

from dataclasses import replace
from pathlib import Path

import pytest

from reporter.board.comparison import compare_entries
from reporter.board.energies import EnergyTable, energy_tables, instrument_order
from reporter.data.entry_scores import EntryScores, Score, Status
from suite.catalog.scoring import load_scoring
from suite.metrics.comparisons import (
    ERROR_UNKNOWN,
    OTHER_INSTRUMENTS,
    run_statistics,
    score_interval,
)
from tests.reporter.gallery import make_template, many_entries

SCORING = load_scoring()


def entry(
    joules: float, tier: str, covers: str, status: Status = Status.CONFIRMED, runs: int = 3
) -> EntryScores:
    statistics = run_statistics(
        [joules * (1 + 0.01 * number) for number in range(runs)], SCORING.noise_floor**2
    )
    score = Score(
        score_interval(statistics, SCORING.level),
        {f"r{number}": joules for number in range(runs)},
        statistics,
    )
    return EntryScores(
        status,
        None if status is Status.CONFIRMED else "too few runs",
        None,
        None,
        score,
        score,
        {},
        (tier, covers),
    )


def tables(**entries: EntryScores) -> tuple[EnergyTable, ...]:
    return energy_tables(entries, SCORING)


def test_each_kind_has_a_table_and_the_best_instrument_is_first() -> None:
    found = tables(
        guess=entry(1, "estimate", "board"),
        rail=entry(2, "on-board sensor", "module"),
        plug=entry(3, "wall meter", "wall"),
        usb=entry(4, "wall meter", "board"),
        lab=entry(5, "analyser", "wall"),
        shunt=entry(6, "analyser", "chip"),
    )
    assert [table.title for table in found] == [
        "analyser, wall",
        "wall meter, wall",
        "wall meter, board",
        "analyser, chip",
        "on-board sensor, module",
        "estimate, board",
    ]


def test_ranks_are_within_one_table_and_need_a_calibrated_meter_of_the_whole() -> None:
    found = tables(
        a=entry(10, "wall meter", "wall"),
        b=entry(20, "wall meter", "wall"),
        contradicted=replace(entry(30, "wall meter", "wall"), contradicted_by="um25c"),
        c=entry(1, "on-board sensor", "board"),
        d=entry(1, "estimate", "chip"),
    )
    assert [(row.entry_id, row.rank.text) for table in found for row in table.rows] == [
        ("a", "1"),
        ("b", "2"),
        ("contradicted", ""),
        ("c", ""),
        ("d", ""),
    ]
    assert "um25c contradicts this sensor" in found[0].rows[2].rank.words
    assert "indicative" in found[1].rows[0].rank.words and "estimate" in found[2].rows[0].rank.words


def test_provisional_entries_stand_behind_ranked_ones() -> None:
    found = tables(
        a=entry(10, "wall meter", "wall"),
        few=entry(15, "wall meter", "wall", Status.PROVISIONAL, 2),
        b=entry(20, "wall meter", "wall"),
        short=entry(5, "wall meter", "wall", Status.SHORT),
    )
    assert [(row.entry_id, row.rank.words) for row in found[0].rows] == [
        ("short", "1st"),
        ("a", "2nd"),
        ("b", "3rd"),
        ("few", "too few runs"),
    ]


@pytest.mark.parametrize("status", [Status.CONFIRMED, Status.SHORT])
def test_an_energy_of_unknown_error_and_an_indicative_one_are_in_order_without_a_rank(
    status: Status,
) -> None:
    vague = entry(5, "wall meter", "wall", status)
    assert vague.energy is not None
    interval = replace(vague.energy.interval, low=None, high=None)
    found = tables(
        vague=replace(vague, energy=replace(vague.energy, interval=interval)),
        a=entry(20, "wall meter", "wall"),
        c=entry(3, "estimate", "board", status),
        d=entry(1, "estimate", "board"),
        e=entry(2, "estimate", "board"),
        none=replace(entry(1, "estimate", "board"), energy=None),
    )
    assert [(row.entry_id, row.rank.words) for row in found[0].rows] == [
        ("a", "1st"),
        ("vague", "the instrument's error is not known"),
    ]
    assert [row.entry_id for row in found[1].rows] == ["d", "e", "c"]


def test_an_unknown_instrument_is_placed_after_all() -> None:
    assert (
        instrument_order(("wall meter", "wall"), SCORING)
        < instrument_order(("estimate", "chip"), SCORING)
        < instrument_order((), SCORING)
    )


@pytest.mark.parametrize(
    "figure", ["energy_per_epoch_j", "energy_per_1000_samples_j", "mean_power_w"]
)
def test_an_energy_or_a_power_of_runs_compares_as_the_energy_of_a_training_does(
    figure: str, tmp_path: Path
) -> None:
    """Not with another instrument's, and not surely where its own one states no error."""
    frames = many_entries(make_template(tmp_path / "run"), 12)
    of_training = compare_entries(frames, "score_energy_j")
    found = compare_entries(frames, figure)
    assert OTHER_INSTRUMENTS in {pair.reason for pair in found}
    assert [pair.reason for pair in found] == [pair.reason for pair in of_training]
    unknown = [pair for pair in found if pair.reason == ERROR_UNKNOWN]
    assert unknown and {(pair.low, pair.high, pair.differs) for pair in unknown} == {(None,) * 3}
    assert all(pair.ratio is not None for pair in unknown)
    scores = {name: replace(one, instrument=None) for name, one in frames.scores.items()}
    mixed = compare_entries(replace(frames, scores=scores), figure)
    assert all("do not all come from one instrument" in str(pair.reason) for pair in mixed)
