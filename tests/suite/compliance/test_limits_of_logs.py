"""Logs at the limits of the rules: what a limit says complies, and a whisker more does not."""

from collections.abc import Mapping
from typing import Any

import pytest

from suite.compliance.rule import BundleContext
from tests.checks_alone import At, bundle, found, log, varied

HOUR_S = 3600.0


def wall(*moments: tuple[float, float]) -> tuple[At, ...]:
    """Events at these times of the monotonic and the wall clock, s."""
    return tuple(("seed", mono_s, wall_s) for mono_s, wall_s in moments)


def run(*events: tuple[str, float] | tuple[str, float, Mapping[str, Any]]) -> tuple[At, ...]:
    """Events at these times of both clocks."""
    return tuple((key, at_s, at_s, *more) for key, at_s, *more in events)  # type: ignore[misc]


def of(number: int, **more: Any) -> dict[str, Any]:
    """The metadata of an event of this epoch."""
    return {"epoch_num": number, **more}


LOGS: dict[str, tuple[str, tuple[At, ...], int]] = {
    "the wall clock steps a quarter of a second ahead": ("wall-clock", wall((0, 0), (1, 1.25)), 0),
    "and a thousandth more": ("wall-clock", wall((0, 0), (1, 1.251)), 1),
    "or back": ("wall-clock", wall((0, 9), (1, 9.749)), 1),
    "a quarter back": ("wall-clock", wall((0, 9), (1, 9.75)), 0),
    "an event without a time in between hides no step": (
        "wall-clock",
        (("seed", 0, 0), ("model", None, 0), ("seed", 1, 2)),
        1,
    ),
    "two of three long intervals differ by more than 50 ms and a thousandth": (
        "wall-clock-rate",
        wall((0, 0), (10, 10.07), (20, 20.14), (30, 30.14)),
        1,
    ),
    "by 55 ms of ten seconds": ("wall-clock-rate", wall((0, 0), (10, 10.055), (20, 20.11)), 0),
    "half of the intervals": (
        "wall-clock-rate",
        wall((0, 0), (10, 11), (20, 22), (30, 32), (40, 42)),
        0,
    ),
    "the only interval, a single step": ("wall-clock-rate", wall((0, 0), (10, 11)), 0),
    "a second each": ("wall-clock-rate", wall((0, 0), (1, 1.1), (2, 2.2)), 1),
    "shorter ones are not compared": ("wall-clock-rate", wall((0, 0), (0.9, 1.8), (1.8, 3.6)), 0),
    "the wall clock runs twice as fast": (
        "log-clocks-run",
        wall((0, 0), (1, 2), (2, 4), (3, 6)),
        0,
    ),
    "more than twice": ("log-clocks-run", wall((0, 0), (1, 2.1), (2, 4.2), (3, 6.3)), 1),
    "half as fast": ("log-clocks-run", wall((0, 0), (0.5, 0.25), (1, 0.5), (1.5, 0.75)), 0),
    "less than half": ("log-clocks-run", wall((0, 0), (0.5, 0.24), (1, 0.48), (1.5, 0.72)), 1),
    "in two intervals only": ("log-clocks-run", wall((0, 0), (1, 9), (2, 18)), 0),
    "one of three intervals is a step": (
        "log-clocks-run",
        wall((0, 0), (1, 1), (2, 99), (3, 100)),
        0,
    ),
    "the first event at the boot": ("log-clocks-run", wall((0, 0)), 0),
    "before the boot": ("log-clocks-run", wall((-1e-9, 0)), 1),
    "a key once in each epoch": (
        "log-keys-once",
        run(("learning_rates", 1, of(1)), ("learning_rates", 2, of(2)), ("seed", 3)),
        0,
    ),
    "twice in one of them": (
        "log-keys-once",
        run(
            ("learning_rates", 1, of(1)), ("learning_rates", 2, of(2)), ("learning_rates", 3, of(2))
        ),
        1,
    ),
    "half an hour of initialisation": (
        "initialisation-capped",
        run(("init_start", 0), ("run_start", HOUR_S / 2)),
        0,
    ),
    "and a millisecond": (
        "initialisation-capped",
        run(("init_start", 0), ("run_start", HOUR_S / 2 + 0.001)),
        1,
    ),
    "a run that never started": ("initialisation-capped", run(("init_start", 0)), 0),
    "2 ns for each parameter": (
        "initialisation-takes",
        run(("parameters", 0, {"value": 500_000}), ("init_start", 0), ("init_stop", 0.001)),
        0,
    ),
    "a nanosecond less in all": (
        "initialisation-takes",
        run(("parameters", 0, {"value": 500_000}), ("init_start", 0), ("init_stop", 999_999e-9)),
        1,
    ),
    "an unknown number of parameters": (
        "initialisation-takes",
        run(("init_start", 0), ("init_stop", 0)),
        0,
    ),
    "five seconds and a tenth of the mean epoch, 20 s, between two": (
        "time-accounted",
        run(
            ("run_start", 0),
            ("epoch_start", 0, of(1)),
            ("epoch_stop", 10, of(1)),
            ("eval_start", 17, of(1)),
            ("eval_stop", 18, of(1)),
            ("epoch_start", 25, of(2)),
            ("epoch_stop", 55, of(2)),
            ("run_stop", 62),
        ),
        0,
    ),
    "a whisker more before the evaluation and before the end": (
        "time-accounted",
        run(
            ("run_start", 0),
            ("epoch_start", 0, of(1)),
            ("epoch_stop", 10, of(1)),
            ("eval_start", 17.1, of(1)),
            ("eval_stop", 18, of(1)),
            ("epoch_start", 25, of(2)),
            ("epoch_stop", 55, of(2)),
            ("run_stop", 62.1),
        ),
        2,
    ),
    "before run_start and after run_stop nothing is accounted for": (
        "time-accounted",
        run(
            ("init_start", 0),
            ("run_start", 99),
            ("run_stop", 99),
            ("eval_start", 199),
        ),
        0,
    ),
    "each end of the run once, in order": (
        "log-events",
        run(("init_start", 0), ("init_stop", 1), ("run_start", 1), ("run_stop", 2)),
        0,
    ),
    "it stops before it starts": (
        "log-events",
        run(("init_start", 0), ("init_stop", 1), ("run_stop", 1), ("run_start", 2)),
        1,
    ),
    "an epoch after the run": (
        "epochs-in-order",
        run(
            ("run_start", 0),
            ("epoch_start", 0, of(1)),
            ("run_stop", 1),
            ("epoch_stop", 1, of(1)),
            ("eval_accuracy", 1, of(1)),
        ),
        1,
    ),
    "the clock stands still": ("log-clock", run(("seed", 1), ("model", 1)), 0),
    "and goes back": ("log-clock", run(("seed", 1), ("model", 1 - 1e-9)), 1),
}
"""What is logged, by the check that judges it, and the number of its findings."""


