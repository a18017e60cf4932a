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
    """Two boards: one that sets its cores' number, one whose threads share a quota."""
    clocks = (("cpu_mhz", 2000.0), ("gpu_mhz", 1200.0), ("emc_mhz", 1600.0))
    lower = np.array([1200.0, 600.0, 800.0])
    for names, modes in (
        (("cores",), [(1,), (2,), (4,)]),
        (("cpu_quota", "threads"), [(0.5, 1), (0.5, 2), (1.5, 4), (4, 4)]),
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
                "threads": 1.0,
                **dict(zip(names, mode, strict=True)),
            }
            width = min(one["cores"], one["threads"] if "threads" in names else 4.0)
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


@pytest.mark.parametrize("column", range(4))
def test_a_higher_setting_never_takes_longer_where_power_is_not_limited(column: int) -> None:
    lower = MODES.rows[MODES.rows[:, column] < MODES.rows[:, column].max()]
    higher = lower.copy()
    higher[:, column] = MODES.rows[:, column].max()
    standard = parameters(limit=20)
    assert np.all(predicted(higher, standard)[0] <= predicted(lower, standard)[0] + 1e-9)


def test_power_stays_below_its_limit_and_the_time_grows_instead() -> None:
    free, limited = parameters(limit=20), parameters(limit=-2)
    limit = np.log(30.0) + PRIORS["limit"].centre - 2 * PRIORS["limit"].spread
    (time, power), (slower, lower) = predicted(MODES.rows, free), predicted(MODES.rows, limited)
    exceeds = power > limit
    assert exceeds.any()
    assert np.all(lower <= limit + 1e-9)
    assert np.all(slower[exceeds] >= time[exceeds] - 1e-9)
    assert np.array_equal(slower[~exceeds], time[~exceeds])


def test_overlap_reaches_from_the_sum_of_the_stages_to_their_maximum() -> None:
    together = np.exp(predicted(MODES.rows, parameters(limit=20, overlap=-20))[0])
    sequential = np.exp(predicted(MODES.rows, parameters(limit=20, overlap=20))[0])
    assert np.all(together <= sequential * (1 + 1e-9))
    # the larger of two is at least half of their sum
    assert np.all(together >= sequential / 2 * (1 - 1e-9))
    assert np.max(sequential / together) > 1.8


def test_voltage_is_constant_up_to_a_knee_and_rises_above_it() -> None:
    clocks = grid((Axis("gpu_mhz", (100, 200, 300, 400, 700, 1000)),))
    highest = ("limit", "gpu_knee", "gpu_voltage", "cpu_idle", "gpu_idle", "memory_idle")
    inputs = board_of(clocks).inputs(clocks.rows)
    standard = parameters(**dict.fromkeys(highest, 20.0))  # busy all the time
    power = np.exp(log_time_and_power(standard, inputs, (50.0, 30.0))[1])
    rise = np.diff(power, axis=1) / np.diff(clocks.rows[:, 0])
    assert np.allclose(rise[:, :3], rise[:, :1]), "proportional to the clock"
    assert np.all(rise[:, 4] > 2 * rise[:, 3])


def on_quotas(**fixed: float) -> dict[tuple[float, ...], np.ndarray]:
    """Times by (cores, quota, threads) of a board whose modes set all three."""
    settings = grid(
        (Axis("cores", (1, 2)), Axis("cpu_quota", (0.5, 1, 2)), Axis("threads", (1, 2, 4)))
    )
    given = board_of(settings).inputs(settings.rows)
    drawn = np.random.default_rng(1).standard_normal((SETS, len(given.priors)))
    for name, value in fixed.items():
        drawn[:, list(given.priors).index(name)] = value
    time, _ = log_time_and_power(drawn, given, (50.0, 30.0))
    return {tuple(row): time[:, index] for index, row in enumerate(settings.rows.tolist())}


def test_a_resource_that_the_modes_do_not_set_is_constant() -> None:
    by_mode = on_quotas(limit=20)
    assert np.all(by_mode[1, 0.5, 1] > by_mode[1, 1, 1])
    assert np.all(by_mode[2, 2, 2] < by_mode[2, 2, 1])


def test_threads_without_a_processor_each_wait_for_one_another_in_turns() -> None:
    by_mode = on_quotas(limit=20)
    assert np.all(by_mode[1, 1, 1] < by_mode[1, 1, 2]) and np.all(
        by_mode[1, 1, 2] < by_mode[1, 1, 4]
    )
    free = on_quotas(limit=20, turns=-30)
    assert np.array_equal(free[1, 0.5, 1], by_mode[1, 0.5, 1]), "one thread waits for none"
    assert np.array_equal(free[2, 2, 2], by_mode[2, 2, 2]), (
        "neither do as many as there are processors"
    )


def test_boards_whose_modes_set_neither_threads_nor_quotas_have_no_such_term() -> None:
    assert board_of(MODES).inputs(MODES.rows).priors is PRIORS
    # as many processors as the largest number of them
    threads = grid((Axis("threads", (1, 2, 4)), Axis("cpu_mhz", (400, 800))))
    assert board_of(threads).inputs(threads.rows).priors is PRIORS


def test_a_board_keeps_its_highest_clocks_for_modes_of_lower_ones() -> None:
    one = Modes(MODES.names, MODES.rows[:3])
    given = board_of(MODES).inputs(one.rows)
    assert np.allclose(given.cpu, one.rows[:, 1] / 2000)
