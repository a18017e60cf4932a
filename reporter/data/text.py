"""Text for pages: untrusted strings made safe to show, error messages without paths, numbers with
significant digits."""

import math
import re
import unicodedata
from pathlib import Path

from suite.errors import FileError, SuiteError

MAX_LENGTH = 160
MAX_REASON_LENGTH = 400
LATEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def one_line(value: object, max_length: int = MAX_LENGTH) -> str:
    """The value as one line of at most ``max_length`` characters, with control and direction
    characters escaped (``\\u202e``).

    The strings of a bundle are untrusted. Escaping for HTML and SVG is done where the text is
    placed; the bundle's files keep the whole text.
    """
    text = str(value)
    cut = text[:max_length] + "…" if len(text) > max_length else text
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(letter if _is_printable(letter) else _escape(letter) for letter in cut)


def plain_or_none(value: object, max_length: int = MAX_LENGTH) -> str | None:
    """As :func:`one_line` for a string that is not blank, None for anything else."""
    return one_line(value, max_length) if isinstance(value, str) and value.strip() else None


def plain_run_id(run_id: object) -> str:
    """The run id, which becomes a file name. Raises SuiteError if it has other characters than
    letters, digits, ._- or a leading dot."""
    name = str(run_id)
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}", name):
        raise SuiteError(
            f"the run id {one_line(name, 60)!r} cannot be a file name: use up to 120 letters,"
            " digits, '.', '_' or '-', without a '.' at the start"
        )
    return name


def reason_of(error: SuiteError, folder: Path) -> str:
    """The error as a line that is the same wherever ``folder`` lies: paths in it are relative to
    the folder. What to do next is left out where it was given apart: it names the folder."""
    message = f"{error.path.name} {error.what}" if isinstance(error, FileError) else error.problem
    return one_line(message.replace(f"{folder}/", "").replace(str(folder), "it"), MAX_REASON_LENGTH)


def significant(value: float, count: int = 3) -> str:
    """A number with ``count`` significant digits; powers of ten only below 1e-4 and from a
    million."""
    if value == 0 or not (1e-4 <= abs(value) < 1e6):
        return f"{value:.{count}g}"
    exponent = int(f"{value:.{count - 1}e}".split("e")[1])  # after rounding, unlike the logarithm's
    return f"{value:.{max(0, count - 1 - exponent)}f}"


def number_in_full(value: float, count: int = 6) -> str:
    """As :func:`significant`, and whole numbers and those from a million without powers of ten:
    "618,319,872"."""
    is_whole = value == int(value) if math.isfinite(value) else False
    return (
        f"{value:,.0f}"
        if (is_whole and abs(value) < 1e15) or 1e6 <= abs(value) < 1e15
        else significant(value, count)
    )


def latex_text(text: str) -> str:
    """Text with LaTeX's special letters escaped."""
    return "".join(LATEX.get(letter, letter) for letter in text)


def _is_printable(letter: str) -> bool:
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _escape(letter: str) -> str:
    return " " if letter in "\t\n\r" else f"\\u{ord(letter):04x}"
