"""Counts of a step are differences of processes; records that cannot be true are refused."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.extensions.counted_steps.record import (
    COUNTED_STEPS,
    SCHEMA,
    SOURCE,
    Caches,
    CountedSteps,
    Counts,
    Process,
    TimedSteps,
    figures,
    rates,
    read_counted_steps,
)

FEWER, MORE = Counts(1000, 500, 50, 100, 10), Counts(3000, 1500, 150, 300, 30)


def record(*processes: Process) -> CountedSteps:
    """A record of LeNet-5 with an epoch of 90 steps, the last one smaller."""
    caches = Caches("a processor", (32768, 2, 64), (32768, 2, 64), (1048576, 16, 64))
    return CountedSteps(
        SCHEMA,
        "counts",
        SOURCE,
        "valgrind-3.19.0",
        caches,
        "a processor",
        "lenet",
        "digits",
        1438,
        16,
        1,
        1,
        processes,
    )


PAIR = Process("pytorch", "2.0", 5, FEWER), Process("pytorch", "2.0", 25, MORE)


def test_what_both_processes_have_is_no_part_of_a_step(tmp_path: Path) -> None:
    COUNTED_STEPS.write(tmp_path, asdict(record(*PAIR)))
    found = read_counted_steps(tmp_path)
    assert found == record(*PAIR) and found.of_step["pytorch"] == Counts(100, 50, 5, 10, 1)
    jax = [Process("jax", None, steps, Counts(*[steps * 7] * 5)) for steps in (15, 25, 5)]
    several = record(*jax, *reversed(PAIR), replace(PAIR[0], steps=9, counts=MORE))
    assert {name: (fewer.steps, more.steps) for name, (fewer, more) in several.pairs.items()} == {
        "jax": (5, 25),
        "pytorch": (5, 25),
    }
    assert several.of_step["jax"] == Counts(*[7] * 5) and list(several.of_step) == [
        "jax",
        "pytorch",
    ]
    of = figures(found)["pytorch"]
    assert (
        found.steps_per_epoch,
        of["instructions"],
        of["l1d_miss_ratio"],
        of["branch_mispredict_ratio"],
    ) == (90, 9000, 0.1, 0.1)


@pytest.mark.parametrize(
    ("processes", "said"),
    [
        ((), "must have 1 to"),
        (PAIR[:1], "must have two processes"),
        (
            (PAIR[0], replace(PAIR[1], counts=replace(MORE, l1d_refill=9999))),
            "more cache misses than accesses, or more mispredicted",
        ),
        (
            (PAIR[0], replace(PAIR[1], counts=replace(MORE, branch_mispredicts=1))),
            "more cache misses than accesses, or more mispredicted",
        ),
        (
            (PAIR[0], replace(PAIR[1], counts=replace(MORE, instructions=1000))),
            "must have a finite number above 0 of instructions",
        ),
    ],
)
def test_a_record_that_cannot_be_true_is_refused(
    processes: tuple[Process, ...], said: str, tmp_path: Path
) -> None:
    COUNTED_STEPS.write(tmp_path, asdict(record(*processes)))
    with pytest.raises(SuiteError, match=said):
        read_counted_steps(tmp_path)


def timed(*windows: TimedSteps) -> CountedSteps:
    return replace(record(*PAIR), timed=windows)


def test_rates_are_counted_instructions_over_the_time_of_the_same_steps_without_valgrind(
    tmp_path: Path,
) -> None:
    """A step has 100 instructions: 1e7 steps in a CPU second are 1e9 per second; at 0.5 GHz, two
    per cycle."""
    written = timed(
        TimedSteps("pytorch", 10**7, 1.0, 0.5e9), TimedSteps("pytorch", 10**7, 2.0, None)
    )
    COUNTED_STEPS.write(tmp_path, asdict(written))
    found = read_counted_steps(tmp_path)
    assert found == written
    assert rates(found)["pytorch"]["instructions_per_cpu_s"] == pytest.approx((1e9, 0.5e9))
    assert rates(found)["pytorch"]["ipc"] == pytest.approx((2.0,)), (
        "without a clock there are no cycles"
    )
    assert rates(record(*PAIR))["pytorch"] == {"instructions_per_cpu_s": (), "ipc": ()}


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (TimedSteps("chainer", 100, 1.0, 1e9), "at least 1 step, a finite CPU time"),
        (TimedSteps("pytorch", 0, 1.0, 1e9), "at least 1 step, a finite CPU time"),
        (TimedSteps("pytorch", 100, 0.0, 1e9), "at least 1 step, a finite CPU time"),
        (TimedSteps("pytorch", 100, 1.0, 5e10), r"impossible clock of the cores, 5e"),
    ],
)
def test_windows_that_cannot_be_are_refused(window: TimedSteps, said: str, tmp_path: Path) -> None:
    COUNTED_STEPS.write(tmp_path, asdict(timed(window)))
    with pytest.raises(SuiteError, match=said):
        read_counted_steps(tmp_path)
