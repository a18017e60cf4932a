"""Time between an interrupted run and the one that resumed it."""

from dataclasses import asdict, replace

import pytest

from suite.bundle.log import LogEvent
from suite.bundle.resumption import Resumption, known_resumption, read_resumption

DIGESTS = {"parameter": "p", "velocity": "v", "statistic": "s"}
BEFORE = Resumption("run", 2, DIGESTS, 1, 1, "lost", 5_000, 1_000, 10**9, "boot", 0.5)


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
    moment = {"mono_ns": 8 * 10**9} | ({} if boots[1] is None else {"boot": boots[1]})
    start = LogEvent(1, 10_000, "INTERVAL_START", "run_start", None, moment)
    assert replace(BEFORE, boot=boots[0]).before_s(start) == pytest.approx(before_s)
    assert BEFORE.before_s(replace(start, metadata={"boot": "boot"})) is None


def test_a_record_reads_back_and_needs_the_digest_of_every_kind_of_state() -> None:
    assert read_resumption(asdict(BEFORE)) == known_resumption(asdict(BEFORE)) == BEFORE
    assert read_resumption(None) is None
    for state in ({"parameter": "p", "velocity": "v"}, {**DIGESTS, "loss": "l"}):
        with pytest.raises(ValueError, match="state has digests of"):
            read_resumption({**asdict(BEFORE), "state": state})
        assert known_resumption({**asdict(BEFORE), "state": state}) is None
    for name, wrong in (
        ("epoch", -1),
        ("epoch", True),
        ("reason", 3),
        ("uncounted_s", float("nan")),
        ("boot", 1),
    ):
        with pytest.raises(ValueError, match=name):
            read_resumption({**asdict(BEFORE), name: wrong})
