"""Words for values in findings."""

import pytest

from suite.compliance.wording import seconds_text


@pytest.mark.parametrize(
    ("value_s", "text"),
    [
        (12.34, "12.3 s"),
        (0.05, "0.050 s"),
        (4e-7, "0.4 microseconds"),
        (-2e-6, "-2 microseconds"),
        (0.0, "0.000 s"),
        (999e-6, "999 microseconds"),
        (0.9999e-3, "0.001 s"),
        (9.9996, "10.000 s"),
        (10, "10.0 s"),
    ],
)
def test_a_duration_never_shows_as_nothing(value_s: float, text: str) -> None:
    assert seconds_text(value_s) == text
