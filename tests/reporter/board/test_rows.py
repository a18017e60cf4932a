"""Rows of a leaderboard: their badges, order and columns, and cells in a column's unit."""

from reporter.board.columns import FACETS, RUN_COLUMNS, SCORE_COLUMNS, make_cell
from reporter.board.making import _badges, _differing, _order
from reporter.board.ranking import Rank
from reporter.data.entry_scores import EntryScores, Status
from reporter.data.frames import Row
from suite.catalog.load_limits import MAX_FOREIGN_SHARE

ENTRY: Row = {
    **dict.fromkeys(("witnessed_by", "signed_by", "audited_in", "code_is_public")),
    **{"short": 0, "epoch_budget": 10, "reached": 3, "runs": 3},
}


def test_badges_need_a_value_above_their_limit() -> None:
    def badges(throttled: float, foreign: float | None) -> tuple[str, ...]:
        highs = {"throttled_events": throttled, "foreign_cpu_share": foreign}
        return _badges(ENTRY, {name: {"high": high} for name, high in highs.items()}, ())

    assert badges(0, MAX_FOREIGN_SHARE) == badges(0, None) == ()
    assert badges(1, MAX_FOREIGN_SHARE * 1.01) == ("throttled", "other programs ran")
    told = {"signed_by": "lab", "audited_in": "numpy, again", "short": 4, "reached": 1}
    found = _badges({**ENTRY, **told}, {"energy_per_epoch_j": {"attached": True}}, ())
    assert found[0] == "4 of 10 epochs trained" and found[-1] == "signed by lab"
    assert found[1].startswith("energy from a trace") and found[2].endswith(", again")


def test_rows_are_ordered_by_place_then_provisional_then_by_what_is_known_first() -> None:
    def scores(status: Status) -> EntryScores:
        return EntryScores(status, None)

    def values(**known: float) -> dict[str, Row]:
        return {name: {"value": value} for name, value in known.items()}

    orders = [
        _order(scores(Status.CONFIRMED), Rank(1, 0, None), values(score_s=9.0)),
        _order(scores(Status.CONFIRMED), Rank(2, 0, None), values(score_s=1.0)),
        _order(scores(Status.PROVISIONAL), None, values(score_s=2.0)),
        _order(scores(Status.UNRANKED), None, values(score_s=1.0, time_to_epoch_s=9.0)),
        _order(scores(Status.UNRANKED), None, values(time_to_target_s=5.0, time_to_epoch_s=2.0)),
        _order(scores(Status.UNRANKED), None, values(time_to_epoch_s=1.0)),
        _order(scores(Status.UNRANKED), None, values(score_s=float("nan"))),
    ]
    assert orders == sorted(orders) and len(set(orders)) == 7


def test_versions_matter_between_rows_of_one_framework_only() -> None:
    """A version that follows from the framework is shared; in the open division the model is
    always a column."""
    rows = [
        {facet.name: "same" for facet in FACETS}
        | {"framework": framework, "framework_version": version}
        for framework, version in (("a", "1"), ("b", "2"), ("a", "1"))
    ]
    differ, same = _differing(rows, False)
    assert {each.name for each in differ} == {"device", "framework"}
    assert ("version", "a 1, b 2") in same and "model" not in dict(same)
    later = [*rows, {**rows[0], "framework_version": "3"}]
    assert "framework_version" in {each.name for each in _differing(later, False)[0]}
    assert "model_trained" in {each.name for each in _differing(rows, True)[0]}


def figure(value: float | None, **other: object) -> Row:
    return {"value": value, "spread": None, "reason": None, **other}


def test_a_cell_scales_value_spread_and_interval_into_its_columns_unit() -> None:
    columns = {each.figure: each for each in (*SCORE_COLUMNS, *RUN_COLUMNS)}
    accuracy = make_cell(columns["best_accuracy"], figure(0.9912, spread=0.0025))
    assert (accuracy.text, accuracy.spread, accuracy.raw, accuracy.raw_spread) == (
        "99.12",
        "± 0.25",
        "99.12",
        "0.25",
    )
    assert (accuracy.quantity, accuracy.around, accuracy.value) == ("99.12 %", "± 0.25", 99.12)
    score = make_cell(
        columns["score_s"], figure(533.0, spread=9.0, interval_low=528.0, interval_high=538.0)
    )
    assert (score.spread, score.interval) == ("528 to 538", (528.0, 538.0))
    assert (score.quantity, score.around) == ("8.88 min", "8.80 to 8.97")
    memory = make_cell(columns["peak_memory_bytes"], figure(3 * 2.0**30))
    assert (memory.text, memory.quantity) == ("3072", "3.00 GiB")
    unknown = make_cell(columns["score_s"], figure(float("nan"), reason="lost"))
    assert (unknown.text, unknown.why, unknown.value, unknown.interval) == (
        "—",
        "lost",
        None,
        None,
    )
