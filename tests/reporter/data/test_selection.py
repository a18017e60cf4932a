"""Which entries have a row of their own in a figure."""

import pytest

from reporter.data.selection import Group, RowSelection, ascending, choose_rows


def chosen(capacity: int, **values: float) -> RowSelection:
    """Of entries whose framework is the first letter of their name."""
    return choose_rows(values, lambda name: name[0], capacity)


VALUES = {"a9": 9.0, "b2": 2.0, "a1": 1.0, "a3": 3.0, "c8": 8.0, "b7": 7.0, "a5": 5.0}


def test_equal_values_are_in_the_order_of_their_names() -> None:
    assert ascending({"z": 1.0, "c": 2.0, "b": 2.0, "a": 10.0}) == ["z", "b", "c", "a"]


@pytest.mark.parametrize(
    ("capacity", "own", "groups"),
    [
        (7, ("a1", "b2", "a3", "a5", "b7", "c8", "a9"), ()),
        (6, ("a1", "b2", "c8"), (Group("a", ("a3", "a5", "a9")), Group("b", ("b7",)))),
        (
            4,
            ("a1",),
            (Group("a", ("a3", "a5", "a9")), Group("b", ("b2", "b7")), Group("c", ("c8",))),
        ),
        (
            2,
            (),
            (
                Group("a", ("a1", "a3", "a5", "a9")),
                Group("2 frameworks", ("b2", "b7", "c8")),
            ),
        ),
        (1, (), (Group("3 frameworks", ("a1", "b2", "a3", "a5", "b7", "c8", "a9")),)),
    ],
)
def test_each_framework_s_lowest_have_rows_in_turn_and_its_others_share_one(
    capacity: int, own: tuple[str, ...], groups: tuple[Group, ...]
) -> None:
    found = chosen(capacity, **VALUES)
    assert (found.ids, found.groups) == (own, groups)
    shown = [*found.ids, *(name for group in found.groups for name in group.ids)]
    assert sorted(shown) == sorted(VALUES), "every entry is in a row"
    assert bool(found.notes) == bool(groups)
    if groups:
        assert found.note.startswith(f"{len(own)} of 7 entries have their own row")


@pytest.mark.parametrize("first", ["lowest", "highest"])
def test_the_note_says_from_which_end_entries_have_rows_of_their_own(first: str) -> None:
    sign = 1 if first == "lowest" else -1
    order = {name: sign * value for name, value in VALUES.items()}
    found = choose_rows(order, lambda name: name[0], 6, first)
    assert ("a1" in found.ids, "a9" in found.ids) == (first == "lowest", first == "highest")
    assert f"the entry with the {first} value of each framework" in found.note
    assert f"then the second {first} of each" in found.note


def test_a_shared_row_says_how_many_and_of_which_framework() -> None:
    assert Group("pytorch", ("x", "y")).label == "2 more · PyTorch"
