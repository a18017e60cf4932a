"""Step records at the limits of the rules: what a limit says complies, a whisker more does not."""

import math
from typing import Any

import numpy as np
import pytest

from suite.bundle.steps import StepRecords
from suite.compliance.rule import BundleContext
from tests.checks_alone import found, log, steps, varied

GUESS = math.log(10)
DRAWN = np.random.default_rng(7)
NS = 1e-9


def losses(*given: Any) -> StepRecords:
    """An epoch with these losses, as float32 numbers."""
    return steps(1, loss=np.concatenate(given).astype(np.float32))


def high(count: int) -> Any:
    """Different losses near the loss of guessing."""
    return np.linspace(2.4, 2.2, count)


def low(count: int) -> Any:
    """Different losses of a trained model."""
    return np.linspace(0.2, 0.1, count)


def times(equal: int, others: int, fetch: Any = 0, **more: Any) -> StepRecords:
    """Steps that compute equally long, and others that are far off, as many faster as slower."""
    apart = np.arange(1, others + 1) * np.where(np.arange(others) % 2, 1e-4, -1e-4)
    return steps(1, compute_s=[*[0.01] * equal, *(0.01 + apart)], fetch_stall_s=fetch, **more)


def waiting(count: int) -> StepRecords:
    """Steps of a small program among many: even ones, a third of which waited for the core."""
    even_ns = DRAWN.normal(1_122_000, 150, count).round()
    waited_ns = np.where(np.arange(count) % 3, 0, DRAWN.uniform(1e6, 4e7, count).round())
    return steps(1, compute_s=(even_ns + waited_ns) * NS)


def two(*columns: tuple[str, Any, Any], by: str = "epoch", **more: Any) -> StepRecords:
    """Two epochs, or two ranks, with these columns."""
    count = len(columns[0][1])
    both = {name: np.concatenate([one, other]) for name, one, other in columns}
    place = np.repeat([0, 1], count)
    number = np.arange(2 * count) % count + 1 if by == "rank" else np.arange(2 * count) + 1
    which = {"epoch": 1, "rank": place} if by == "rank" else {"epoch": place + 1}
    return steps(**{**which, "step": number, **both, **more})


def sharing(count: int, shared: int) -> tuple[Any, Any]:
    """Two lists of different numbers, the first of which they share."""
    one, other = np.arange(count) * 3.0 + 1000, np.arange(count) * 3.0 + 1001
    return one, np.concatenate([one[:shared], other[shared:]])


def timed(count: int, shared: int, by: str = "epoch") -> StepRecords:
    """Two parts of a run that share the times of some steps."""
    one, other = sharing(count, shared)
    stall_s = np.arange(count) * 5e-9
    return two(("compute_s", one * NS, other * NS), ("fetch_stall_s", stall_s, stall_s), by=by)


def waits(*wait_s: float) -> StepRecords:
    """Steps that wait for the exchange."""
    return steps(1, compute_s=0.01, communication_s=wait_s)


