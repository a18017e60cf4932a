"""Sizes, colours, markers and hatches of figures for papers, by the classes that pages have in
their style sheet, and the settings of Matplotlib that make its output depend on the data only."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from suite.errors import SuiteError

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#444444", "#999999")
"""Okabe and Ito's palette (2008) without its yellow, which is too light for lines on white; the
first three also differ in grey."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ((), (4, 1.5), (1.5, 1.5), (6, 1.5, 1.5, 1.5), (3, 1), (1, 1), (8, 2), (2, 3))
HATCHES = "/////", ".....", "xxxxx", "\\\\\\\\\\", "|||||", "-----", "+++++"
INK, SOFT, GRID, PAPER, FAINT = "#000000", "#444444", "#d8d8d8", "#ffffff", 0.45
AREA, FRONT = 0.15, (3.0, 1.5)
STROKES = {
    "grid": (GRID, 0.5),
    "ring": (GRID, 0.5),
    "edge": (INK, 0.6),
    "join": (SOFT, 0.7),
    "error": (INK, 0.8),
    "front": (SOFT, 0.9),
    "curve": (INK, 1.2),
}
"""Colour, and width in pt, of lines by their class; those with a number have its colour."""

FORMATS = ("svg", "pdf", "png")
UNITS_PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.0}
DEFAULT_FONT, DEFAULT_SIZE_PT, SMALL_RATIO = "DejaVu Sans", 7.5, 0.94
MIN_SIZE_PT, MAX_SIZE_PT = 5.0, 24.0
MIN_SIZE_IN, MAX_SIZE_IN = 1.5, 40.0


@dataclass(frozen=True)
class PaperLook:
    """Width of a figure, in; height, in, or None for as high as its rows need; font family and size
    of its text, pt."""

    width_in: float = 3.3
    height_in: float | None = None
    font: str = DEFAULT_FONT
    size_pt: float = DEFAULT_SIZE_PT

    @property
    def small_pt(self) -> float:
        """Size of tick labels and of labels in the figure; 7 pt with the default size."""
        return round(self.size_pt * SMALL_RATIO, 1)


def length_in(text: str, option: str) -> float:
    """A length such as 3.3in, 84mm, 8.4cm or 240pt, in inches. Raises SuiteError for anything else,
    and for sizes that nobody prints."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(in|cm|mm|pt)", text.strip())
    inches = float(found.group(1)) / UNITS_PER_INCH[found.group(2)] if found else 0.0
    if not MIN_SIZE_IN <= inches <= MAX_SIZE_IN:
        raise SuiteError(
            f"{option} {text!r} is not a length from {MIN_SIZE_IN:g} to {MAX_SIZE_IN:g} inches; "
            "write one as 3.3in, 84mm, 8.4cm or 240pt."
        )
    return inches


def font_of(text: str) -> tuple[str, float]:
    """Family and size, pt, of a font such as "Times New Roman" or "Times New Roman 8". Raises
    SuiteError for another size than 5 to 24 pt."""
    found = re.fullmatch(r"(.*?)(?:\s+(\d+(?:\.\d+)?))?", text.strip())
    family, size = (found.group(1), found.group(2)) if found else ("", None)
    size_pt = float(size) if size else DEFAULT_SIZE_PT
    if not family or not MIN_SIZE_PT <= size_pt <= MAX_SIZE_PT:
        raise SuiteError(
            f"--font {text!r} is not a font of {MIN_SIZE_PT:g} to {MAX_SIZE_PT:g} pt; write one "
            'as "Times New Roman" or "Times New Roman 8".'
        )
    return family, size_pt


def matplotlib_settings(look: PaperLook) -> Mapping[str, Any]:
    """Matplotlib's rcParams. Fonts are embedded: as TrueType in PDF, as outlines in SVG. Ids in SVG
    follow from a fixed salt."""
    return {
        "font.family": list(dict.fromkeys((look.font, DEFAULT_FONT))),
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "edge-training-suite",
        "text.hinting": "none",
        "text.hinting_factor": 1,
        "hatch.linewidth": 0.5,
        "text.usetex": False,
        "text.parse_math": False,
        "figure.dpi": 300,
        "savefig.dpi": 300,
        "path.simplify": False,
    }


def fill_style(number: int, classes: Collection[str]) -> Mapping[str, Any]:
    """A bar: fill, hatch and edge; spans and areas are shaded."""
    if "span" in classes:
        return {"facecolor": GRID, "alpha": FAINT, "linewidth": 0}
    if "area" in classes:
        return {"facecolor": COLOURS[number], "alpha": AREA, "linewidth": 0}
    return {
        "facecolor": COLOURS[number],
        "hatch": HATCHES[number % len(HATCHES)],
        "edgecolor": INK,
        "linewidth": 0.5,
        "alpha": FAINT if "faint" in classes else 1.0,
    }


def mark_style(number: int, classes: Collection[str]) -> Mapping[str, Any]:
    """Shape and colour of a mark: solid, hollow (f1), half (f2) or with a light face (f3)."""
    colour, is_solid = COLOURS[number], not {"f1", "f2", "f3"} & set(classes)
    half = {"fillstyle": "left", "markerfacecoloralt": PAPER} if "f2" in classes else {}
    return {
        "linestyle": "none",
        "marker": MARKERS[0 if "round" in classes else number],
        "markerfacecolor": PAPER if "f1" in classes else GRID if "f3" in classes else colour,
        "markeredgecolor": INK if is_solid else colour,
        "markeredgewidth": 0.4 if is_solid else 0.9,
        **half,
    }


def line_style(number: int | None, classes: Collection[str], is_upright: bool) -> Mapping[str, Any]:
    """Colour, width and dashes of a line; error bars have caps."""
    colour, width_pt = next((STROKES[name] for name in STROKES if name in classes), (INK, 0.5))
    style: dict[str, Any] = {
        "color": colour if number is None or "median" in classes else COLOURS[number],
        "linewidth": width_pt,
        "alpha": FAINT if "faint" in classes else 1.0,
    }
    dashes = FRONT if "front" in classes else DASHES[number or 0] if "curve" in classes else ()
    if dashes:
        style["dashes"] = dashes
    if "error" in classes:
        style |= {"marker": "_" if is_upright else "|", "markersize": 3.6, "markeredgewidth": 0.8}
    return style


def text_style(classes: Collection[str]) -> Mapping[str, Any]:
    """Colour and slope of text."""
    is_heading = "heading" in classes
    return {
        "color": SOFT if is_heading or "key" in classes else INK,
        "style": "italic" if is_heading else "normal",
    }
