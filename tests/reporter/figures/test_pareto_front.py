"""The Pareto front holds exactly the points that no other point dominates."""

from hypothesis import given
from hypothesis import strategies as st

from reporter.figures.time_energy import pareto_front


@given(
    st.dictionaries(
        st.text(max_size=3), st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=12
    )
)
def test_the_front_is_what_no_other_beats(points: dict[str, tuple[float, float]]) -> None:
    front = pareto_front(points)
    for name, (x, y) in points.items():
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
        assert not (beaten and name in front)
        assert beaten or any(points[kept] == (x, y) for kept in front)
