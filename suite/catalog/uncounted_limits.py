"""What a run may leave out of its time: the reasons and their limits, ``rules/uncounted.toml``."""

from dataclasses import dataclass
from functools import cache

from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml


@dataclass(frozen=True)
class UncountedReason:
    """One reason: at most ``max_per_epoch`` intervals after an epoch (or before the first), none
    longer than ``max_s``.

    All together take at most the run's free seconds and ``max_share`` of the time from run_start to
    run_stop.
    """

    name: str
    meaning: str
    max_per_epoch: int
    max_s: float
    max_share: float


@dataclass(frozen=True)
class UncountedLimits:
    """All reasons. ``free_s``, of each reason, is what a short run may leave out beyond its
    share."""

    free_s: float
    reasons: tuple[UncountedReason, ...]

    def reason(self, name: object) -> UncountedReason | None:
        """The reason of this name; None if there is none."""
        return next((reason for reason in self.reasons if reason.name == name), None)


@cache
def load_uncounted_limits() -> UncountedLimits:
    """The rulebook's limits."""
    return read_toml(rules_folder() / "uncounted.toml", UncountedLimits)
