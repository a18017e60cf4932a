"""Time between an interrupted run and the one that resumed it."""

import pytest

from suite.bundle.log import LogEvent
from suite.bundle.resumption import Resumption


@pytest.mark.parametrize(
    ("boots", "before_s"),
    [
        pytest.param(("boot", "boot"), 6.5, id="one boot: monotonic clock"),
        pytest.param(("boot", "another"), 8.5, id="two boots: wall clock"),
        pytest.param((None, None), 8.5, id="boots unknown: wall clock"),
    ],
)
def test_which_clock_tells_the_time_before(
    boots: tuple[str | None, str | None], before_s: float
) -> None:
    digests = {"parameter": "p", "velocity": "v", "statistic": "s"}
    before = Resumption("run", 2, digests, 1, 1, "lost", 5_000, 1_000, 10**9, boots[0], 0.5)
    moment = {"mono_ns": 8 * 10**9} | ({} if boots[1] is None else {"boot": boots[1]})
    start = LogEvent(1, 10_000, "INTERVAL_START", "run_start", None, moment)
    assert before.before_s(start) == pytest.approx(before_s)
