"""Differences from a kept output are told by their places."""

from tests.kept_outputs import differences, plain


def test_a_difference_is_told_by_its_place() -> None:
    held, found = {"a": [1, {"b": 2.0}], "c": 1.0}, {"a": [1, {"b": 3}], "c": 1 + 1e-9}
    assert list(differences(held, found)) == [("a[1].b", 2.0, 3)]


def test_sets_are_kept_in_one_order() -> None:
    """That of a set of texts differs from one interpreter to the next."""
    names = [f"name {number}" for number in range(9)]
    assert plain(frozenset(names)) == plain(set(names)) == names
