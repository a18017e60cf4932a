"""Published times of training, ``rules/literature/*.toml``: context beside a device's own results,
never ranked. One file per device profile."""

from dataclasses import dataclass
from pathlib import Path

from suite.catalog.definitions import load_all
from suite.errors import SuiteError
from suite.files.paths import rules_folder


@dataclass(frozen=True)
class Published:
    """One published result: ``time_s`` of ``mini_batches`` of ``batch_size`` samples.

    ``differs``: in what the measurement differs from the suite's workload. ``place`` is where in
    ``source`` the number stands.
    """

    model: str
    framework: str
    time_s: float
    mini_batches: int
    batch_size: int
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
    results: tuple[Published, ...]


def load_literature(root: Path | None = None) -> tuple[Literature, ...]:
    """Every list, by name; raises SuiteError for a number that is none of a measurement."""
    found = load_all(rules_folder(root) / "literature", Literature)
    for each in found:
        if not all(min(one.time_s, one.mini_batches, one.batch_size) > 0 for one in each.results):
            raise SuiteError(
                f"rules/literature/{each.name}.toml has a number that is not positive."
            )
    return found
