"""Which entries get a row of their own in a figure, and which share one: by value and framework,
never by id."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reporter.data.framework_names import framework_name


@dataclass(frozen=True)
class Group:
    """Entries that share a row of a figure: those of one framework that have none of their own, in
    ascending order of their values."""

    name: str
    ids: tuple[str, ...]

    @property
    def label(self) -> str:
        """The label of the shared row."""
        return more_of(len(self.ids), self.name)


def more_of(count: int, framework: str) -> str:
    """The label of a row that ``count`` entries or settings of a framework share."""
    return f"{count} more · {framework_name(framework)}"


@dataclass(frozen=True)
class RowSelection:
    """The ids with a row of their own, ascending by value, the groups of the others, and a sentence
    on the order if there are any."""

    ids: tuple[str, ...]
    groups: tuple[Group, ...]
    note: str

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentence, if there is one."""
        return (self.note,) if self.note else ()


def ascending(order: Mapping[str, float]) -> list[str]:
    """The ids by value; equal values are ordered by id."""
    return sorted(order, key=lambda name: (order[name], name))


def choose_rows(
    order: Mapping[str, float],
    group_of: Callable[[str], str],
    capacity: int,
    first: str = "lowest",
) -> RowSelection:
    """At most ``capacity`` rows that represent every id: the lowest values of each group in turn,
    and one row for the rest of each group.

    If there are more groups than rows, the last row represents the remaining groups. ``first`` is
    what the lowest ones are called: "highest" if ``order`` has the values' negatives.
    """
    every = ascending(order)
    if len(every) <= capacity:
        return RowSelection(tuple(every), (), "")
    members: dict[str, list[str]] = {}
    for name in every:
        members.setdefault(group_of(name), []).append(name)
    own = _in_turn(members, max(capacity - len(members), 0))
    left = [
        Group(group, tuple(name for name in names if name not in own))
        for group, names in members.items()
    ]
    groups = _merged([group for group in left if group.ids], capacity - len(own), order)
    note = (
        f"{len(own)} of {len(every)} entries have their own row: the entry with the {first} value"
        f" of each framework, then the second {first} of each, and so on. The others share a row"
        " per framework: lowest to highest value, with a mark at the median."
    )
    return RowSelection(tuple(name for name in every if name in own), groups, note)


def _in_turn(members: Mapping[str, list[str]], count: int) -> set[str]:
    """``count`` ids: the first of every group, then the second of every group, and so on."""
    deepest = max(map(len, members.values()))
    turns = [
        names[turn] for turn in range(deepest) for names in members.values() if turn < len(names)
    ]
    return set(turns[:count])


def _merged(groups: list[Group], rows: int, order: Mapping[str, float]) -> tuple[Group, ...]:
    """At most ``rows`` groups; those beyond are one."""
    if len(groups) <= rows:
        return tuple(groups)
    kept, rest = groups[: max(rows, 1) - 1], groups[max(rows, 1) - 1 :]
    ids = ascending({name: order[name] for group in rest for name in group.ids})
    return (*kept, Group(f"{len(rest)} frameworks", tuple(ids)))
