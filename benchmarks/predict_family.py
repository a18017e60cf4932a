"""Random laws of simulated boards, of many shapes: what the widths of the intervals of `suite
predict` are learnt from.

A law is drawn from what the literature on training at the edge leaves open: stages one after
another, overlapping or queueing; speed-ups that saturate, stop or slow down again; kernels of one
kind or several, bound by clocks, bandwidth or both; voltages that rise in a line, in a curve, from
a knee or in steps; leakage that follows the temperature; converters that lose more under load. No
law of `benchmarks/predict_laws` is one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.predict_laws import Law
from suite.extensions.prediction.record.modes import Modes

Array = Any  # of float64
Random = np.random.Generator


def random_law(seed: int, modes: Modes) -> Law:
    """The law of this number, in every mode of a board with cores and three clocks."""
    random = np.random.default_rng([seed, 20261123])
    highest = modes.rows.max(axis=0)
    cores, cpu, gpu, memory = (
        modes.rows[:, 0],
        *(modes.rows[:, place] / highest[place] for place in (1, 2, 3)),
    )
    host, kernels = _host(random, cores, cpu, memory), _kernels(random, gpu, memory)
    launch = (
        _part(random, 0.6)
        * (
            1
            + _either(random, 0.5, random.uniform(0.2, 1))
            * np.maximum(0, random.integers(2, 6) - cores)
        )
        / cpu
    )
    device = _overlapped(random, launch, kernels)
    storage = _either(random, 0.4, _part(random, 0.5))
    work = _overlapped(
        random, host + storage if random.random() < 0.5 else np.maximum(host, storage), device
    )
    total = work + _part(random, 0.15) + _either(random, 0.3, _part(random, 0.2) / cpu)
    total = total * _steps(random, cpu, gpu, memory)
    uses = _Uses(
        cores,
        cpu,
        gpu,
        memory,
        np.minimum(cores, (host * np.minimum(cores, 4) + launch) / total),
        np.minimum(kernels / total, 1),
    )
    scale_s, scale_w = np.exp(random.uniform(1, 6)), random.uniform(12, 45)
    return Law(f"family_{seed}", scale_s * total / total.min(), scale_w * _power(random, uses))


class _Uses:
    """Resources of the modes, cores that are busy, and the share of the time in which the GPU
    is."""

    def __init__(
        self,
        cores: Array,
        cpu: Array,
        gpu: Array,
        memory: Array,
        busy_cores: Array,
        busy_gpu: Array,
    ) -> None:
        self.cores, self.cpu, self.gpu, self.memory, self.busy_cores, self.busy_gpu = (
            cores,
            cpu,
            gpu,
            memory,
            busy_cores,
            busy_gpu,
        )


def _part(random: Random, centre: float) -> float:
    """A part of the time or power: around ``centre``, within a factor of e in two cases of
    three."""
    return float(centre * np.exp(random.normal()))


def _either(random: Random, probability: float, value: Any) -> Any:
    return value if random.random() < probability else 0.0


def _host(random: Random, cores: Array, cpu: Array, memory: Array) -> Array:
    """Loading: a speed-up by the cores of one of four kinds, and traffic."""
    workers, bend = random.uniform(2, 8), random.uniform(0.5, 1)
    serial, crowding = random.uniform(0, 0.3), random.uniform(0, 0.06)
    speed_ups: tuple[Callable[[], Array], ...] = (
        lambda: np.minimum(cores, workers),
        lambda: cores**bend,
        lambda: 1 / (serial + (1 - serial) / cores),
        lambda: cores / (1 + crowding * cores * (cores - 1)),
    )
    steepness = 1.0 if random.random() < 0.6 else random.uniform(0.8, 1.1)
    return _part(random, 2.0) / (speed_ups[random.integers(4)]() * cpu**steepness) + _either(
        random, 0.5, _part(random, 0.15) / memory
    )


def _kernels(random: Random, gpu: Array, memory: Array) -> Array:
    """The GPU's part: one to six kinds of kernels, each with work and traffic, in a bandwidth that
    the GPU's own clock may limit."""
    bandwidth = (
        np.minimum(memory, random.uniform(0.1, 0.5) + gpu) if random.random() < 0.3 else memory
    )
    steepness = 1.0 if random.random() < 0.6 else random.uniform(0.85, 1.0)
    total = np.zeros_like(gpu)
    for _ in range(random.integers(1, 7)):
        total += _overlapped(
            random, _part(random, 1.0) / gpu**steepness, _part(random, 0.6) / bandwidth
        )
    return total * _part(random, 0.5)


def _overlapped(random: Random, first: Array, second: Array) -> Array:
    """Two parts of a step: a sum, a maximum, or something between of one of three kinds."""
    high, low = np.maximum(first, second), np.minimum(first, second)
    sharpness, share = random.uniform(1.3, 8), random.uniform(0.05, 0.5)
    kinds: tuple[Callable[[], Array], ...] = (
        lambda: first + second,
        lambda: high,
        lambda: high * (1 + (low / high) ** sharpness) ** (1 / sharpness),
        lambda: high + share * low,
    )
    return kinds[random.integers(4)]()


def _steps(random: Random, cpu: Array, gpu: Array, memory: Array) -> Array:
    """A penalty below a threshold of one clock, in one law of four."""
    clock = (cpu, gpu, memory)[random.integers(3)]
    threshold, penalty = random.uniform(0.15, 0.6), random.uniform(0.05, 0.3)
    return 1 + _either(random, 0.25, penalty * (clock < threshold))


def _power(random: Random, uses: _Uses) -> Array:
    """Power relative to the largest of all modes."""
    busy = uses.busy_cores + random.uniform(0, 0.4) * (uses.cores - uses.busy_cores)
    volts_cpu, volts_gpu = _volts(random, uses.cpu), _volts(random, uses.gpu)
    parts = _part(random, 1.0) * uses.cpu * volts_cpu**2 * busy / 4
    idle = random.uniform(0, 0.6)
    parts = parts + _part(random, 1.5) * uses.gpu * volts_gpu**2 * (
        idle + (1 - idle) * uses.busy_gpu
    )
    use = random.uniform(0, 0.7)
    parts = parts + _part(random, 0.35) * uses.memory ** random.uniform(0.7, 1.3) * (
        1 - use + use * uses.busy_gpu
    )
    parts = (
        parts
        + _part(random, 0.12) * uses.cores / 8 * volts_cpu
        + _part(random, 0.12) * volts_gpu
        + _part(random, 0.7)
    )
    relative = parts / parts.max()
    # leakage, or losses of a converter
    relative = relative * (1 + _either(random, 0.4, random.uniform(0.05, 0.25)) * relative)
    return relative / relative.max()


def _volts(random: Random, clock: Array) -> Array:
    """Voltage by the clock, relative to the highest."""
    low, curve, knee, count = (
        random.uniform(0.5, 0.85),
        random.uniform(1.2, 2.5),
        random.uniform(0.2, 0.6),
        random.integers(4, 12),
    )
    kinds: tuple[Callable[[], Array], ...] = (
        lambda: clock,
        lambda: clock**curve,
        lambda: np.maximum(0, clock - knee) / (1 - knee),
        lambda: np.ceil(clock * count) / count,
    )
    return low + (1 - low) * kinds[random.integers(4)]()
