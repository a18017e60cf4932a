"""Published times of training, ``rules/literature/*.toml``: context beside a device's own results,
never ranked. One file per device profile."""

from dataclasses import dataclass

from suite.catalog.definitions import load_all
from suite.files.paths import rules_folder
from suite.files.schema import AboveZero, Positive


@dataclass(frozen=True)
class PublishedResult:
    """One published result: ``time_s`` of ``mini_batches`` of ``batch_size`` samples.

    ``differs``: in what the measurement differs from the suite's workload. ``place`` is where in
    ``source`` the number stands.
    """

    model: str
    framework: str
    time_s: AboveZero
    mini_batches: Positive
    batch_size: Positive
    differs: str
    citation: str
    source: str
    place: str

    @property
    def time_per_1000_samples_s(self) -> float:
        """As the suite states it of its own runs, s."""
        return 1000 * self.time_s / (self.mini_batches * self.batch_size)


@dataclass(frozen=True)
class Literature:
    """The published results of a device profile, which has the same name."""

    name: str
    results: tuple[PublishedResult, ...]


def load_literature() -> tuple[Literature, ...]:
    """Every list, by name."""
    return load_all(rules_folder() / "literature", Literature)
