"""Contrast of the figures' colours with the page: WCAG 2.1, 1.4.11 (3:1) for shapes, 1.4.3 (4.5:1)
for text."""

import re
from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[3] / "reporter" / "static"
TEXT, EXEMPT = ("ink", "soft"), ("line",)
"""``line`` is the grid, which may be faint: every tick has a label."""


def colours(css: str, dark: bool) -> dict[str, str]:
    light_part, _, dark_part = css.partition("@media (prefers-color-scheme: dark)")
    return dict(
        re.findall(r"--(\w+): (#[0-9a-f]{3,6})", dark_part.split("} }")[0] if dark else light_part)
    )


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[index : index + 2], 16) / 255 for index in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_colour_of_a_figure_contrasts_with_the_page(dark: bool) -> None:
    paper = colours((STATIC / "site.css").read_text(), dark)["paper"]
    figure = colours((STATIC / "chart.css").read_text(), dark)
    assert {
        f"{kind}{index}" for kind, count in (("c", 8), ("p", 5)) for index in range(count)
    } < figure.keys()
    faint = {name: contrast(colour, paper) for name, colour in figure.items() if name not in EXEMPT}
    assert {
        name: ratio for name, ratio in faint.items() if ratio < (4.5 if name in TEXT else 3.0)
    } == {}


def test_the_contrast_formula_is_that_of_the_guideline() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21) and contrast(
        "#777777", "#fff"
    ) == pytest.approx(4.48, abs=0.01)
