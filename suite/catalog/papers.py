"""Data tables and panels of published papers (``rules/papers.toml``): what each needs, and what the
paper's text states of it."""

import enum
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from suite.catalog.definitions import unknown_name
from suite.catalog.extensions import extensions
from suite.errors import SuiteError
from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml

FILE = "papers.toml"
RUN = "run"


class ItemState(str, enum.Enum):
    """How an item can be drawn without boards: from real runs, simulated processors or emulated
    hosts, calculated, or not without other hardware."""

    REAL = "real"
    SIMULATED = "simulated"
    EMULATED = "emulated"
    CALCULATED = "calculated"
    NEEDS = "needs"


class Relation(str, enum.Enum):
    """How ours must relate to the published value."""

    ABOUT = "about"
    BELOW = "below"
    ABOVE = "above"


@dataclass(frozen=True)
class Paper:
    """A paper."""

    name: str
    title: str
    source: str


@dataclass(frozen=True)
class RunSet:
    """Runs that items share. ``kind`` is RUN, bundles of training, or a kind of record that an
    extension draws. ``commands`` are arguments of ``suite``, with ``{runs}`` for their folder and
    other names for what the user gives.

    ``minutes`` is what they took on a machine with two cores. ``folder`` holds bundles of them that
    come with the project.
    """

    name: str
    kind: str
    title: str
    commands: tuple[str, ...]
    minutes: int
    folder: str | None = None


@dataclass(frozen=True)
class EntrySelection:
    """Entries by their settings; None: any."""

    framework: str | None = None
    batch_size: int | None = None
    workers: int | None = None


@dataclass(frozen=True)
class Measure:
    """What is held against a published value.

    ``figure`` of the entries ``of`` a selection; with ``over``, divided by that of the entries that
    are alike in all else. Or a named ``measure`` (reporter.papers.measures) with its arguments.
    """

    figure: str | None = None
    of: EntrySelection = EntrySelection()
    over: EntrySelection | None = None
    measure: str | None = None
    batch: int | None = None
    other: int | None = None
    image: int | None = None
    device: str | None = None


@dataclass(frozen=True)
class PublishedValue:
    """A value that the paper's text states, where, and in which words.

    ``tolerance`` of ``about`` is relative. ``not_comparable``: why there is none of ours.
    """

    quantity: str
    published: float
    relation: Relation
    place: str
    quote: str
    tolerance: float = 0.1
    ours: Measure | None = None
    not_comparable: str | None = None


@dataclass(frozen=True)
class PublishedTable:
    """Cells as the paper prints them; an empty one is not in the text at hand. The first column
    names the row."""

    place: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Item:
    """A table or a panel. ``figure`` is the preset that draws it, where that is not ``id``;
    ``differs``: how our setting differs from the paper's."""

    id: str
    paper: str
    number: str
    title: str
    state: ItemState
    runs: str | None = None
    needs: str | None = None
    differs: str | None = None
    figure: str | None = None
    table: PublishedTable | None = None
    values: tuple[PublishedValue, ...] = ()


@dataclass(frozen=True)
class Registry:
    """All papers, the runs that their items need, and the items."""

    papers: tuple[Paper, ...] = ()
    runs: tuple[RunSet, ...] = ()
    items: tuple[Item, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, Item]:
        """Items by id."""
        return {item.id: item for item in self.items}

    def item(self, name: str) -> Item:
        """The item of this id; raises SuiteError with the nearest one."""
        if name not in self.by_id:
            raise SuiteError(
                unknown_name("table or panel", name, sorted(self.by_id), "`suite paper list`")
            )
        return self.by_id[name]

    def paper(self, item: Item) -> Paper:
        """The paper of an item."""
        return next(paper for paper in self.papers if paper.name == item.paper)

    def runs_of(self, item: Item) -> RunSet | None:
        """The runs that an item needs; None: it needs none, or those of an extension that is not
        there."""
        return next((runs for runs in self.runs if runs.name == item.runs), None)


def load_papers() -> Registry:
    """The registry, with what extensions draw, in the order of the papers."""
    files = [Path(each.folder) / FILE for each in extensions()]
    found = [
        read_toml(file, Registry) for file in (rules_folder() / FILE, *files) if file.is_file()
    ]
    papers = found[0].papers
    order = [paper.name for paper in papers]
    items = [item for each in found for item in each.items]
    return Registry(
        papers,
        tuple(runs for each in found for runs in each.runs),
        tuple(sorted(items, key=lambda item: order.index(item.paper))),
    )