@pytest.mark.parametrize(("check", "events", "count"), [*LOGS.values()], ids=LOGS)
def test_a_log(check: str, events: tuple[At, ...], count: int, context: BundleContext) -> None:
    made = log(*events)
    assert len(found(check, varied(context, log=made, bundle=bundle(made)))) == count


def times_of(*uncounted_s: float, reason: str = "state", length_s: float = 100.0) -> tuple[At, ...]:
    """A run of some length with an epoch, and an interval after it, for each time left out."""
    events: list[Any] = [("run_start", 0)]
    for epoch, left_out_s in enumerate(uncounted_s, start=1):
        at_s = 10.0 * epoch
        events += [
            ("epoch_start", at_s - 5, of(epoch)),
            ("epoch_stop", at_s, of(epoch)),
            ("uncounted_start", at_s, {"reason": reason}),
            ("uncounted_stop", at_s + left_out_s, {"reason": reason}),
        ]
    return run(*events, ("run_stop", length_s))


STATES_S = 0.05 + 12 * 61706 / 1e7 - 1e-6
"""Most for digesting a state of LeNet-5 that is not kept: a call, and 12 bytes a parameter; less a
microsecond."""


@pytest.mark.parametrize(
    ("check", "events", "expected"),
    [
        ("uncounted-bounded", times_of(3.5, 3.5), []),
        ("uncounted-bounded", times_of(3.5, 3.501), ["2 s + 5% of the run time of 100"]),
        ("uncounted-bounded", times_of(59.999, length_s=9e3), []),
        ("uncounted-bounded", times_of(60.001, length_s=9e3), ["60 s per uncounted interval"]),
        ("uncounted-bounded", times_of(9.999, reason="receipt", length_s=999), []),
        (
            "uncounted-bounded",
            times_of(10.1, reason="receipt", length_s=999),
            ["10 s per uncounted interval"],
        ),
        ("uncounted-bounded", times_of(1, reason="tea"), ["reasons state, receipt, pause"]),
        ("uncounted-needed", times_of(STATES_S, STATES_S, STATES_S), []),
        (
            "uncounted-needed",
            times_of(STATES_S + 0.001),
            [f"at most {STATES_S:.3g} s in the median"],
        ),
        ("uncounted-needed", times_of(0, 0, STATES_S * 3 + 0.99), []),
        (
            "uncounted-needed",
            times_of(0, 0, STATES_S * 3 + 1.01),
            [f"at most {STATES_S * 3 + 1:.3g} s in all"],
        ),
        ("uncounted-needed", times_of(0.1, reason="receipt"), ["no reason except `state`"]),
    ],
)
def test_what_is_not_counted(
    check: str, events: tuple[At, ...], expected: list[str], context: BundleContext
) -> None:
    given = found(check, varied(context, log=log(*events)))
    assert len(given) == len(expected)
    for violation, text in zip(given, expected, strict=True):
        assert text in violation.expected


