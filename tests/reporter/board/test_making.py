"""What a board says of its rows: their order, badges, facets and rows of a chart, by hand."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from reporter.board import dot_chart, making
from reporter.board.best_settings import best_settings
from reporter.board.boards import ORDER, Leaderboard
from reporter.board.columns import FACETS
from reporter.board.comparison import Comparable, compare_pair
from reporter.board.ranking import Rank, unranked
from reporter.data.entry_scores import EntryScores, Status
from suite.metrics.comparisons import Interval, Ratio, run_statistics

FACET = {facet.name: facet for facet in FACETS}


def entry(**other: Any) -> dict[str, Any]:
    known = {"short": 0, "reached": 3, "runs": 3, "max_epochs": 10, "code_is_public": None}
    names = ("witnessed_by", "signed_by", "audited_in", "audited_by", "availability", "launches")
    told = {"entry_id": "e", "organization": "acme", "nonce_kind": "none", "device": "their-board"}
    return {**dict.fromkeys(names), **told, **known, **other}


def test_ranked_rows_come_first_then_provisional_ones_then_what_was_measured() -> None:
    def placed(status: Status, rank: Rank | None, *values: float | None) -> tuple[float, ...]:
        rows = {name: {"value": one} for name, one in zip(ORDER, values, strict=False)}
        return making._order(EntryScores(status, None), rank, rows)

    rows = [
        placed(Status.CONFIRMED, Rank(1, 0, None), 9.0),
        placed(Status.SHORT, Rank(2, 0, None), 1.0),
        placed(Status.PROVISIONAL, unranked(""), 5.0),
        placed(Status.PROVISIONAL, unranked(""), 6.0, 1.0),
        placed(Status.UNRANKED, None, 2.0, 9.0, 9.0),
        placed(Status.UNRANKED, None, math.nan, 3.0, 8.0),
        placed(Status.UNRANKED, unranked(""), None, 3.0, 9.0),
        placed(Status.UNRANKED, unranked(""), None, None, 1.0),
        placed(Status.UNRANKED, None),
    ]
    assert rows == sorted(rows) and len(set(rows)) == len(rows)


def test_a_version_is_a_column_only_where_rows_of_one_framework_differ_in_it() -> None:
    rows = [
        {"framework": framework, "framework_version": version, "workers": workers}
        for framework, version, workers in (("b", "2", "1"), ("a", "1", "1"), ("a", "1", "1"))
    ]
    version, workers = FACET["framework_version"], FACET["workers"]
    assert not making._differs(version, rows) and not making._differs(workers, rows)
    assert making._joined(version, rows) == "a 1, b 2"
    other = [*rows, {"framework": "a", "framework_version": "2", "workers": "0"}]
    assert making._differs(version, other) and making._differs(workers, other)


def test_versions_matter_between_rows_of_one_framework_only() -> None:
    """A version that follows from the framework is shared; in the open division the model is
    always a column."""
    rows = [
        {facet.name: "same" for facet in FACETS}
        | {"framework": framework, "framework_version": version}
        for framework, version in (("a", "1"), ("b", "2"), ("a", "1"))
    ]
    differ, same = making._differing(rows, False)
    assert {each.name for each in differ} == {"device", "framework"}
    assert ("version", "a 1, b 2") in same and "model" not in dict(same)
    later = [*rows, {**rows[0], "framework_version": "3"}]
    assert "framework_version" in {each.name for each in making._differing(later, False)[0]}
    assert "model_trained" in {each.name for each in making._differing(rows, True)[0]}


@pytest.mark.parametrize(
    ("changes", "figures", "badges"),
    [
        ({}, {}, ()),
        ({"short": 4, "reached": 2}, {}, ("4 of 10 epochs trained",)),
        ({"short": 4}, {}, ()),
        ({}, {"throttled_events": {"high": 0.0}}, ()),
        ({}, {"throttled_events": {"high": 1.0, "value": 0.3}}, ("throttled",)),
        ({}, {"foreign_cpu_share": {"high": 0.05}}, ()),
        ({}, {"throttled_events": {"high": 0}, "foreign_cpu_share": {"high": None}}, ()),
        (
            {},
            {"throttled_events": {"high": 1}, "foreign_cpu_share": {"high": 0.0505}},
            ("throttled", "other programs ran"),
        ),
        ({}, {"foreign_cpu_share": {"high": 0.051}}, ("other programs ran",)),
        (
            {"witnessed_by": "w", "signed_by": "s", "audited_in": "pytorch, from a state"},
            {"energy_per_epoch_j": {"attached": True}},
            (
                "energy from a logger's file that was attached after the run",
                "witnessed by w",
                "signed by s",
            ),
        ),
        ({"code_is_public": True}, {"energy_per_epoch_j": {"attached": None}}, ("available",)),
    ],
)
def test_badges(changes: dict[str, Any], figures: dict[str, Any], badges: tuple[str, ...]) -> None:
    assert making._badges(entry(**changes), figures, ()) == badges


@pytest.mark.parametrize(
    ("witness", "energy_j", "stated"),
    [
        (None, None, "time "),
        ("acme", None, "time "),
        ("key", 7.0, "time and energy "),
        ("lab", None, ""),
        ("lab", 7.0, "energy "),
    ],
)
def test_only_a_witness_who_is_not_the_submitter_vouches_for_the_time_and_nobody_for_the_energy(
    witness: str | None, energy_j: float | None, stated: str
) -> None:
    frames: Any = SimpleNamespace(replications={})
    audited = entry(audited_by="lab", witnessed_by=witness, signed_by="key")
    said = making._provenance(frames, audited, {"energy_per_epoch_j": {"value": energy_j}})
    assert said == f"audited by lab{stated and f', {stated}stated by the submitter'}"


@pytest.mark.parametrize(
    ("organization", "reviewers", "witness", "mark"),
    [
        ("reference", "project", "project", "replayed by the project, which made the runs"),
        ("reference", "lab and project", "project", "audited by lab, time stated by the submitter"),
        ("reference", "lab", "lab", "audited by lab"),
        ("reference", None, None, "self-reported"),
        ("acme", "project", "project", "audited by the project"),
    ],
)
def test_the_project_and_its_organization_are_one(
    organization: str, reviewers: str | None, witness: str | None, mark: str
) -> None:
    frames: Any = SimpleNamespace(replications={})
    reviewed = entry(organization=organization, audited_by=reviewers, witnessed_by=witness)
    assert making._provenance(frames, reviewed, {}) == mark


@pytest.mark.parametrize(
    ("energy", "sensor"),
    [
        ({"tier": "analyser", "covers": "wall", "value": 1.0}, "analyser, wall"),
        ({"tier": None, "value": 1.0}, "unknown sensor"),
        ({"tier": math.nan, "value": None}, "not measured"),
        ({}, "not measured"),
    ],
)
def test_facets_that_are_no_column(energy: dict[str, Any], sensor: str) -> None:
    found = making._facets(entry(launches=7.0), {"energy_per_epoch_j": energy}, "self-reported")
    shown = {"energy": sensor, "launches": "3 of 7", "provenance": "self-reported"}
    shown |= {"availability": "not submitted", "device": "their-board", "workers": "unknown"}
    assert {name: found[name] for name in shown} == shown
    assert making._facets(entry(nonce_kind=None), {}, "")["nonce_kind"] == "of several kinds"


def test_the_most_frequent_reason_says_why_a_board_has_no_ranks() -> None:
    def board(*ranks: Rank) -> Any:
        rows = tuple(SimpleNamespace(rank=rank) for rank in ranks)
        ranked = tuple(row for row in rows if row.rank.place is not None)
        return SimpleNamespace(accepted=rows, ranked=ranked)

    why = Leaderboard.__dict__["why_no_ranks"].func
    reasons = [unranked(reason) for reason in ("few", "open", "open", "a")]
    assert why(board(*reasons)) == "open" and why(board(*reasons[:2], reasons[3])) == "a"
    assert why(board(*reasons, Rank(1, 0, None))) is None and why(board()) is None


def test_a_nominated_entry_stands_for_its_submitter_s_others() -> None:
    """One that is not confirmed only for others that are not."""
    confirmed = [("a", False), ("a", True), ("b", False), ("a", True), ("c", False)]
    listed = [*((*one, True) for one in confirmed), ("c", False, False), ("c", True, False)]
    rows: Any = [
        (SimpleNamespace(entry={"organization": maker}, is_nominated=is_one, is_confirmed=sure), at)
        for at, (maker, is_one, sure) in enumerate(listed)
    ]
    chosen: Any = dot_chart._standing_for(rows)
    assert [place for _, place in chosen] == [1, 2, 3, 4, 6]


def test_the_best_of_a_device_is_among_its_placed_entries_with_that_score() -> None:

    def row(name: str, time_s: float | None, system: str, status: Status) -> Any:
        score = None if time_s is None else SimpleNamespace(interval=Interval(time_s, None, None))
        scores = SimpleNamespace(status=status, score=lambda _: score)
        return SimpleNamespace(system=system, entry_id=name, scores=scores)

    rows = (
        row("d", 3.0, "x", Status.CONFIRMED),
        row("c", 2.0, "x", Status.PROVISIONAL),
        row("b", 2.0, "x", Status.SHORT),
        row("a", 1.0, "x", Status.UNRANKED),
        row("none", None, "x", Status.CONFIRMED),
        row("e", 0.5, "2 × x", Status.CONFIRMED),
        row("f", 4.0, "y", Status.CONFIRMED),
    )
    table = SimpleNamespace(title="meter", rows=(rows[0], rows[1], rows[3]))
    board: Any = SimpleNamespace(accepted=rows, energies=(table,))
    found = [
        (best.score, best.instrument, best.row.system, best.of, best.row.entry_id)
        for best in best_settings(board)
    ]
    assert found == [
        ("score_s", "", "2 × x", 1, "e"),
        ("score_s", "", "x", 3, "b"),
        ("score_s", "", "y", 1, "f"),
        ("score_energy_j", "meter", "x", 2, "c"),
    ]


def test_how_many_times_the_first_value() -> None:
    values = (10.0, 10.5, 10.99, 11.0, 25.0, 9.9)
    times = ["", "×1.05", "×1.10", "×1.1", "×2.5", "×0.990"]
    assert [dot_chart._times(value, 10.0) for value in values] == times
    assert dot_chart._times(5.0, math.nan) == dot_chart._times(5.0, 0.0) == ""


def test_false_verdicts_are_of_the_pairs_that_are_compared() -> None:
    def said(compared: int, without: int = 1) -> str:
        rows: Any = [
            SimpleNamespace(is_compared=place < compared) for place in range(compared + without)
        ]
        chart: Any = dot_chart.DotChart
        return str(chart(*(None,) * 6, rows, 0, 0).false_verdicts)

    # a hundredth of 1, 45, 120 and 300 pairs
    assert [said(count) for count in (2, 10, 16, 25)] == [
        "one pair in every 100 such tables",
        "one pair in every 2 such tables",
        "one pair in this table",
        "3 pairs in this table",
    ]


PLACES = ("their-board", "acme", "cpu")


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ({}, ""),
        ({"trained_on": ("their-board", "other", "cuda")}, "frameworks are compared only on"),
        ({"trained_on": ("another", "other", "cuda")}, ""),
        ({"trained_on": ("their-board", "acme", "cuda")}, ""),
        ({"trained_on": ("their-board", "other", "cpu")}, ""),
        ({"trained_on": None}, ""),
        ({"instrument": ("analyser", "board")}, "energies are compared only if"),
        ({"instrument": ("wall meter", "wall")}, "energies are compared only if"),
        ({"reason": "too few", "value": None}, "b: too few"),
    ],
)
def test_which_pairs_have_a_ratio(other: dict[str, Any], verdict: str) -> None:
    told = {"reason": None, "instrument": ("analyser", "wall"), "trained_on": PLACES}
    one = Comparable("a", run_statistics([4.0, 4.1, 3.9]), **told)  # type: ignore[arg-type]
    values = {"value": run_statistics([2.0, 2.1, 1.9]), **told, **other}
    found = compare_pair(one, Comparable("b", **values))
    assert isinstance(found, str) == bool(verdict) and str(found).startswith(verdict or "Ratio")
    if isinstance(found, Ratio):
        assert 1.9 < found.ratio < 2.1 and found.is_different
        wider = compare_pair(one, Comparable("b", **values), 4)
        assert isinstance(wider, Ratio) and wider.low < found.low < found.high < wider.high
