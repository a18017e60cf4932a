"""Physically shaped model of the time and power of training in a mode.

Two stages, loading and computing, take (Sections 5.1.5 and 5.6.4 to 5.6.7 of Prashanthi et al.,
POMACS 2022)

    load    = storage + prepare / (CPU clock x speed-up of the cores) + traffic / memory clock
    compute = launch x contention / CPU clock  (+)_r  (arithmetic / GPU clock  (+)_q  traffic /
    memory clock)
    time    = fixed + (load  (+)_p  compute)

``a (+)_p b`` is (a^p + b^p)^(1/p): the sum for p = 1 (sequential), the maximum for large p
(overlap, roofline). The speed-up of n cores is Amdahl's law with at most ``workers`` of them. Where
n threads may use only u < n processors, they wait for one another in turns: each meeting of all
threads adds a time slice for each turn that the others have, ``turns x (n / u - 1)`` in all. One
thread alone waits for none. Power is

    static + static of a core x cores + sum over CPU, GPU, memory of  C V(f)^2 f x (idle share + (1
    - idle share) x utilisation)

with a voltage that is constant up to a clock, the knee, and rises above it; the memory's rises from
its lowest clock on. Every parameter is positive or within bounds by
construction: no term is negative.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.extensions.prediction.record.modes import COLUMN_ROLES, Modes, Role

Array = Any  # of floats


@dataclass(frozen=True)
class Prior:
    """Prior of a parameter: a standard normal number z becomes exp(centre + spread z), or its
    logistic scaled to ``bounds``."""

    centre: float
    spread: float
    bounds: tuple[float, float] | None = None

    def value(self, standard: Array) -> Array:
        """The parameter for standard normal numbers."""
        inner = self.centre + self.spread * standard
        if self.bounds is None:
            return np.exp(np.minimum(inner, 12))
        low, high = self.bounds
        return low + (high - low) / (1 + np.exp(-inner))


SHARE = -2.0
"""Centre of the logarithm of a term's share of the time in the fastest mode (about an eighth)."""

TIME_PRIORS: Mapping[str, Prior] = {
    "scale": Prior(0.0, 0.7),
    "fixed": Prior(SHARE, 1.0),
    "storage": Prior(SHARE - 1, 1.2),
    "prepare": Prior(0.0, 1.5),  # of one core; eight share it
    "parallel": Prior(1.5, 1.5, (0.0, 1.0)),
    "workers": Prior(0.0, 1.5, (1.0, 9.0)),
    "load_traffic": Prior(SHARE - 2, 1.0),
    "launch": Prior(SHARE, 1.2),
    "contention": Prior(-1.0, 1.0),
    "arithmetic": Prior(SHARE + 1, 1.3),
    "traffic": Prior(SHARE, 1.2),
    "overlap": Prior(0.0, 2.0, (0.04, 1.0)),  # 1/p
    "roofline": Prior(0.0, 2.0, (0.04, 1.0)),  # 1/q
    "queue": Prior(0.0, 2.0, (0.04, 1.0)),  # 1/r
}
POWER_PRIORS: Mapping[str, Prior] = {
    "static": Prior(-1.2, 0.6),
    "core": Prior(-3.5, 1.0),  # of all cores, whatever their clock
    "cpu": Prior(-1.0, 1.0),
    "cpu_voltage": Prior(0.0, 1.0, (0.0, 0.85)),
    "cpu_knee": Prior(-0.5, 1.0, (0.0, 0.8)),
    "cpu_idle": Prior(-1.0, 1.8, (0.0, 1.0)),
    "cpu_waiting": Prior(0.0, 1.5, (0.0, 1.0)),
    "gpu": Prior(-0.8, 0.9),
    "gpu_voltage": Prior(0.0, 1.0, (0.0, 0.85)),
    "gpu_knee": Prior(-0.5, 1.0, (0.0, 0.8)),
    "gpu_idle": Prior(-1.0, 1.8, (0.0, 1.0)),
    "memory": Prior(-2.0, 0.9),
    "memory_voltage": Prior(-1.5, 1.0, (0.0, 0.85)),
    "memory_idle": Prior(0.0, 1.8, (0.0, 1.0)),
    "limit": Prior(0.35, 0.35),  # above it the GPU's clock is lowered
}
PRIORS: Mapping[str, Prior] = {**TIME_PRIORS, **POWER_PRIORS}
CROWD_PRIORS: Mapping[str, Prior] = {"turns": Prior(0.0, 2.0)}
"""Of boards whose modes can have more threads than processors, besides the others."""


