"""How entries are scored, compared and ranked, ``rules/scoring.toml``: the numbers of the
rulebook's chapter *Runs and scoring*."""

import enum
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.power import Coverage, Tier
from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml


class Standing(str, enum.Enum):
    """What an energy counts for, by its instrument: only a calibrated meter at the wall or at the
    board's input ranks entries."""

    RANKED = "ranked"
    INDICATIVE = "indicative"
    ESTIMATE = "estimate"


@dataclass(frozen=True)
class EnergyClass:
    """Tiers and coverages of one standing, the best first."""

    standing: Standing
    tiers: tuple[Tier, ...]
    coverages: tuple[Coverage, ...]


@dataclass(frozen=True)
class Instrument:
    """A kind of instrument and what it covers: energies compare within one only. ``place`` is its
    place in the order of tables, from 0."""

    tier: Tier
    covers: Coverage
    standing: Standing
    place: int


@dataclass(frozen=True)
class MissedTargets:
    """An entry with a missed target is ranked if it was planned with ``min_planned_runs`` and this
    share of them reached the target."""

    min_planned_runs: int
    min_share_reached: float


@dataclass(frozen=True)
class Scoring:
    """The constants of scores, comparisons and ranks.

    An entry with fewer than ``min_runs`` runs is provisional. ``level`` is that of comparisons and,
    all together, of the intervals of ranks; ``epochs_level`` that of the one-sided test whether an
    entry needs more epochs than the reference. ``noise_floor`` is the relative standard deviation
    that further runs do not average out, because they share a machine and a session. A learning
    rate is the reference point's within ``rate_tolerance``. A run of at least
    ``min_projected_epochs`` epochs without a target can be projected.
    """

    min_runs: int
    level: float
    epochs_level: float
    noise_floor: float
    rate_tolerance: float
    min_projected_epochs: int
    missed: MissedTargets
    energies: tuple[EnergyClass, ...]

    def instruments(self) -> tuple[Instrument, ...]:
        """Every kind of instrument with its coverage, the best first."""
        return tuple(
            Instrument(tier, covers, standing, place)
            for place, (tier, covers, standing) in enumerate(self._kinds())
        )

    def _kinds(self) -> Iterator[tuple[Tier, Coverage, Standing]]:
        for one in self.energies:
            for tier in one.tiers:
                for covers in one.coverages:
                    yield tier, covers, one.standing


def path(root: Path | None = None) -> Path:
    """The file of the numbers."""
    return rules_folder(root) / "scoring.toml"


@functools.cache  # asked for every entry
def load_scoring(root: Path | None = None) -> Scoring:
    """The numbers of scoring."""
    return read_toml(path(root), Scoring)
