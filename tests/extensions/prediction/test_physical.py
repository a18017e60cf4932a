"""The physical model: positive everywhere, monotone in the clocks, and between the sum and the
maximum of its stages."""

import numpy as np
import pytest

from suite.extensions.prediction.record.modes import Axis, Modes, grid
from suite.extensions.prediction.record.physical import PRIORS, Prior, board_of, log_time_and_power
from tests.extensions.prediction.boards import MODES

NAMES = list(PRIORS)
SETS = 200


def parameters(**fixed: float) -> np.ndarray:
    """Draws of the prior; ``fixed`` sets a parameter's standard normal number in all of them."""
    drawn = np.random.default_rng(1).standard_normal((SETS, len(NAMES)))
    for name, value in fixed.items():
        drawn[:, NAMES.index(name)] = value
    return drawn


VALUES = {
    **{"scale": 2.0, "fixed": 0.1, "storage": 0.3, "prepare": 0.4, "parallel": 0.6},
    **{"workers": 1.5, "load_traffic": 0.05, "launch": 0.2, "contention": 0.6, "arithmetic": 0.7},
    **{"traffic": 0.15, "overlap": 0.5, "roofline": 0.25, "queue": 0.8, "turns": 0.35},
    **{"static": 0.2, "core": 0.04, "cpu": 0.5, "cpu_voltage": 0.4, "cpu_knee": 0.3},
    **{"cpu_idle": 0.25, "cpu_waiting": 0.55, "gpu": 0.6, "gpu_voltage": 0.5, "gpu_knee": 0.2},
    **{"gpu_idle": 0.35, "memory": 0.1, "memory_voltage": 0.15, "memory_idle": 0.45, "limit": 99.0},
}


def law(
    width: float, quota: float, threads: float, clocks: tuple[float, float, float]
) -> tuple[float, float]:
    """Time and power of :data:`VALUES` by the formulas of the paper, on a board of four cores."""
    v, (cpu, gpu, memory) = VALUES, clocks
    used = min(width, quota, v["workers"])
    serial, whole = 1 - v["parallel"], min(quota, 1)
    work, traffic, read = v["prepare"] / cpu, v["traffic"] / memory, v["load_traffic"] / memory
    load = v["storage"] + work * (serial / whole + v["parallel"] / used) + read
    crowd = max(0, 3 - min(width, quota)) / 2
    launch = v["launch"] / cpu * (1 + v["contention"] * crowd) / whole
    kernels = ((v["arithmetic"] / gpu) ** 4 + traffic**4) ** (1 / 4)
    compute = (launch**1.25 + kernels**1.25) ** (1 / 1.25)
    waits = v["turns"] * (threads / min(width, quota) - 1 if threads > 1 else 0)
    total, load = v["fixed"] + (load**2 + compute**2) ** (1 / 2) + waits, load + waits

    def dynamic(clock: float, rise: float, knee: float) -> float:
        return clock * (1 - rise * min((1 - clock) / (1 - knee), 1)) ** 2

    waiting, working = load / total * used, (work + launch) / total
    busy = min(width, working + v["cpu_waiting"] * (waiting - working))
    cores = (busy + v["cpu_idle"] * (width - busy)) / 4
    of_gpu, of_memory = kernels / total, (traffic + read) / total
    power = (
        v["static"]
        + v["core"] * width / 4
        + v["cpu"] * dynamic(cpu, v["cpu_voltage"], v["cpu_knee"]) * cores
        + v["gpu"]
        * dynamic(gpu, v["gpu_voltage"], v["gpu_knee"])
        * (of_gpu + v["gpu_idle"] * (1 - of_gpu))
        + v["memory"]
        * dynamic(memory, v["memory_voltage"], 0)
        * (of_memory + v["memory_idle"] * (1 - of_memory))
    )
    return 50 * v["scale"] * total, 30 * power


def test_time_and_power_are_those_of_the_stages() -> None:
    """Three boards: one that sets its cores' number, one whose threads share a quota, and one that
    says nothing of the threads, which are as many as its largest quota."""
    clocks = (("cpu_mhz", 2000.0), ("gpu_mhz", 1200.0), ("emc_mhz", 1600.0))
    lower = np.array([1200.0, 600.0, 800.0])
    for names, modes in (
        (("cores",), [(1,), (2,), (4,)]),
        (("cpu_quota", "threads"), [(0.5, 1), (0.5, 2), (1.5, 4), (4, 4)]),
        (("cpu_quota",), [(0.5,), (1.5,), (4,)]),
    ):
        rows = np.array([[*mode, *lower] for mode in modes])
        every = Modes(
            (*names, *dict(clocks)), np.vstack([rows, [*modes[-1], *dict(clocks).values()]])
        )
        given = board_of(every).inputs(rows)
        standard = np.array(
            [[_standard(prior, VALUES[name]) for name, prior in given.priors.items()]]
        )
        found = np.exp(log_time_and_power(standard, given, (50.0, 30.0)))
        for place, mode in enumerate(modes):
            one = {
                "cores": 4.0,
                "cpu_quota": 4.0,
                "threads": 1.0 if "cores" in names else 4.0,
                **dict(zip(names, mode, strict=True)),
            }
            width = min(one["cores"], one["threads"] if "cpu_quota" in names else 4.0)
            expected = law(width, one["cpu_quota"], one["threads"], (0.6, 0.5, 0.5))
            assert found[:, 0, place] == pytest.approx(expected, rel=1e-6), (names, mode)


def _standard(prior: Prior, value: float) -> float:
    """The standard normal number of a parameter's value."""
    if prior.bounds is not None:
        low, high = prior.bounds
        value = (value - low) / (high - value)
    return (np.log(value) - prior.centre) / prior.spread


def predicted(rows: np.ndarray, standard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return log_time_and_power(standard, board_of(MODES).inputs(rows), (50.0, 30.0))


def test_time_and_power_are_positive_and_finite_in_every_mode() -> None:
    for values in predicted(MODES.rows, 2 * parameters()):
        assert values.shape == (SETS, len(MODES))
        assert np.all(np.isfinite(values))


def test_power_stays_below_its_limit_and_the_time_grows_instead() -> None:
    free, limited = parameters(limit=20), parameters(limit=-2)
    limit = np.log(30.0) + PRIORS["limit"].centre - 2 * PRIORS["limit"].spread
    (time, power), (slower, lower) = predicted(MODES.rows, free), predicted(MODES.rows, limited)
    exceeds = power > limit
    assert exceeds.any()
    assert np.all(lower <= limit + 1e-9)
    assert np.all(slower[exceeds] >= time[exceeds] - 1e-9)
    assert np.array_equal(slower[~exceeds], time[~exceeds])


def test_boards_whose_modes_set_neither_threads_nor_quotas_have_no_such_term() -> None:
    assert board_of(MODES).inputs(MODES.rows).priors is PRIORS
    # as many processors as the largest number of them
    threads = grid((Axis("threads", (1, 2, 4)), Axis("cpu_mhz", (400, 800))))
    assert board_of(threads).inputs(threads.rows).priors is PRIORS


def test_a_board_keeps_its_highest_clocks_for_modes_of_lower_ones() -> None:
    one = Modes(MODES.names, MODES.rows[:3])
    given = board_of(MODES).inputs(one.rows)
    assert np.allclose(given.cpu, one.rows[:, 1] / 2000)