RANKS: dict[str, Any] = {"parallel": {"ranks": 2, "nodes": 2, "collective": "mpi"}}
NATIVE: dict[str, Any] = {"parallel": {**RANKS["parallel"], "collective": "native"}}
ONE_NODE: dict[str, Any] = {"parallel": {**RANKS["parallel"], "nodes": 1}}
OPEN: dict[str, Any] = {"division": "open"}
FOREIGN: dict[str, Any] = {"framework": "mine"}
REPEATED: dict[str, Any] = {"batches": "synthetic"}
NEW_LOSSES = DRAWN.uniform(1.0, 2.0, 120)
CASES: dict[str, tuple[str, StepRecords, dict[str, Any], int]] = {
    "a loss of zero": ("losses-possible", losses(high(20), [0.0]), {}, 0),
    "less than that": ("losses-possible", losses(high(20), [-1e-9]), {}, 1),
    "two different of eleven": ("losses-possible", losses([2.2] * 10, [2.3]), {}, 0),
    "one of eleven": ("losses-possible", losses([2.2] * 11), {}, 1),
    "one of eleven of a mini-batch that is repeated": (
        "losses-possible",
        losses([2.2] * 11),
        REPEATED,
        0,
    ),
    "one of ten": ("losses-possible", losses([2.2] * 10), {}, 0),
    "a mean of half the loss of guessing": (
        "losses-possible",
        losses([GUESS * 5 - 9 * 0.1 + 1e-4], [0.1] * 9),
        {},
        0,
    ),
    "of less": ("losses-possible", losses([GUESS * 5 - 9 * 0.1 - 1e-4], [0.1] * 9), {}, 1),
    "of three times it": ("losses-possible", losses(GUESS * np.linspace(2.9, 3.09, 10)), {}, 0),
    "of more": ("losses-possible", losses(GUESS * np.linspace(3.0, 3.01, 10)), {}, 1),
    "of more in an open run": (
        "losses-possible",
        losses(GUESS * np.linspace(3.0, 3.01, 10)),
        OPEN,
        0,
    ),
    "two of a hundred like the one before": (
        "losses-measured",
        losses(high(98), [2.2, 2.2]),
        {},
        0,
    ),
    "three of them": ("losses-measured", losses(high(97), [2.2] * 3), {}, 1),
    "three of ninety-nine": ("losses-measured", losses(high(96), [2.2] * 3), {}, 0),
    "from untrained to trained in ten steps": ("losses-fall", losses(high(10), low(10)), {}, 1),
    "with one that stands out in both": (
        "losses-fall",
        losses(high(9), [0], low(9), [90]),
        {},
        1,
    ),
    "in twenty": ("losses-fall", losses(high(10), [0.8] * 10, low(10)), {}, 0),
    "before there are ten after ten": ("losses-fall", losses(high(10), low(9)), {}, 0),
    "a loss of float64": ("losses-float32", steps(1, loss=[0.5, 0.1]), {}, 1),
    "a mean over ranks": ("losses-float32", steps(1, loss=[0.5, 0.1]), RANKS, 0),
    "by a stranger's program": ("losses-float32", steps(1, loss=[0.5, 0.1]), FOREIGN, 0),
    "five hundred that only fall": ("losses-scatter", losses(high(500)), {}, 1),
    "one fewer": ("losses-scatter", losses(high(499)), {}, 0),
    "of a mini-batch that is repeated": ("losses-scatter", losses(high(500)), REPEATED, 0),
    "eight losses again": ("losses-own", losses(NEW_LOSSES, NEW_LOSSES[40:48]), {}, 1),
    "eight of a mini-batch that is repeated": (
        "losses-own",
        losses(NEW_LOSSES, NEW_LOSSES[40:48]),
        REPEATED,
        0,
    ),
    "seven again": ("losses-own", losses(NEW_LOSSES, NEW_LOSSES[40:47]), {}, 0),
    "eight, three of them different": (
        "losses-own",
        losses([1, 2, 3, 1] * 2, [9], [1, 2, 3, 1] * 2),
        {},
        0,
    ),
    "twenty of 199 equal on two ranks": (
        "losses-of-ranks",
        two(("loss", *sharing(199, 20)), by="rank"),
        RANKS,
        1,
    ),
    "a tenth of them": ("losses-of-ranks", two(("loss", *sharing(200, 20)), by="rank"), RANKS, 0),
    "nineteen": ("losses-of-ranks", two(("loss", *sharing(50, 19)), by="rank"), RANKS, 0),
    "half of an epoch's losses in one ratio to another's": (
        "epoch-losses-own",
        two(("loss", NEW_LOSSES, 2 * np.r_[NEW_LOSSES[:60], NEW_LOSSES[60:] ** 2 + 2])),
        {},
        0,
    ),
    "the mean fetch of a sample 50 ns, one long fetch aside": (
        "fetch-takes",
        steps(1, fetch_stall_s=[1600 * NS, 1600 * NS, 1]),
        {},
        0,
    ),
    "less": ("fetch-takes", steps(1, fetch_stall_s=[1599 * NS, 1599 * NS, 1]), {}, 1),
    "less with a worker": (
        "fetch-takes",
        steps(1, fetch_stall_s=1599 * NS),
        {"loading": {"workers": 1}},
        0,
    ),
    "less of batches in memory": (
        "fetch-takes",
        steps(1, fetch_stall_s=1599 * NS),
        {"batches": "synthetic"},
        0,
    ),
    "20 ns between steps, and none between epochs": (
        "steps-apart",
        steps([1, 1, 1, 2, 2], [0, 120 * NS, 240 * NS, 340 * NS, 460 * NS], compute_s=100 * NS),
        {},
        0,
    ),
    "19 ns": (
        "steps-apart",
        steps([1, 1, 1, 1], [0, 119 * NS, 238 * NS, 900 * NS], compute_s=100 * NS),
        {},
        1,
    ),
    "half of the fetches take no time": (
        "parts-taken",
        steps(1, compute_s=1, fetch_stall_s=[0, 0, 1, 1]),
        {},
        0,
    ),
    "most of them": (
        "parts-taken",
        steps(1, compute_s=1, fetch_stall_s=[0, 0, 0, 1, 1]),
        {},
        1,
    ),
    "one step computes nothing": (
        "parts-taken",
        steps(1, compute_s=[1, 0, 1], fetch_stall_s=1),
        {},
        1,
    ),
    "no copies to a GPU": (
        "parts-taken",
        steps(1, compute_s=1, fetch_stall_s=1),
        {"accelerator": "cuda"},
        1,
    ),
    "no exchange of ranks": (
        "parts-taken",
        steps(1, compute_s=1, fetch_stall_s=1),
        {"parallel": {"ranks": 2, "overlap": False}},
        1,
    ),
    "no exchange that the backward pass did not hide": (
        "parts-taken",
        steps(1, compute_s=1, fetch_stall_s=1),
        {"parallel": {"ranks": 2, "overlap": True}},
        0,
    ),
    "ten and twenty times the likely number alike": ("step-times-scatter", times(30, 10), {}, 0),
    "one more": ("step-times-scatter", times(31, 9), {}, 1),
    "every computation alike, measured apart from the step": (
        "step-times-scatter",
        times(40, 0, np.arange(40) * 1e-4),
        {},
        0,
    ),
    "even steps of which every third had to wait": ("step-times-scatter", waiting(7500), {}, 0),
    "all but one": ("step-times-scatter", times(39, 1, np.arange(40) * 1e-4), {}, 1),
    "a part of 10 ms and half a nanosecond": (
        "step-times-whole",
        steps(1, copy_s=0.0100000005),
        {},
        1,
    ),
    "by another loop": ("step-times-whole", steps(1, copy_s=0.0100000005), FOREIGN, 0),
    "a tenth of two epochs' steps alike": ("step-times-pairs", timed(200, 20), {}, 0),
    "one more of them": ("step-times-pairs", timed(200, 21), {}, 1),
    "twenty of a hundred on two ranks": ("step-times-pairs", timed(100, 20, "rank"), RANKS, 1),
    "fewer than twenty": ("step-times-pairs", timed(100, 19), {}, 0),
    "thirty computations alike in two halves": ("epoch-times-own", timed(200, 30), {}, 0),
    "thirty-one": ("epoch-times-own", timed(200, 31), {}, 1),
    "in shorter halves": ("epoch-times-own", timed(199, 31), {}, 0),
    "one step of a single rank that waits": ("ranks-exchange", waits(0, 0, 1), {}, 1),
    "one update without a wait": ("ranks-exchange", waits(1, 1, 0), RANKS, 1),
    "on one node": ("ranks-exchange", waits(1, 1, 0), ONE_NODE, 0),
    "by the framework's own sum": ("ranks-exchange", waits(1, 1, 0), NATIVE, 0),
    "a microsecond in the median": ("exchange-takes", waits(1e-6, 0, 1e-6), ONE_NODE, 0),
    "less in the median": ("exchange-takes", waits(9e-7, 9e-7, 1), ONE_NODE, 1),
    "less by the framework's own sum": ("exchange-takes", waits(9e-7, 9e-7, 1), NATIVE, 0),
}
"""Steps, changes of the request, and the number of findings of the check."""


