"""Sizes, colours, markers and hatches of figures for papers, and the settings of Matplotlib that
make its output depend on the data only."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suite.errors import SuiteError

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#444444", "#999999")
"""Okabe and Ito's palette (2008) without its yellow, which is too light for lines on white; the
first three also differ in grey."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ((), (4, 1.5), (1.5, 1.5), (6, 1.5, 1.5, 1.5), (3, 1), (1, 1), (8, 2), (2, 3))
HATCHES = "/////", ".....", "xxxxx", "\\\\\\\\\\", "|||||", "-----", "+++++"
INK, SOFT, GRID, FAINT = "#000000", "#444444", "#d8d8d8", 0.45

FORMATS = ("svg", "pdf", "png")
UNITS_PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.0}
DEFAULT_FONT, DEFAULT_SIZE_PT, SMALL_RATIO = "DejaVu Sans", 7.5, 0.94
MIN_SIZE_PT, MAX_SIZE_PT = 5.0, 24.0
MIN_SIZE_IN, MAX_SIZE_IN = 1.5, 40.0


@dataclass(frozen=True)
class Look:
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
            f"{option} {text!r} is no length from {MIN_SIZE_IN:g} to {MAX_SIZE_IN:g} inches; write"
            " one as 3.3in, 84mm, 8.4cm or 240pt."
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
            f"--font {text!r} is no font of {MIN_SIZE_PT:g} to {MAX_SIZE_PT:g} pt; write one as"
            ' "Times New Roman" or "Times New Roman 8".'
        )
    return family, size_pt


def settings(look: Look) -> Mapping[str, Any]:
    """Matplotlib's rcParams. Fonts are embedded: as TrueType in PDF, as outlines in SVG. Ids in SVG
    follow from a fixed salt."""
    return {
        "font.family": list(dict.fromkeys((look.font, DEFAULT_FONT))),
        "font.size": look.size_pt,
        "axes.labelsize": look.size_pt,
        "axes.titlesize": look.size_pt,
        "xtick.labelsize": look.small_pt,
        "ytick.labelsize": look.small_pt,
        "legend.fontsize": look.small_pt,
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "edge-training-suite",
        "text.hinting": "none",
        "text.hinting_factor": 1,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.minor.size": 1.5,
        "ytick.minor.size": 1.5,
        "xtick.minor.width": 0.4,
        "ytick.minor.width": 0.4,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": False,
        "grid.color": GRID,
        "grid.linewidth": 0.5,
        "hatch.linewidth": 0.5,
        "lines.linewidth": 1.2,
        "lines.markersize": 4.0,
        "text.usetex": False,
        "text.parse_math": False,
        "axes.unicode_minus": True,
        "axes.formatter.useoffset": False,
        "axes.titlelocation": "left",
        "axes.titlepad": 3.0,
        "axes.labelpad": 2.0,
        "figure.dpi": 300,
        "savefig.dpi": 300,
        "path.simplify": False,
    }
