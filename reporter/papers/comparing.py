"""Holds ours against what a paper states: agrees, differs, or not comparable."""

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass

from reporter.papers.calculated import own_cells
from reporter.papers.measures import FoundValue, MeasureSource, Unknown, measure_value
from reporter.papers.records import record_kinds
from suite.catalog.papers import Item, PublishedValue, Relation


class PaperAgreement(str, enum.Enum):
    """What came of one comparison."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class ComparedValue:
    """A published value beside ours. ``published`` and ``ours`` are texts; ``why`` is the reason
    where there is nothing to compare."""

    quantity: str
    published: str
    ours: str | None
    verdict: PaperAgreement
    place: str
    quote: str
    why: str | None = None


def compare_with_paper(item: Item, source: MeasureSource | None) -> tuple[ComparedValue, ...]:
    """Every published value of an item beside ours. ``source`` None: it has no runs."""
    return (
        *_cells(item),
        *_cells_of_extensions(item),
        *(_value(value, source) for value in item.values),
    )


def _value(value: PublishedValue, source: MeasureSource | None) -> ComparedValue:
    found = (
        Unknown(value.not_comparable or "")
        if value.ours is None
        else Unknown("it has no runs")
        if source is None
        else measure_value(value.ours, source)
    )
    verdict, why, ours = PaperAgreement.NOT_COMPARABLE, None, None
    if isinstance(found, Unknown):
        why = found.reason
    else:
        (verdict, why), ours = judge_value(value, found), _written(found)
    stated = {Relation.ABOUT: "", Relation.BELOW: "below ", Relation.ABOVE: "above "}
    is_near = value.relation is Relation.ABOUT and value.tolerance and value.published
    near = f" ± {value.tolerance:.0%}" if is_near else ""
    published = f"{stated[value.relation]}{value.published:g}{near}"
    return ComparedValue(value.quantity, published, ours, verdict, value.place, value.quote, why)


def judge_value(value: PublishedValue, found: FoundValue) -> tuple[PaperAgreement, str | None]:
    """The verdict on our value, and why there is none.

    ``about`` agrees where our interval and the tolerance overlap; a limit (``below``, ``above``)
    within our interval leaves the question open.
    """
    low, high = (
        (found.value, found.value)
        if found.low is None or found.high is None
        else (found.low, found.high)
    )
    if value.relation is Relation.ABOUT:
        least, most = sorted(
            (value.published * (1 - value.tolerance), value.published * (1 + value.tolerance))
        )
        return (
            PaperAgreement.AGREES if low <= most and high >= least else PaperAgreement.DIFFERS
        ), None
    if low < value.published < high:
        return (
            PaperAgreement.NOT_COMPARABLE,
            f"the 95 % interval contains {value.published:g}: more runs are needed to decide",
        )
    is_beyond = (
        low < value.published if value.relation is Relation.BELOW else high > value.published
    )
    return (PaperAgreement.AGREES if is_beyond else PaperAgreement.DIFFERS), None


def _written(found: FoundValue) -> str:
    between = (
        ""
        if found.low is None or found.high is None or found.low == found.high
        else f" ({found.low:.3g} to {found.high:.3g})"
    )
    value = f"{found.value:.4g}" if math.isfinite(found.value) else "none"
    return f"{value}{between}" + (f", {found.of}" if found.of else "")


def _cells(item: Item) -> Iterator[ComparedValue]:
    """The cells of a table of text; those that the text at hand has lost are not compared."""
    if item.table is None:
        return
    for row, own in zip(item.table.rows, own_cells(item, item.table), strict=True):
        for column, published, ours in zip(item.table.columns[1:], row[1:], own[1:], strict=True):
            verdict, why = PaperAgreement.NOT_COMPARABLE, "our copy of the paper lacks the number"
            if published and ours:
                is_equal = any(_same(published, each) for each in ours.split(", "))
                verdict, why = PaperAgreement.AGREES if is_equal else PaperAgreement.DIFFERS, ""
            elif published:
                why = "the suite has no value for this cell"
            yield ComparedValue(
                f"{row[0]}, {column}",
                published,
                ours or None,
                verdict,
                item.table.place,
                "",
                why or None,
            )


def _same(published: str, ours: str) -> bool:
    """Equal numbers (4 and 4.0), or equal names."""
    try:
        return float(published) == float(ours)
    except ValueError:
        return _letters_and_digits(published) == _letters_and_digits(ours)


def _letters_and_digits(text: str) -> str:
    """Letters and digits: CIFAR-10 and cifar10 are one name."""
    return "".join(filter(str.isalnum, text.lower()))


def _cells_of_extensions(item: Item) -> Iterator[ComparedValue]:
    for kind in record_kinds().values():
        for cell in kind.cells(item):
            verdict = PaperAgreement.AGREES if cell.agrees else PaperAgreement.DIFFERS
            yield ComparedValue(cell.quantity, cell.published, cell.ours, verdict, item.number, "")
