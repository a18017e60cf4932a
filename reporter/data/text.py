"""Free text of a bundle, made safe to show: whoever wrote it may have meant harm."""

import unicodedata

LONGEST = 160


def plain(value: object, longest: int = LONGEST) -> str:
    """The value as one line of at most ``longest`` letters, with control and direction marks written out (``\\u202e``).

    Escaping for HTML and SVG is left to where the text is placed; the whole text stays in the bundle's own files.
    """
    text = str(value)
    cut = text[:longest] + "…" if len(text) > longest else text
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(letter if _shows(letter) else _written_out(letter) for letter in cut)


def plain_or_none(value: object, longest: int = LONGEST) -> str | None:
    """As :func:`plain` for a string that says something, None for anything else."""
    return plain(value, longest) if isinstance(value, str) and value.strip() else None


def _shows(letter: str) -> bool:
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _written_out(letter: str) -> str:
    return " " if letter in "\t\n\r" else f"\\u{ord(letter):04x}"


def digits(value: float, how_many: int = 3) -> str:
    """A number with so many significant digits, never in powers of ten below a million."""
    if value == 0 or not (1e-4 <= abs(value) < 1e6):
        return f"{value:.{how_many}g}"
    places = max(0, how_many - 1 - int(f"{value:e}".split("e")[1]))
    return f"{value:.{places}f}"
