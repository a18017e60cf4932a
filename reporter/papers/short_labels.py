"""Labels that are too long for a figure become numbers, which the caption explains: a label that is
cut would no longer tell rows apart."""

from collections.abc import Callable
from dataclasses import replace

from reporter.figures.model import Panel, PaperFigure, Plane, Rows

MAX_LINE, MAX_ROW, MAX_HEADING = 38, 34, 56
"""Letters of a label at the end of a line, of a row, of a heading."""

Shorten = Callable[[str, int], str]


def with_short_labels(figure: PaperFigure) -> PaperFigure:
    """The figure with every long label replaced by its first part and a number, and a note that
    explains the numbers."""
    numbers: dict[str, int] = {}

    def shorten(text: str, max_length: int) -> str:
        if len(text) <= max_length:
            return text
        number = numbers.setdefault(text, len(numbers) + 1)
        first = text.partition(" · ")[0]
        return (
            f"{first if len(first) <= max_length - 8 else first[: max_length - 9] + '…'} [{number}]"
        )

    panels = tuple(_shortened(panel, shorten) for panel in figure.panels)
    meanings = tuple(f"[{number}] {text}." for text, number in numbers.items())
    return replace(figure, panels=panels, notes=(*figure.notes, *meanings))


def _shortened(panel: Panel, shorten: Shorten) -> Panel:
    if isinstance(panel, Rows):
        rows = (
            replace(
                row,
                heading=shorten(row.heading, MAX_HEADING),
                label=shorten(row.label, MAX_ROW),
            )
            for row in panel.rows
        )
        return replace(panel, rows=tuple(rows))
    if isinstance(panel, Plane):
        lines = (replace(line, label=shorten(line.label, MAX_LINE)) for line in panel.lines)
        return replace(panel, lines=tuple(lines))
    return panel