@dataclass(frozen=True)
class Inputs:
    """Resources of each mode: cores that can work, processors that they may use, clocks relative to
    the highest one.

    ``max_width`` is the highest number of cores of any mode. ``crowding`` is by how much threads
    that wait for one another are more than the processors that they may use, relatively; None where
    the modes set nothing that makes them so.
    """

    width: Array
    quota: Array
    cpu: Array
    gpu: Array
    memory: Array
    max_width: float
    crowding: Array | None = None

    @property
    def priors(self) -> Mapping[str, Prior]:
        """The model's parameters on this board."""
        return PRIORS if self.crowding is None else {**PRIORS, **CROWD_PRIORS}

    def take(self, index: Array) -> "Inputs":
        """The inputs of some modes."""
        crowding = None if self.crowding is None else self.crowding[index]
        return Inputs(
            self.width[index],
            self.quota[index],
            self.cpu[index],
            self.gpu[index],
            self.memory[index],
            self.max_width,
            crowding,
        )


@dataclass(frozen=True)
class Board:
    """The resources of a board by the names of their columns, and the highest value of each."""

    names: tuple[str, ...]
    highest: tuple[float, ...]

    def inputs(self, rows: Array, dtype: type = np.float64) -> Inputs:
        """The resources of modes; one that the modes do not set is constant. Where they set neither
        cores nor threads, as many can work as the largest quota."""
        columns = {COLUMN_ROLES[name]: rows[:, place] for place, name in enumerate(self.names)}
        highest = {
            COLUMN_ROLES[name]: value for name, value in zip(self.names, self.highest, strict=True)
        }
        ones = np.ones(len(rows))
        most = max(1.0, highest.get(Role.CPU_QUOTA, 1.0))
        widths = [role for role in (Role.CORES, Role.THREADS) if role in columns]
        width = np.minimum.reduce([columns[role] for role in widths]) if widths else most * ones
        max_width = min((highest[role] for role in widths), default=most)
        quota = columns.get(Role.CPU_QUOTA, ones * max_width)
        crowding: Array | None = None
        if Role.CPU_QUOTA in columns or {Role.CORES, Role.THREADS} <= set(columns):
            threads: Array = columns.get(Role.THREADS, width)
            crowding = np.where(
                threads > 1, np.maximum(threads / np.minimum(width, quota) - 1, 0), 0
            ).astype(dtype)

        def clock(role: Role) -> Array:
            return (columns[role] / highest[role] if role in columns else ones).astype(dtype)

        clocks = clock(Role.CPU_CLOCK), clock(Role.GPU_CLOCK), clock(Role.MEMORY_CLOCK)
        return Inputs(width.astype(dtype), quota.astype(dtype), *clocks, max_width, crowding)


def board_of(modes: Modes) -> Board:
    """The board whose modes these are."""
    return Board(modes.names, tuple(map(float, modes.rows.max(axis=0))))


def _join(first: Array, second: Array, inverse: Array) -> Array:
    """(first^p + second^p)^(1/p) with 1/p = ``inverse``; stable for large p."""
    high, low = np.maximum(first, second), np.minimum(first, second)
    return high * np.exp(
        inverse * np.log(1 + np.exp(np.log(np.maximum(low / high, 1e-20)) / inverse))
    )


