"""How entries are scored, compared and ranked, ``rules/scoring.toml``: the numbers of the
rulebook's chapter *Runs and scoring*."""

import enum
import functools
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.power import Coverage, Tier
from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml


class EnergyStanding(str, enum.Enum):
    """What an energy counts for, by its instrument: only a calibrated meter at the wall or at the
    board's input ranks entries."""

    RANKED = "ranked"
    INDICATIVE = "indicative"
    ESTIMATE = "estimate"


@dataclass(frozen=True)
class EnergyClass:
    """Tiers and coverages of one standing, the best first."""

    standing: EnergyStanding
    tiers: tuple[Tier, ...]
    coverages: tuple[Coverage, ...]


@dataclass(frozen=True)
class Instrument:
    """A kind of instrument and what it covers: energies compare within one only. ``place`` is its
    place in the order of tables, from 0."""

    tier: Tier
    covers: Coverage
    standing: EnergyStanding
    place: int


@dataclass(frozen=True)
class MissedTargets:
    """An entry with a missed target is ranked if it was planned with ``min_planned_runs`` and this
    share of them reached the target."""

    min_planned_runs: int
    min_share_reached: float


@dataclass(frozen=True)
class ShortEntries:
    """A closed run may stop after ``min_epochs`` whole epochs or more of its schedule where the
    whole schedule takes ``min_whole_s`` or more."""

    min_epochs: int
    min_whole_s: float

    def epochs(self, steps: int | None, per_epoch: int, of: int) -> int:
        """The whole epochs of ``per_epoch`` steps that a limit of ``steps`` leaves of a schedule of
        ``of`` epochs; 0 for a limit that no short entry may have, and without one."""
        whole, left = divmod(steps or 0, per_epoch)
        return whole if not left and self.min_epochs <= whole < of else 0


@dataclass(frozen=True)
class TargetProcedure:
    """How a target follows from reference runs (suite.metrics.targets): the bound above which a
    share ``coverage`` of runs lies with this ``confidence``, of the best accuracies in the first
    ``share_of_schedule``, rounded down to a multiple of ``step``; from at least these numbers of
    runs and frameworks."""

    coverage: float
    confidence: float
    share_of_schedule: float
    step: float
    min_runs: int
    min_frameworks: int


@dataclass(frozen=True)
class Scoring:
    """The constants of scores, comparisons and ranks.

    An entry with fewer than ``min_runs`` runs is provisional. ``level`` is that of the intervals of
    scores, ``pair_level`` that of the verdict on a pair; ``epochs_level`` that of the one-sided
    test whether an entry needs more epochs than the reference. ``noise_floor`` is the relative
    standard deviation that further runs do not average out, because they share a machine. Runs
    between two starts of a machine are one session; with fewer than ``min_sessions``, what a
    session does to all its runs is not known, and ``session_floor`` stands for it. A learning rate
    is the reference point's within ``rate_tolerance``.
    """

    min_runs: int
    level: float
    pair_level: float
    epochs_level: float
    noise_floor: float
    min_sessions: int
    session_floor: float
    rate_tolerance: float
    short: ShortEntries
    missed: MissedTargets
    targets: TargetProcedure
    energies: tuple[EnergyClass, ...]

    @property
    def pair_confidence(self) -> str:
        """The confidence of the verdict on a pair: "99 %"."""
        return f"{100 * (1 - self.pair_level):g} %"

    def floor(self, is_separated: bool) -> float:
        """The relative standard deviation that an entry's runs do not show, of one whose sessions
        are enough to tell their effects, or of another."""
        return self.noise_floor if is_separated else self.session_floor

    def floor_of(self, figure: str, is_separated: bool) -> float:
        """The same of a figure of runs: what a session does to times and energies it does to no
        accuracy and no memory."""
        return self.floor(is_separated) if figure.endswith(("_s", "_j")) else 0.0

    def instruments(self) -> tuple[Instrument, ...]:
        """Every kind of instrument with its coverage, the best first."""
        kinds = (
            (tier, covers, one.standing)
            for one in self.energies
            for tier in one.tiers
            for covers in one.coverages
        )
        return tuple(Instrument(*kind, place) for place, kind in enumerate(kinds))


def path() -> Path:
    """The file of the numbers."""
    return rules_folder() / "scoring.toml"


@functools.cache  # asked for every entry
def load_scoring() -> Scoring:
    """The numbers of scoring."""
    return read_toml(path(), Scoring)