@pytest.mark.parametrize(
    ("words", "count"), [(("--threads", "4"), 1), (("--keep-states",), 0), (("--short", "6"), 0)]
)
def test_a_run_that_keeps_its_states_may_take_the_time_to_write_them(
    words: tuple[str, ...], count: int, context: BundleContext
) -> None:
    made = varied(context, log=log(*times_of(1.0, 1.0)), run={"command": ("suite", "run", *words)})
    assert len(found("uncounted-needed", made)) == count


@pytest.mark.parametrize(
    ("wall_s", "offset_s", "ranks"),
    [
        ((0, 60, -60), (0, 500, -70), []),
        ((0, 60.1, -60), (0, 500, -70), [1]),
        ((0, 0, -60.1), (0, 500, -70), [2]),
        ((61, 0, 0), (0, 500, -70), [1, 2]),
    ],
)
def test_the_times_of_day_of_three_ranks_agree_to_a_minute(
    wall_s: tuple[float, ...], offset_s: tuple[int, ...], ranks: list[int], context: BundleContext
) -> None:
    """``offset_s`` is how far each rank's monotonic clock is ahead of rank 0's."""
    offsets = [[ahead * 10**9, 1000] for ahead in offset_s]
    logs = [
        log(
            ("model", None, 99_999),
            ("clock_offsets_ns", 100 + ahead, day, {"value": offsets}),
            ("seed", 900 + ahead, 900),
        )
        for day, ahead in zip(wall_s, offset_s, strict=True)
    ]
    of_three = varied(
        context, request={"parallel": {"ranks": 3}}, log=logs[0], bundle=bundle(*logs)
    )
    assert [each.file for each in found("nodes-times-of-day", of_three)] == [
        f"log.rank{rank}.txt" for rank in ranks
    ]


@pytest.mark.parametrize(("stop_s", "count"), [(35, 0), (35.2, 1)])
def test_other_ranks_wait_while_the_first_keeps_a_state(
    stop_s: float, count: int, context: BundleContext
) -> None:
    """For 19 s, and 5 s and a tenth of an epoch more."""

    def ends(uncounted_s: float, stop_s: float) -> tuple[At, ...]:
        return run(
            ("run_start", 0),
            ("epoch_start", 0, of(1)),
            ("epoch_stop", 10, of(1)),
            ("uncounted_start", 10, of(1)),
            ("uncounted_stop", 10 + uncounted_s, of(1)),
            ("run_stop", stop_s),
        )

    logs = [log(*ends(19, 29)), log(*ends(0.1, stop_s))]
    of_two = varied(context, request={"parallel": {"ranks": 2}}, log=logs[0], bundle=bundle(*logs))
    assert [each.file for each in found("time-accounted", of_two)] == ["log.rank1.txt"] * count
