"""Steps against the log at the limits of the rules: times, samples, and how a run ends."""

import math
from typing import Any

import pytest

from suite.compliance.rule import BundleContext
from tests.checks_alone import bundle, found, log, steps, varied


def epoch(*stops: tuple[float, int]) -> Any:
    """The log of epochs that begin at 10 s, 20 s, …: when each ends, and the steps that it says."""
    events: list[Any] = []
    for number, (stop_s, count) in enumerate(stops, start=1):
        of = {"epoch_num": number}
        events.append(("epoch_start", 10.0 * number, 0, of))
        events.append(("epoch_stop", stop_s, 0, {**of, "steps": count}))
    return log(*events)


@pytest.mark.parametrize(
    ("check", "starts_s", "compute_s", "stops", "observed"),
    [
        ("steps-in-time", (10, 10.5), 0.5, ((11, 2),), []),
        (
            "steps-in-time",
            (10, 10.499),
            0.5,
            ((11, 2),),
            ["step 2 of epoch 1 begins 0.001 s before"],
        ),
        (
            "steps-in-time",
            (10, 10.501),
            0.5,
            ((11, 2),),
            ["step 2 ends 0.001 s after epoch_stop; 1 such"],
        ),
        (
            "steps-in-time",
            (9.999, 10.5),
            0.5,
            ((11, 2),),
            ["step 1 begins 0.001 s before epoch_start"],
        ),
        ("steps-in-time", (10, 10.5), -0.1, ((11, 2),), ["-0.1 s in step 1 of epoch 1; 2 such"]),
        ("epoch-ends", (10, 10.5), 0.5, ((11.0099, 2),), []),
        ("epoch-ends", (10, 10.5), 0.5, ((11.0101, 2),), ["0.010 s after the end of step 2"]),
        ("epoch-ends", (10, 10.5), 0.5, ((10.9899, 2),), ["0.010 s before the end of step 2"]),
        ("epoch-ends", (10, 10.5), math.nan, ((10.9, 2),), []),
        ("epoch-ends", (10, 10.5), math.nan, ((10.4, 2),), ["0.100 s before the end of step 2"]),
        ("epoch-ends", (10, 10.5), 0.5, ((11, 3),), ["steps = 3"]),
        ("epoch-filled", (10,), 0.9, ((11, 1),), []),
        ("epoch-filled", (10,), 0.899, ((11, 1),), ["in 1 of 1 epoch (1), least in epoch 1"]),
    ],
)
def test_steps_lie_within_the_logged_times_of_their_epoch(
    check: str,
    starts_s: Any,
    compute_s: float,
    stops: Any,
    observed: list[str],
    context: BundleContext,
) -> None:
    parts = {"copy_s": math.nan, "communication_s": math.nan} if math.isnan(compute_s) else {}
    made = steps(1, starts_s, compute_s=compute_s, **parts)
    logged = epoch(*stops)
    given = found(check, varied(context, steps=made, log=logged, bundle=bundle(logged)))
    assert len(given) == len(observed)
    assert all(text in each.observed for each, text in zip(given, observed, strict=True))


SMALL: dict[str, Any] = {"data": {"train_samples": 100}, "global_batch_size": 32}


@pytest.mark.parametrize(
    ("samples", "numbers", "limit", "count"),
    [
        ((32, 32, 32, 4), (1, 2, 3, 4), None, 0),
        ((32, 32, 4, 32), (1, 2, 3, 4), None, 1),
        ((32, 32, 32), (1, 2, 3), None, 1),
        ((32, 32, 32), (1, 2, 3), 3, 0),
        ((32, 32, 32), (1, 2, 3), 4, 1),
        ((32, 32, 32, 4), (1, 3, 2, 4), None, 1),
        ((32, 32, 32, 4), (2, 3, 4, 5), None, 1),
    ],
)
def test_an_epoch_has_each_sample_once(
    samples: tuple[int, ...],
    numbers: tuple[int, ...],
    limit: int | None,
    count: int,
    context: BundleContext,
) -> None:
    """The last mini-batch has what is left; a step limit may cut the last epoch short."""
    made = steps(1, samples=samples, step=numbers)
    request = {**SMALL, "steps": limit}
    assert (
        len(
            found(
                "steps-complete", varied(context, steps=made, log=epoch((11, 0)), request=request)
            )
        )
        == count
    )


def trained(epochs: int, evaluated: dict[int, float], status: str = "success") -> Any:
    """A log of ``epochs`` epochs, with the accuracies of some."""
    events: list[Any] = [("run_start", 0, 0)]
    for number in range(1, epochs + 1):
        of = {"epoch_num": number}
        events += [("epoch_start", number, 0, of), ("epoch_stop", number, 0, of)]
        if number in evaluated:
            logged = {
                **of,
                "value": evaluated[number],
                "correct": round(evaluated[number] * 10_000),
            }
            events.append(("eval_accuracy", number, 0, logged))
    return log(*events, ("run_stop", 99, 0, {"status": status}))


@pytest.mark.parametrize(
    ("request_", "epochs", "evaluated", "status", "checks"),
    [
        ({}, 2, {1: 0.98, 2: 0.99}, "success", set()),
        ({}, 2, {1: 0.98, 2: 0.99}, "aborted", {"status-follows"}),
        (
            {},
            2,
            {1: 0.98, 2: 0.9899},
            "aborted",
            {"ends-as-asked", "target-reached", "target-missed"},
        ),
        ({}, 2, {1: 0.99, 2: 0.98}, "success", {"ends-as-asked"}),
        ({}, 10, dict.fromkeys(range(1, 11), 0.98), "aborted", {"target-reached", "target-missed"}),
        ({}, 11, {**dict.fromkeys(range(1, 11), 0.98), 11: 0.99}, "success", {"epochs-in-order"}),
        ({"eval_every_epochs": 2}, 5, {2: 0.1, 4: 0.1, 5: 0.99}, "success", set()),
        (
            {"eval_every_epochs": 2},
            5,
            {2: 0.1, 4: 0.1},
            "aborted",
            {"epochs-in-order", "ends-as-asked", "target-reached", "target-missed"},
        ),
        ({"eval_every_epochs": 2}, 4, {2: 0.1, 3: 0.1, 4: 0.99}, "success", {"epochs-in-order"}),
        ({"steps": 7, **SMALL}, 2, {1: 0.1}, "aborted", {"target-reached"}),
        (
            {"steps": 8, **SMALL},
            2,
            {1: 0.1, 2: 0.1},
            "aborted",
            {"ends-as-asked", "target-reached"},
        ),
        (
            {"target_accuracy": None},
            10,
            dict.fromkeys(range(1, 11), 0.98),
            "success",
            {"target-reached", "target-missed"},
        ),
        ({}, 2, {1: 0.98, 2: 1.0}, "success", set()),
        ({}, 2, {1: 0.0, 2: 1.0}, "success", set()),
    ],
)
def test_a_run_ends_where_it_was_asked_to(
    request_: dict[str, Any],
    epochs: int,
    evaluated: dict[int, float],
    status: str,
    checks: set[str],
    context: BundleContext,
) -> None:
    """At the target of 99 %, after ten epochs, or at its step limit: seven steps here."""
    logged = trained(epochs, evaluated, status)
    made = varied(context, steps=steps([1] * 4 + [2] * 3), log=logged, request=request_)
    judged = (
        "epochs-in-order",
        "ends-as-asked",
        "status-follows",
        "target-reached",
        "target-missed",
        "accuracy-counts",
    )
    assert {check for check in judged if found(check, made)} == checks
