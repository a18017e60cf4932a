"""How runs are repeated and compared, ``rules/reproduction.toml``: the numbers of the rulebook's
section *Replications*."""

import functools
from dataclasses import dataclass

from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml


@dataclass(frozen=True)
class Reproduction:
    """The constants of `suite reproduce`.

    A replication has ``min_runs`` fresh runs at least. ``level`` is that of the two-sided interval
    of the ratio of times: an honest run is refuted with half this probability. Times are confirmed
    where the interval leaves no room for an original that is faster than here by more than
    ``margin`` (0.10: a tenth). ``accuracy_level`` is the probability with which an honest accuracy
    is refuted.
    """

    min_runs: int
    level: float
    margin: float
    accuracy_level: float

    @property
    def false_alarm(self) -> float:
        """The probability that the times of an honest original are refuted."""
        return self.level / 2


@functools.cache  # asked for every replication
def load_reproduction() -> Reproduction:
    """The numbers of replications."""
    return read_toml(rules_folder() / "reproduction.toml", Reproduction)
