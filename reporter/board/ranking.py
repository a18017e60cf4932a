"""Ranks of entries by their scores: intervals that hold together, and tiers. Definitions: the
rulebook's chapter *Runs and scoring*."""

from collections.abc import Mapping
from dataclasses import dataclass

from suite.catalog.scoring import Scoring
from suite.metrics.comparisons import Measured
from suite.metrics.rank_intervals import rank_intervals, tiers


@dataclass(frozen=True)
class Rank:
    """The ranks from ``best`` to ``worst`` that an entry can have, and its tier; ``place`` counts
    the entries with a smaller score.

    All are None, with the ``reason``, for an entry that is not ranked. Ranks of all entries hold
    together with 95 % probability.
    """

    place: int | None
    best: int | None
    worst: int | None
    tier: int | None
    reason: str | None

    @property
    def text(self) -> str:
        """ "1" or "1–3"; empty without a rank."""
        if self.best is None:
            return ""
        return f"{self.best}" if self.best == self.worst else f"{self.best}–{self.worst}"

    @property
    def words(self) -> str:
        """ "1st to 3rd"; the reason without a rank."""
        if self.best is None or self.worst is None:
            return self.reason or ""
        return (
            _ordinal(self.best)
            if self.best == self.worst
            else f"{_ordinal(self.best)} to {_ordinal(self.worst)}"
        )


def unranked(reason: str) -> Rank:
    """No rank, and why."""
    return Rank(None, None, None, None, reason)


def rank_entries(scores: Mapping[str, Measured], scoring: Scoring) -> dict[str, Rank]:
    """The ranks of entries, each of which has the number of runs that a rank needs; smaller scores
    are better."""
    names = sorted(scores)
    entries = [scores[name] for name in names]
    intervals = rank_intervals(entries, scoring.level, scoring.epochs_level)
    numbers = tiers(entries, scoring.level, scoring.epochs_level)
    ordered = sorted(one.log_mean for one in entries)
    places = [1 + ordered.index(one.log_mean) for one in entries]
    return {
        name: Rank(place, each.best, each.worst, tier, None)
        for name, place, each, tier in zip(names, places, intervals, numbers, strict=True)
    }


def _ordinal(number: int) -> str:
    ending = (
        {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        if number % 100 not in (11, 12, 13)
        else "th"
    )
    return f"{number}{ending}"
