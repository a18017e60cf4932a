"""What an exchange of gradients takes, and the least that the nodes' links allow, from the ranks'
logs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference_impls.contract import EXACT, FLOAT16
from suite.bundle.log import Log, LogEvent
from suite.metrics.wire_figures import wire_figures

LENET_PARAMETERS = 61_706
MBIT_S = 1e6 / 8


def log_of(exchanges_s: Sequence[Any], goodputs: Any = None, collective: str = "mpi") -> Log:
    """A rank's log: of every epoch, the time from a step's first bucket to the end of its last
    one."""
    values = {
        "collective": collective,
        "parameters": LENET_PARAMETERS,
        "goodput_bytes_per_s": goodputs,
    }
    events = [
        LogEvent(1, 0.0, "POINT_IN_TIME", key, value, {})
        for key, value in values.items()
        if value is not None
    ]
    for epoch, exchange_s in enumerate(exchanges_s, start=1):
        buckets = [{"mean_since_first_s": each} for each in (0.001, exchange_s)]
        events.append(
            LogEvent(2, 0.0, "POINT_IN_TIME", "bucket_times", buckets, {"epoch_num": epoch})
        )
    return Log(Path("log.txt"), tuple(events), ())


def test_each_of_two_nodes_sends_all_gradients_once_through_the_slower_link() -> None:
    limit = wire_figures([log_of([0.02], [100 * MBIT_S, 50 * MBIT_S]), log_of([0.02])], EXACT)[
        "wire_limit_s"
    ]
    assert limit.value == pytest.approx(LENET_PARAMETERS * 32 / 50e6)
    assert (limit.unit, limit.count, limit.method) == (
        "s",
        2,
        "50 Mbit/s, measured by the ranks before the run",
    )


def test_each_of_four_nodes_sends_one_and_a_half_times_the_gradients() -> None:
    limit = wire_figures([log_of([0.02], [100 * MBIT_S] * 4)], EXACT)["wire_limit_s"]
    assert limit.value == pytest.approx(1.5 * LENET_PARAMETERS * 32 / 100e6)


def test_nodes_that_train_a_part_send_the_gradients_of_that_part() -> None:
    log = log_of([0.02], [MBIT_S] * 2)
    value = {"names": ["fc3.bias"], "parameters": 10}
    part = LogEvent(3, 0.0, "POINT_IN_TIME", "trained", value, {})
    adapted = replace(log, events=(*log.events, part))
    limit = wire_figures([adapted], EXACT)["wire_limit_s"]
    assert limit.value == pytest.approx(10 * 32 / 1e6)


def test_numbers_of_16_bits_need_half_the_time() -> None:
    exact, rounded = (
        wire_figures([log_of([0.02], [MBIT_S] * 2)], wire)["wire_limit_s"].value
        for wire in (EXACT, FLOAT16)
    )
    assert exact is not None and rounded == pytest.approx(exact / 2)


def test_an_exchange_is_that_of_the_rank_that_waits_the_least_and_the_mean_of_the_epochs() -> None:
    figures = wire_figures([log_of([0.05, 0.02], [100 * MBIT_S] * 2), log_of([0.03, 0.04])], EXACT)
    assert figures["exchange_span_s"].value == pytest.approx((0.03 + 0.02) / 2)
    limit_s = LENET_PARAMETERS * 32 / 100e6
    share = figures["wire_limit_share"]
    assert share.value == pytest.approx((limit_s / 0.03 + limit_s / 0.02) / 2)
    assert share.count == 2 and share.spread is not None


def test_an_epoch_that_a_rank_did_not_time_is_left_out() -> None:
    figures = wire_figures([log_of([0.05, 0.02], [MBIT_S] * 2), log_of([0.03])], EXACT)
    assert figures["exchange_span_s"].value == pytest.approx(0.03)


def test_a_frameworks_own_all_reduce_has_a_limit_and_no_time() -> None:
    figures = wire_figures(
        [log_of([], [MBIT_S] * 2, "native"), log_of([], collective="native")], EXACT
    )
    assert figures["wire_limit_s"].value is not None
    for name in ("exchange_span_s", "wire_limit_share"):
        assert figures[name].value is None and "within the backward pass" in str(
            figures[name].reason
        )


@pytest.mark.parametrize(
    "goodputs",
    [
        None,
        [],
        [1e6],
        [1e6, 0.0],
        [1e6, "fast"],
        [1e6, True],
        [1e6, float("nan")],
        [1e6, 10**400],
        [1e6, 1e-300],
        "fast",
    ],
)
def test_links_that_were_not_measured_leave_no_limit(goodputs: Any) -> None:
    figures = wire_figures([log_of([0.02], goodputs), log_of([0.02])], EXACT)
    for name in ("wire_limit_s", "wire_limit_share"):
        assert (figures[name].value, figures[name].reason) == (
            None,
            "the ranks did not measure the throughput of the nodes' links",
        )


@pytest.mark.parametrize("parameters", [None, 0, -1, 10**400, "many", True])
def test_a_number_of_parameters_that_is_none_leaves_no_limit(parameters: Any) -> None:
    log = log_of([0.02], [MBIT_S] * 2)
    changed = replace(
        log,
        events=tuple(
            replace(event, value=parameters) if event.key == "parameters" else event
            for event in log.events
        ),
    )
    assert wire_figures([changed], EXACT)["wire_limit_s"].value is None


@pytest.mark.parametrize(
    "exchange_s", [None, -1.0, 0.0, "long", float("inf"), 10**400, 1e-300, True]
)
def test_times_that_are_none_leave_no_exchange(exchange_s: Any) -> None:
    figures = wire_figures([log_of([exchange_s], [MBIT_S] * 2)], EXACT)
    assert (figures["exchange_span_s"].value, figures["wire_limit_share"].value) == (None, None)
    assert (
        figures["exchange_span_s"].reason
        == "no epoch was finished in which every rank timed its exchanges"
    )
