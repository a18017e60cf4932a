"""What the scores of an entry are: values, statistics, and what they are worth."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from suite.metrics.comparisons import Interval, RunStatistics
from suite.metrics.expected_epochs import ExpectedEpochs, ScoredEpochs

SCORE_S, SCORE_J = "score_s", "score_energy_j"
MEASURED_J = "energy_to_target_j"
"""The energy to the target as measured, at the epochs that the runs needed: no score, since it
contains the luck of the seeds."""
OF_ENTRIES = (SCORE_S, SCORE_J, MEASURED_J)
"""Figures that an entry has and no single run."""


class Status(str, enum.Enum):
    """What an entry's score is worth. Only confirmed and short entries have ranks."""

    CONFIRMED = "confirmed"
    PROVISIONAL = "provisional"
    SHORT = "short entry"
    CHARACTERISATION = "characterisation"
    UNRANKED = "unranked"


RANKED = (Status.CONFIRMED, Status.SHORT)


@dataclass(frozen=True)
class Score:
    """A score of an entry: its interval, its runs' values by run id, and the statistics that
    comparisons need."""

    interval: Interval
    by_run: Mapping[str, float]
    measured: RunStatistics


@dataclass(frozen=True)
class EntryScores:
    """The scores of an entry. ``epochs`` are None, with the ``reason``, where there is no reference
    point; a score is None where a part is unknown.

    ``measured_energy`` is the energy to the target as measured, which needs no reference point.

    ``reason`` says why the status is not confirmed; ``missing`` why a score is unknown, by its
    name. ``instrument`` is the tier and the coverage of the energy, None where there is no energy
    or the runs differ in it. ``contradicted_by``: meters of the same that differ from it, in any
    run, by more than both state. ``sessions``: the session of each run, by run id; None where they
    are too few to tell what a session does to all of its runs.
    """

    status: Status
    reason: str | None
    epochs: ScoredEpochs | None = None
    expected: ExpectedEpochs | None = None
    time: Score | None = None
    energy: Score | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    instrument: tuple[str, str] | None = None
    measured_energy: Score | None = None
    sessions: Mapping[str, str] | None = None
    contradicted_by: str | None = None

    @property
    def is_separated(self) -> bool:
        """Whether the runs tell what a session does to all of its runs."""
        return self.sessions is not None

    def score(self, name: str) -> Score | None:
        """The score, or the measured energy, of this name; None where it is unknown."""
        return {SCORE_S: self.time, SCORE_J: self.energy, MEASURED_J: self.measured_energy}[name]
