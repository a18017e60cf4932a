"""Ranks of entries: their order by score, and of how many others each is not distinguishable.
Definitions: the rulebook's chapter *Runs and scoring*."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from suite.catalog.scoring import Scoring
from suite.files.counted import counted, ordinal
from suite.metrics.comparisons import RunStatistics, indistinguishable_counts, score_ratio


@dataclass(frozen=True)
class Rank:
    """The ``place`` of an entry among the confirmed ones by score, from 1, and the number of others
    that it is not distinguishable from (``alike``).

    Both are None, with the ``reason``, for an entry that is not ranked.
    """

    place: int | None
    alike: int | None
    reason: str | None

    @property
    def text(self) -> str:
        """ "1"; empty without a rank."""
        return "" if self.place is None else str(self.place)

    @property
    def words(self) -> str:
        """ "1st, not distinguishable from 2 others"; the reason without a rank."""
        if self.place is None:
            return self.reason or ""
        place = ordinal(self.place)
        return (
            f"{place}, not distinguishable from {counted(self.alike, 'other')}"
            if self.alike
            else place
        )


def unranked(reason: str) -> Rank:
    """No rank, and why."""
    return Rank(None, None, reason)


def rank_entries(
    scores: Mapping[str, RunStatistics], scoring: Scoring, short: Collection[str] = ()
) -> dict[str, Rank]:
    """The ranks of entries, each of which has the number of runs that a rank needs; smaller scores
    are better.

    A ``short`` entry stands behind every whole one that it is not distinguishable from.
    """
    names = sorted(scores)
    entries = [scores[name] for name in names]
    found = indistinguishable_counts(entries, scoring.pair_level, scoring.epochs_level)
    behind = {name: (scores[name].log_mean, False) for name in names}
    whole = [scores[name] for name in names if name not in short]
    for name in short:
        equals = [one.log_mean for one in whole if _is_alike(scores[name], one, scoring)]
        behind[name] = max([behind[name], *((log_mean, True) for log_mean in equals)])
    ordered = sorted(behind.values())
    return {
        name: Rank(1 + ordered.index(behind[name]), count, None)
        for name, count in zip(names, found, strict=True)
    }


def _is_alike(one: RunStatistics, other: RunStatistics, scoring: Scoring) -> bool:
    return not score_ratio(one, other, scoring.pair_level, scoring.epochs_level).is_different
