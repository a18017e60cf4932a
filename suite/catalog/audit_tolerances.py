"""Tolerances of audits, by workload, pair of frameworks and step: ``rules/audit/<workload>.toml``,
written by tools/audit_tolerances.py."""

from dataclasses import dataclass
from pathlib import Path

from suite.catalog.definitions import load_all
from suite.catalog.frameworks import is_own
from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml

FLOAT64 = "float64"
"""Stands for a framework in a pair: a replay in float64."""
OUTSIDE = "outside"
"""Stands for an implementation outside the checkout."""


@dataclass(frozen=True)
class PairTolerance:
    """How far losses of two honest trainings may differ: ``frameworks`` are the run's and the
    replay's, sorted; one tolerance per range of steps.

    A difference is relative to the replay's loss where that is above 1, else absolute.
    """

    frameworks: tuple[str, ...]
    tolerances: tuple[float, ...]


@dataclass(frozen=True)
class AuditTolerances:
    """A workload's tolerances; ``last_steps`` are the last steps of the ranges, ascending. Nothing
    is known of later steps.

    ``replays`` repeat the first ``window_steps`` steps of an epoch after a training state: a whole
    epoch, where it has no more.
    """

    name: str
    last_steps: tuple[int, ...] = ()
    pairs: tuple[PairTolerance, ...] = ()
    window_steps: int = 200
    replays: int = 5

    def per_step(self, one: str, other: str, steps: int) -> tuple[float | None, ...]:
        """The tolerance of each of the first ``steps`` steps; None where nothing is known.

        The losses of OUTSIDE are as far from ``other``'s as any framework's that were measured.
        """
        if one == OUTSIDE:
            names = {name for entry in self.pairs for name in entry.frameworks}
            rows = [self.per_step(name, other, steps) for name in sorted(names)]
            return tuple(
                max((row[step] or 0.0 for row in rows), default=0.0) or None
                for step in range(steps)
            )
        pair = tuple(sorted((one, other)))
        ranges = next((entry.tolerances for entry in self.pairs if entry.frameworks == pair), ())
        return tuple(self._at(step, ranges) for step in range(1, steps + 1))

    def _at(self, step: int, tolerances: tuple[float, ...]) -> float | None:
        return next(
            (
                value
                for last, value in zip(self.last_steps, tolerances, strict=False)
                if step <= last
            ),
            None,
        )


def tolerances_name(framework: str) -> str:
    """Under which name the tolerances of a run's framework stand."""
    return framework if is_own(framework) else OUTSIDE


def tolerances_folder() -> Path:
    """The folder of the tolerances."""
    return rules_folder() / "audit"


def load_audit_tolerances(workload: str) -> AuditTolerances:
    """The workload's tolerances; empty ones where none were measured."""
    path = tolerances_folder() / f"{workload}.toml"
    return read_toml(path, AuditTolerances) if path.is_file() else AuditTolerances(workload)


def load_all_audit_tolerances() -> tuple[AuditTolerances, ...]:
    """All that were measured, sorted by workload."""
    return load_all(tolerances_folder(), AuditTolerances)
