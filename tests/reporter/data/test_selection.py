"""Which entries have a row of their own where a figure has fewer rows than entries."""

import pytest

from reporter.data.selection import Group, choose_rows

ORDER = {"a3": 3.0, "b2": 2.0, "a1": 1.0, "c9": 9.0, "a8": 8.0, "b11": 11.0, "a4": 4.0}


def test_with_enough_rows_every_id_has_one_ascending_by_value_and_name() -> None:
    found = choose_rows({"y": 2.0, "x": 2.0, "z": 1.0}, str, 3)
    assert (found.ids, found.groups, found.notes) == (("z", "x", "y"), (), ())


@pytest.mark.parametrize(
    ("capacity", "ids", "groups"),
    [
        (6, ("a1", "b2", "c9"), {"a": ("a3", "a4", "a8"), "b": ("b11",)}),
        (5, ("a1", "b2"), {"a": ("a3", "a4", "a8"), "b": ("b11",), "c": ("c9",)}),
        (3, (), {"a": ("a1", "a3", "a4", "a8"), "b": ("b2", "b11"), "c": ("c9",)}),
        (2, (), {"a": ("a1", "a3", "a4", "a8"), "2 frameworks": ("b2", "c9", "b11")}),
    ],
)
def test_the_lowest_of_each_group_in_turn_have_rows_and_the_rest_of_a_group_shares_one(
    capacity: int, ids: tuple[str, ...], groups: dict[str, tuple[str, ...]]
) -> None:
    found = choose_rows(ORDER, lambda name: name[0], capacity)
    assert found.ids == ids
    assert found.groups == tuple(Group(name, members) for name, members in groups.items())
    assert found.note.startswith(f"{len(ids)} of 7 entries have their own row")