@pytest.mark.parametrize(("check", "made", "request_", "count"), [*CASES.values()], ids=CASES)
def test_steps(
    check: str, made: StepRecords, request_: dict[str, Any], count: int, context: BundleContext
) -> None:
    assert len(found(check, varied(context, steps=made, request=request_))) == count


QUARTER = np.array([9, 9, 9, 9, 9, 9, 0.1, 0.3])
"""Losses of an epoch; 0.2 in its last quarter."""


@pytest.mark.parametrize(
    ("check", "loss", "last_step", "accuracy", "is_found"),
    [
        ("accuracy-below-loss", QUARTER, 8, 0.9899, False),
        ("accuracy-below-loss", QUARTER, 8, 0.9901, True),
        ("accuracy-below-loss", QUARTER / 5.01, 8, 1.0, False),
        ("accuracy-below-loss", QUARTER / 4.99, 8, 0.999, True),
        ("accuracy-below-loss", QUARTER, 8, 1.5, False),
        ("accuracy-above-guessing", QUARTER, 500, 0.1999, True),
        ("accuracy-above-guessing", QUARTER, 500, 0.2, False),
        ("accuracy-above-guessing", QUARTER, 499, 0.1, False),
        ("accuracy-above-guessing", QUARTER * 2.87, 500, 0.1, True),
        ("accuracy-above-guessing", QUARTER * 2.88, 500, 0.1, False),
        ("accuracy-above-guessing", QUARTER, 500, None, False),
    ],
)
def test_an_accuracy_fits_the_loss_of_its_epochs_last_quarter(
    check: str,
    loss: Any,
    last_step: int,
    accuracy: float | None,
    is_found: bool,
    context: BundleContext,
) -> None:
    """5 % of 0.2 are 100 errors in 10,000 samples; 20 are the fewest that are judged."""
    made = steps(1, loss=loss, step=np.arange(last_step - 7, last_step + 1))
    logged = log(("eval_accuracy", 1, 1, {"epoch_num": 1, "value": accuracy}))
    assert bool(found(check, varied(context, steps=made, log=logged))) is is_found
    if check == "accuracy-above-guessing":
        repeated = varied(context, steps=made, log=logged, request=REPEATED)
        assert not found(check, repeated)


