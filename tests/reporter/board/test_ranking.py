"""Ranks as the leaderboard shows them."""

from reporter.board.ranking import Rank, rank_entries, unranked
from suite.catalog.scoring import load_scoring
from suite.metrics.comparisons import run_statistics


def ranks(**runs: list[float]) -> dict[str, Rank]:
    return rank_entries(
        {name: run_statistics(values) for name, values in runs.items()}, load_scoring()
    )


def test_a_rank_is_a_place_and_says_from_how_many_it_is_not_distinguishable() -> None:
    found = ranks(slow=[100, 101, 102], one=[10, 14, 12], other=[11, 15, 12.5])
    assert (found["one"].text, found["one"].words, found["slow"].words) == (
        "1",
        "1st, not distinguishable from 1 other",
        "3rd",
    )
    assert [found[name].place for name in ("one", "other", "slow")] == [1, 2, 3]
    assert [found[name].alike for name in ("one", "other", "slow")] == [1, 1, 0]


def test_a_short_entry_stands_behind_the_whole_one_that_it_equals_and_before_a_slower_one() -> None:
    runs = {"slow": [100, 101, 102], "whole": [10.5, 14, 12], "short": [10, 14, 12]}
    scores = {name: run_statistics(values) for name, values in runs.items()}
    found = rank_entries(scores, load_scoring(), ["short"])
    assert [found[name].place for name in ("whole", "short", "slow")] == [1, 2, 3]
    scores["second"] = run_statistics([11, 15, 13])
    found = rank_entries(scores, load_scoring(), ["short"])
    places = [found[name].place for name in ("whole", "second", "short", "slow")]
    assert places == [1, 2, 3, 4], "behind every one that it equals"
    alone = rank_entries(scores, load_scoring(), list(scores))
    assert [alone[name].place for name in ("short", "whole", "second", "slow")] == [1, 2, 3, 4]


def test_without_a_rank_there_is_a_reason() -> None:
    assert (unranked("one run").text, unranked("one run").words) == ("", "one run")


def test_numbers_end_as_they_are_spoken() -> None:
    endings = {
        1: "1st",
        2: "2nd",
        3: "3rd",
        4: "4th",
        11: "11th",
        12: "12th",
        13: "13th",
        21: "21st",
        112: "112th",
    }
    assert {number: Rank(number, 0, None).words for number in endings} == endings


def test_equal_entries_share_a_place() -> None:
    found = ranks(a=[1, 1, 1], b=[2, 2, 2], c=[2, 2, 2])
    assert [found[name].place for name in "abc"] == [1, 2, 2]
