"""Published times of training, ``rules/literature/*.toml``: context beside a device's own results,
never ranked. One file per device profile."""

from dataclasses import dataclass

from suite.catalog.definitions import load_all
from suite.files.paths import rules_folder
from suite.files.schema import AboveZero, Positive


@dataclass(frozen=True)
class PublishedResult:
    """One published result: ``time_s`` of training on ``samples`` (one counts in every epoch) in
    mini-batches of ``batch_size``, and ``energy_j`` of the board meanwhile; None: not published.

    ``differs``: in what the measurement differs from the suite's workload. ``place`` is where in
    ``source`` the number stands, or what it was computed from.
    """

    model: str
    framework: str
    time_s: AboveZero
    samples: Positive
    batch_size: Positive
    differs: str
    citation: str
    source: str
    place: str
    energy_j: AboveZero | None = None

    @property
    def time_per_1000_samples_s(self) -> float:
        """As the suite states it of its own runs, s."""
        return 1000 * self.time_s / self.samples

    @property
    def energy_per_1000_samples_j(self) -> float | None:
        """As the suite states it of its own runs, J; None where no energy was published."""
        return None if self.energy_j is None else 1000 * self.energy_j / self.samples


@dataclass(frozen=True)
class Literature:
    """The published results of a device profile, which has the same name."""

    name: str
    results: tuple[PublishedResult, ...]


def load_literature() -> tuple[Literature, ...]:
    """Every list, by name."""
    return load_all(rules_folder() / "literature", Literature)
