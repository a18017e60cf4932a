"""Tables for people. Programs read --json."""

import sys
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

COLOURS = {"yes": "green", "no": "yellow"}
WIDEST = 48
"""Characters to which the columns of a pipe's lines are padded."""
SENTENCE = 24
"""Characters of a line of sentences that is still read quickly."""


def show_table(rows: Sequence[Mapping[str, str]], keep: int = 2) -> None:
    """Print rows of equal headings, the most important first: for a pipe or a file one line each;
    on a terminal a table.

    A narrow terminal gets the first columns, and the names of the others; where not even ``keep``
    columns have room, a list. Names, which are first, are never broken.
    """
    if not sys.stdout.isatty():
        print("\n".join(_plain(rows)))
        return
    console, shown = Console(highlight=False), list(rows[0])
    while len(shown) > keep and _least_width(rows, shown) > console.width:
        shown.pop()
    if _least_width(rows, shown) > console.width:
        print("\n".join(_list(rows)))
        return
    table = Table()
    for heading in shown:
        table.add_column(heading, no_wrap=heading == shown[0], overflow="fold")
    for row in rows:
        table.add_row(*(_coloured(row[heading]) for heading in shown))
    console.print(table)
    if left_out := list(rows[0])[len(shown) :]:
        print(f"Left out: {', '.join(left_out)}; a wider terminal or --json shows them.")


def _coloured(text: str) -> str:
    colour = COLOURS.get(text)
    return escape(text) if colour is None else f"[{colour}]{text}[/]"


def _least_width(rows: Sequence[Mapping[str, str]], shown: Sequence[str]) -> int:
    """Columns of the terminal for whole names and readable sentences, with three for each line
    between them."""
    longest = [max(len(row[heading]) for row in rows) for heading in shown]
    widths = [min(width, SENTENCE) if place else width for place, width in enumerate(longest)]
    words = (max(map(len, heading.split())) for heading in shown)
    return 1 + sum(3 + max(each) for each in zip(widths, words, strict=True))


def _plain(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [min(WIDEST, max(map(len, column))) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(map(str.ljust, line, widths)).rstrip()


def _list(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for row in rows:
        name, *others = row.items()
        yield name[1]
        yield from (f"  {heading}: {text}" for heading, text in others if text)
