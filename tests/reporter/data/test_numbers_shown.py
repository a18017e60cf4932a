"""Numbers as pages show them."""

import pytest

from reporter.data.text import significant


@pytest.mark.parametrize(
    ("value", "shown"),
    [(9.994, "9.99"), (9.996, "10.0"), (99.96, "100"), (0.09996, "0.100"), (-9.996, "-10.0")],
)
def test_a_number_that_is_rounded_up_to_a_power_of_ten_has_no_further_digit(
    value: float, shown: str
) -> None:
    assert significant(value) == shown
