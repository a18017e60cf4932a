"""Arrivals are decided beforehand: uniform, Poisson by seed, or a trace; impossible ones are
refused in one sentence."""

from pathlib import Path

import numpy as np
import pytest

from suite.errors import SuiteError
from suite.extensions.concurrent.command.options import ScenarioOptions
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals, intended_ns, of_trace


def test_uniform_arrivals_have_one_gap() -> None:
    times = intended_ns(Arrivals(ArrivalKind.UNIFORM, 100, 10))
    assert len(times) == 1000 and times[0] == 0
    assert set(np.diff(times)) == {10_000_000}


def test_uniform_arrivals_at_a_rate_without_a_whole_gap_do_not_drift() -> None:
    times = intended_ns(Arrivals(ArrivalKind.UNIFORM, 300, 100))
    assert len(times) == 30_000
    assert abs(times[-1] - (100e9 - 1e9 / 300)) < 1


def test_poisson_arrivals_have_independent_exponential_gaps() -> None:
    times = intended_ns(Arrivals(ArrivalKind.POISSON, 200, 500, seed=3))
    gaps_s = np.diff(times) / 1e9
    assert len(times) == pytest.approx(100_000, rel=0.01)
    assert gaps_s.mean() == pytest.approx(1 / 200, rel=0.01)
    # an exponential distribution's standard deviation is its mean
    assert gaps_s.std() == pytest.approx(1 / 200, rel=0.02)
    assert (gaps_s > 2 / 200).mean() == pytest.approx(np.exp(-2), rel=0.03)
    assert abs(np.corrcoef(gaps_s[:-1], gaps_s[1:])[0, 1]) < 0.01


def test_the_seed_decides_on_poisson_arrivals() -> None:
    one, again, other = (
        intended_ns(Arrivals(ArrivalKind.POISSON, 50, 20, seed=seed)) for seed in (1, 1, 2)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one[:100], other[:100])


def test_a_longer_measurement_has_the_same_first_poisson_arrivals() -> None:
    short, long = (
        intended_ns(Arrivals(ArrivalKind.POISSON, 50, duration_s, seed=1))
        for duration_s in (10, 100)
    )
    assert np.array_equal(short, long[: len(short)])


def test_a_part_of_a_trace_has_its_own_rate(tmp_path: Path) -> None:
    """Four images in the first two seconds, one in the other eight."""
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s\n0\n0.5\n1\n1.5\n9\n")
    whole = of_trace(path, 10.0)
    first, longer = whole.lasting(2.0), whole.lasting(20.0)
    assert (whole.rate_per_s, first.rate_per_s, longer.rate_per_s) == (0.5, 2.0, 0.25)
    assert first.trace_s == (0, 0.5, 1, 1.5) and first.duration_s == 2.0
    uniform = Arrivals(ArrivalKind.UNIFORM, 100, 10).lasting(2.0)
    assert (uniform.rate_per_s, uniform.duration_s) == (100, 2.0)


def test_a_trace_arrives_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("camera,arrival_s\na,0.5\nb,0.5\na,2\na,7.25\n")
    arrivals = of_trace(path, 5.0)
    assert intended_ns(arrivals).tolist() == [500_000_000, 500_000_000, 2_000_000_000]
    assert arrivals.rate_per_s == 3 / 5


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("time\n1\n", "no column arrival_s"),
        ("arrival_s\n1\n0.5\n", "line 3: arrival_s is 0.5; it must be finite and not before 1"),
        ("arrival_s\n1\nx\n", "line 3: arrival_s is 'x'; it must be a number of seconds"),
        ("arrival_s\nnan\n", "line 2: arrival_s is nan"),
        ("arrival_s\n-1\n", "line 2: arrival_s is -1"),
        ("arrival_s\n9\n", "no arrival within the first 5 s"),
    ],
)
def test_a_trace_that_is_none_is_refused_with_its_line(
    content: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(content)
    with pytest.raises(SuiteError, match=says):
        of_trace(path, 5.0)


def test_an_image_must_arrive_in_the_shortest_measurement_too(tmp_path: Path) -> None:
    with pytest.raises(
        SuiteError,
        match=(
            r"At 0.5 images/s, no image arrives within 0.5 s, the length of the shortest"
            r" measurement; use --duration 8s\."
        ),
    ):
        Arrivals(ArrivalKind.UNIFORM, 0.5, 2).refuse_short(0.25)
    with pytest.raises(SuiteError, match=r"use --duration 1\.334s\."):
        Arrivals(ArrivalKind.UNIFORM, 3, 1).refuse_short(0.25)
    Arrivals(ArrivalKind.UNIFORM, 3, 1.334).refuse_short(0.25)
    (tmp_path / "trace.csv").write_text("arrival_s\n3\n")
    with pytest.raises(
        SuiteError,
        match="no arrival within its first 1 s, the length of the shortest measurement; use",
    ):
        of_trace(tmp_path / "trace.csv", 4.0).refuse_short(0.25)
    seed = next(seed for seed in range(100) if not len(intended_ns(poisson(1.0, seed))))
    with pytest.raises(SuiteError, match=r"within 1 s, .*; use a longer --duration, or another"):
        poisson(4.0, seed).refuse_short(0.25)


def poisson(duration_s: float, seed: int) -> Arrivals:
    """One image in a second."""
    return Arrivals(ArrivalKind.POISSON, 1, duration_s, seed)


@pytest.mark.parametrize(
    ("rate", "duration_s", "says"),
    [
        (0, 10, "A rate of 0 images/s sends no image; give --rate a number above 0"),
        (-3, 10, "A rate of -3 images/s"),
        (float("nan"), 10, "--rate nan is not finite; give images per second above 0"),
        (float("inf"), 10, "--rate inf is not finite"),
        (1e9, 10, "are more than 1,000,000 images; use a lower --rate"),
        (10, 0, "A duration of 0 s"),
        (1e6, 3600, "the longest --duration at this rate is 1s"),
        (0.01, 10, "No image arrives within 10 s at 0.01 images/s; use --duration 100s"),
        (3, 0.1, "use --duration 0.334s"),
    ],
)
def test_what_sends_no_image_or_too_many_is_refused(
    rate: float, duration_s: float, says: str
) -> None:
    with pytest.raises(SuiteError, match=says):
        Arrivals(ArrivalKind.UNIFORM, rate, duration_s)


def test_a_rate_beside_a_trace_is_refused(tmp_path: Path) -> None:
    """It would have no effect."""
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s\n3\n")
    assert ScenarioOptions(arrivals=str(trace)).coming(10.0).trace_s == (3.0,)
    with pytest.raises(SuiteError, match=r"trace\.csv says when images arrive; leave --rate out\."):
        ScenarioOptions(arrivals=str(trace), rate=50.0).coming(10.0)
