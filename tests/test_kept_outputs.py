"""Differences from a kept output are told by their places."""

from tests.kept_outputs import differences


def test_a_difference_is_told_by_its_place() -> None:
    held, found = {"a": [1, {"b": 2.0}], "c": 1.0}, {"a": [1, {"b": 3}], "c": 1 + 1e-9}
    assert list(differences(held, found)) == [("a[1].b", 2.0, 3)]