FIRST = steps(1, np.arange(8) / 8, compute_s=0.1)


@pytest.mark.parametrize(
    ("start_s", "compute_s", "expected"),
    [
        (np.arange(8) / 8 + 99, 0.1, []),
        (np.arange(8) / 8, 0.0885, []),
        (np.arange(8) / 8, 0.085, ["the same share of epoch 1 on rank 1 as on rank 0"]),
        (np.r_[0:0.625:6j, 0.95, 0.875], 0.1, []),
        (np.r_[0:0.625:6j, 0.955, 0.875], 0.1, ["step 7 (epoch 1) to start on rank 1"]),
    ],
)
def test_ranks_take_their_steps_together(
    start_s: Any, compute_s: float, expected: list[str], context: BundleContext
) -> None:
    """Their parts fill the same share to a tenth, and starts are two steps and 1 ms apart."""
    made = two(
        ("start_s", FIRST.start_ns * NS, start_s),
        ("compute_s", FIRST.compute_s, np.full(8, compute_s)),
        by="rank",
    )
    given = found("ranks-in-step", varied(context, steps=made, request=RANKS))
    assert [text in each.expected for each, text in zip(given, expected, strict=True)] == [
        True
    ] * len(expected)
    stopped = {**RANKS, "steps": 8}
    assert not found("ranks-in-step", varied(context, steps=made, request=stopped))
