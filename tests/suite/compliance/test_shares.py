"""Samples of each rank by a log that may lie: only speeds that a rank can have are followed."""

import math
from pathlib import Path
from typing import Any, cast

import pytest

from reference_impls.contract import EQUAL, SPEED, Parallel
from reference_impls.shares import Share
from suite.bundle.log import Log, LogEvent
from suite.compliance.rule import BundleContext
from suite.compliance.shares import EVENT, measured_seconds, samples_by_rank
from tests.builders import Scenario, make_request

SECONDS = (0.001, 0.004, 0.002)


def log_of(value: Any) -> Log:
    return Log(Path("log.txt"), (LogEvent(1, 0.0, "POINT_IN_TIME", EVENT, value, {}),), ())


def context_of(seconds: Any, shares: str, folder: Path) -> BundleContext:
    class Context:
        log = log_of({"seconds_per_sample": seconds})
        request = make_request(folder, Scenario())._replace(
            parallel=Parallel(len(SECONDS), 1, "mpi", 2**16, True, shares=shares)
        )

    return cast(BundleContext, Context())


@pytest.mark.parametrize("samples", [1, 2, 3, 4, 32, 10_000])
def test_every_rank_has_the_samples_that_training_gives_it(samples: int, tmp_path: Path) -> None:
    """Also of fewer samples than ranks."""
    for shares, seconds in ((SPEED, SECONDS), (EQUAL, ())):
        assert samples_by_rank(context_of(list(SECONDS), shares, tmp_path), samples) == [
            len(range(samples)[Share(rank, len(SECONDS), seconds).of(samples)])
            for rank in range(len(SECONDS))
        ]


@pytest.mark.parametrize(
    "odd",
    [
        math.nan,
        math.inf,
        -1.0,
        0,
        1e-300,
        1e300,
        pytest.param(10**400, id="1e400"),
        True,
        None,
        "0.001",
        [0.001],
        {},
    ],
)
def test_speeds_that_no_rank_can_have_leave_equal_shares(odd: Any, tmp_path: Path) -> None:
    found = context_of([0.001, odd, 0.002], SPEED, tmp_path)
    assert measured_seconds(found.log, 3) is None
    assert samples_by_rank(found, 7) == [3, 2, 2]


@pytest.mark.parametrize(
    "value", [None, 1.0, "", [], {}, {"seconds_per_sample": 3}, {"seconds_per_sample": 10**6 * [1]}]
)
def test_a_log_without_the_speeds_of_all_ranks_has_none(value: Any) -> None:
    assert measured_seconds(log_of(value), 3) is None


def test_speeds_that_differ_as_far_as_they_can_are_shared_at_once(tmp_path: Path) -> None:
    found = context_of([9e5, 2e-12, 9e5], SPEED, tmp_path)
    assert samples_by_rank(found, 2**40) == [1, 2**40 - 2, 1]