def log_time_and_power(
    standard: Array, given: Inputs, scales: tuple[float, float]
) -> tuple[Array, Array]:
    """Logarithms of time and power, each of shape (parameter sets, modes).

    ``standard`` has shape (parameter sets, parameters), standard normal under the prior; ``scales``
    are a time and a power of the size expected in the mode with the highest clocks.
    """
    columns = zip(given.priors.items(), standard.T, strict=True)
    values = {
        name: prior.value(column).astype(given.cpu.dtype)[:, None]
        for (name, prior), column in columns
    }
    inverse_clock = (1 / given.gpu)[None]
    total, watts, gpu_watts = _run(values, given, inverse_clock)
    limit = values["limit"]
    sets, places = np.nonzero(watts > limit)
    if len(sets):
        chosen = {name: value[sets, 0] for name, value in values.items()}
        fraction = np.clip(
            1 - (watts[sets, places] - chosen["limit"]) / gpu_watts[sets, places], 0.01, 1
        )
        slower = inverse_clock[0, places] * fraction ** (-1 / (1 + 2 * chosen["gpu_voltage"]))
        total[sets, places] = _run(chosen, given.take(places), slower)[0]
        watts = np.minimum(watts, limit)
    return np.log(total * values["scale"]) + np.asarray(np.log(scales[0]), total.dtype), np.log(
        watts
    ) + np.asarray(np.log(scales[1]), total.dtype)


def _run(value: Mapping[str, Array], given: Inputs, gpu: Array) -> tuple[Array, Array, Array]:
    """Time, power without a limit, the GPU's part of it; the GPU at the inverse clock ``gpu``."""
    cpu, memory = 1 / given.cpu, 1 / given.memory
    usable, whole = np.minimum(given.width, given.quota), np.minimum(given.quota, 1)
    used = np.minimum(usable, value["workers"])
    work = value["prepare"] * cpu
    load_traffic = value["load_traffic"] * memory
    load = (
        value["storage"]
        + work * ((1 - value["parallel"]) / whole + value["parallel"] / used)
        + load_traffic
    )
    launch = (
        value["launch"] * cpu * (1 + value["contention"] * np.maximum(0, 3 - usable) / 2) / whole
    )
    traffic = value["traffic"] * memory
    kernels = _join(value["arithmetic"] * gpu, traffic, value["roofline"])
    total = value["fixed"] + _join(load, _join(launch, kernels, value["queue"]), value["overlap"])
    if given.crowding is not None:
        turns = value["turns"] * given.crowding
        total, load = total + turns, load + turns
    waiting, working = load / total * used, (work + launch) / total
    busy = np.minimum(given.width, working + value["cpu_waiting"] * (waiting - working))
    cores = (busy + value["cpu_idle"] * (given.width - busy)) / given.max_width
    cpu_watts = (
        value["core"] * given.width / given.max_width
        + value["cpu"] * _dynamic(given.cpu, value["cpu_voltage"], value["cpu_knee"]) * cores
    )
    gpu_watts = (
        value["gpu"]
        * _dynamic(1 / gpu, value["gpu_voltage"], value["gpu_knee"])
        * _share(value["gpu_idle"], kernels / total)
    )
    used_memory = np.minimum((traffic + load_traffic) / total, 1)
    memory_watts = (
        value["memory"]
        * _dynamic(given.memory, value["memory_voltage"])
        * _share(value["memory_idle"], used_memory)
    )
    return total, value["static"] + cpu_watts + gpu_watts + memory_watts, gpu_watts


def _share(idle: Array, use: Array) -> Array:
    return use + idle * (1 - use)


def _dynamic(clock: Array, rise: Array, knee: Array | float = 0.0) -> Array:
    """f V(f)^2 relative to the highest clock: the voltage is (1 - rise) up to the knee, and rises
    linearly to 1 above it."""
    return clock * (1 - rise * np.minimum((1 - clock) / (1 - knee), 1)) ** 2
