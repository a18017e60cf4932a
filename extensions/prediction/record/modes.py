"""Modes of a board: resources that can be set, the grid of their values, and modes as rows of an
array."""

import enum
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suite.errors import SuiteError
from suite.files.toml_file import read_toml

Array = Any  # of float64

MAX_MODES = 1_000_000


class Role(str, enum.Enum):
    """What a resource does: number of cores or threads, share of the processor's time, or a
    clock."""

    CORES = "cores"
    THREADS = "threads"
    CPU_QUOTA = "cpu_quota"
    CPU_CLOCK = "cpu_clock"
    GPU_CLOCK = "gpu_clock"
    MEMORY_CLOCK = "memory_clock"


COLUMN_ROLES: Mapping[str, Role] = {
    "cores": Role.CORES,
    "cpu_cores": Role.CORES,
    "threads": Role.THREADS,
    "cpu_quota": Role.CPU_QUOTA,
    "cpu_mhz": Role.CPU_CLOCK,
    "cpu_frequency_mhz": Role.CPU_CLOCK,
    "gpu_mhz": Role.GPU_CLOCK,
    "gpu_frequency_mhz": Role.GPU_CLOCK,
    "emc_mhz": Role.MEMORY_CLOCK,
    "memory_mhz": Role.MEMORY_CLOCK,
    "memory_frequency_mhz": Role.MEMORY_CLOCK,
}
"""Resources by the name of their column; ``cpu_quota`` is in processors (1.5: one and a half)."""


@dataclass(frozen=True)
class Axis:
    """A resource by the name of its column, and the values that it can take, ascending."""

    name: str
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.name not in COLUMN_ROLES:
            raise SuiteError(
                f"There is no resource {self.name!r}", f"choose one of {', '.join(COLUMN_ROLES)}"
            )
        if not self.values or min(self.values) <= 0 or not np.all(np.isfinite(self.values)):
            raise SuiteError(f"The resource {self.name!r} needs finite values above 0")

    @property
    def role(self) -> Role:
        """What the resource does."""
        return COLUMN_ROLES[self.name]


@dataclass(frozen=True)
class Modes:
    """Modes that a board can be set to: ``rows`` has one row per mode and one column per name of
    ``names``."""

    names: tuple[str, ...]
    rows: Array

    def __post_init__(self) -> None:
        roles = [COLUMN_ROLES.get(name) for name in self.names]
        if None in roles:
            unknown = self.names[roles.index(None)]
            raise SuiteError(
                f"There is no resource {unknown!r}", f"choose one of {', '.join(COLUMN_ROLES)}"
            )
        if len(set(roles)) < len(roles):
            raise SuiteError(
                f"Two columns set the same resource: {', '.join(self.names)}", "keep one of them"
            )

    def __len__(self) -> int:
        return len(self.rows)

    def named(self, index: int) -> dict[str, float]:
        """A mode as a mapping of resource to value."""
        return dict(zip(self.names, map(float, self.rows[index]), strict=True))

    def indices(self, rows: Array) -> Array:
        """Index of each of ``rows`` among the modes; -1 for one that is not there."""
        places = {tuple(row): index for index, row in enumerate(self.rows.tolist())}
        return np.array(
            [places.get(tuple(row), -1) for row in np.asarray(rows, dtype=float).tolist()],
            dtype=int,
        )

    def with_rows(self, rows: Array) -> "Modes":
        """These modes and those of ``rows`` that are not among them."""
        missing = np.asarray(rows, dtype=float)[self.indices(rows) < 0]
        return Modes(self.names, np.concatenate([self.rows, missing])) if len(missing) else self


@dataclass(frozen=True)
class _GridFile:
    axes: tuple[Axis, ...]
    source: str = ""


def read_grid(path: Path) -> Modes:
    """All combinations of the axes of a TOML file: ``[[axes]]`` with ``name`` and ``values``."""
    return grid(read_toml(path, _GridFile).axes)


def grid(axes: Sequence[Axis]) -> Modes:
    """All combinations of the axes' values; the last axis varies fastest. At most a million."""
    count = int(np.prod([len(axis.values) for axis in axes]))
    if not axes or count > MAX_MODES:
        raise SuiteError(
            f"The grid has {count if axes else 0} modes; it must have 1 to {MAX_MODES}",
            "give fewer values per axis" if axes else "add [[axes]] with names and values",
        )
    rows = np.array(
        list(itertools.product(*(sorted(set(axis.values)) for axis in axes))), dtype=float
    )
    return Modes(tuple(axis.name for axis in axes), rows)
