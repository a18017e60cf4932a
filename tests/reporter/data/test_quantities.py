"""Quantities in units that suit them, with the digits that their spread leaves; the page's script
has the same units."""

import math
import re

import pytest

from reporter.board.columns import name_of_figure
from reporter.data.quantities import SCALES, quantity, quantity_with_spread
from reporter.data.text import number_in_full
from reporter.site import STATIC


@pytest.mark.parametrize(
    ("value", "unit", "ends", "written"),
    [
        (8.9, "s", (), ("8.90 s", "")),
        (119.7, "s", (), ("2.00 min", "")),
        (533, "s", (528, 538), ("8.88 min", "8.80 to 8.97")),
        (7200, "s", (), ("2.00 h", "")),
        (79_560, "s", (78_000, 81_000), ("22.1 h", "21.7 to 22.5")),
        (570_000, "s", (), ("6.60 d", "")),
        (28_100, "J", (27_000, 29_200), ("28.1 kJ", "27.0 to 29.2")),
        (1.78e6, "J", (), ("1.78 MJ", "")),
        (0.25, "W", (), ("250 mW", "")),
        (2048, "MiB", (), ("2.00 GiB", "")),
        (117, "s", (100, 135), ("117 s", "100 to 135")),
        (119.7, "s", (0.0, float("inf")), ("2.00 min", "")),
        (5, "", (), ("5.00", "")),
    ],
)
def test_a_quantity_has_the_unit_and_digits_that_suit_it(
    value: float, unit: str, ends: tuple[float, ...], written: tuple[str, str]
) -> None:
    assert quantity(value, unit, ends) == written


@pytest.mark.parametrize(
    ("value", "spread", "written"),
    [
        (533.0, 6.6, ("8.88 min", "± 0.11")),
        (533.0, 0.0, ("8.88 min", "")),
        (533.0, None, ("8.88 min", "")),
        (10.0, 0.0004, ("10.00 s", "± 0.0004")),
    ],
)
def test_a_spread_is_in_the_unit_of_its_value(
    value: float, spread: float | None, written: tuple[str, str]
) -> None:
    assert quantity_with_spread(value, "s", spread) == written


def test_the_script_has_the_same_scales() -> None:
    """Sliders and limits show the units of the columns."""
    script = (STATIC / "site.js").read_text()
    for unit, scales in SCALES.items():
        (listed,) = re.findall(rf"^  {unit}: \[(.*)\],$", script, re.MULTILINE)
        found = [
            (float(below.replace("Infinity", "inf")), float(factor), name)
            for below, factor, name in re.findall(r'\[([\w.-]+), ([\w.-]+), "(\w+)"\]', listed)
        ]
        assert found == [(below, factor, name) for below, factor, name in scales]


@pytest.mark.parametrize(
    ("figure", "heading"),
    [
        ("time_to_epoch_s", "time per epoch"),
        ("gross_time_s", "time from start to stop, uncounted time included"),
        ("baseload_power_w", "baseload power"),
        ("disk_read_bytes_per_s", "read from the disk"),
        ("cycles_per_epoch", "cycles per epoch"),
        ("ipc", "instructions per cycle"),
    ],
)
def test_every_figure_has_a_heading_in_words(figure: str, heading: str) -> None:
    assert name_of_figure(figure) == heading


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (618_319_872.0, "618,319,872"),
        (3_013_477.4, "3,013,477"),
        (3.0, "3"),
        (0.0, "0"),
        (29.28776, "29.2878"),
        (1e18, "1e+18"),
        (math.inf, "inf"),
    ],
)
def test_a_figure_of_a_run_is_written_in_full(value: float, text: str) -> None:
    assert number_in_full(value) == text
