"""Numbers of things in words."""

import pytest

from suite.files.counted import ordinal


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (21, "21st"),
        (112, "112th"),
    ],
)
def test_places_have_the_usual_suffix(number: int, text: str) -> None:
    assert ordinal(number) == text
