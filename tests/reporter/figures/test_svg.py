"""Scales have round ticks that span the values; strings are escaped."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from reporter.figures.scales import (
    doubling_scale,
    linear_scale,
    linear_scale_without_zero,
    logarithmic_scale,
    tick_text,
)
from reporter.figures.svg import Canvas, coordinate_text, share_paths
from reporter.pages.shared import _within_page


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0], (0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        ([7], (0, 2, 4, 6, 8)),
        ([0], (0, 1)),
        ([0.0011], (0, 0.0002, 0.0004, 0.0006, 0.0008, 0.001, 0.0012)),
        ([-1, 3], (-1, 0, 1, 2, 3)),
    ],
)
def test_a_linear_scale_begins_at_zero(values: list[float], expected: tuple[float, ...]) -> None:
    assert linear_scale(values).ticks == pytest.approx(expected)


def test_a_close_scale_need_not_begin_at_zero() -> None:
    assert linear_scale_without_zero([98.1, 99.3]).ticks == pytest.approx(
        (98, 98.2, 98.4, 98.6, 98.8, 99, 99.2, 99.4)
    )


def test_a_logarithmic_scale_covers_its_values() -> None:
    scale = logarithmic_scale([3, 450])
    assert scale.ticks[0] <= 3 and scale.ticks[-1] >= 450
    assert scale.share(scale.ticks[0]) == 0 and scale.share(scale.ticks[-1]) == pytest.approx(1)
    assert logarithmic_scale([5]).share(5) == pytest.approx(0) and scale.share(0) < 0


def test_coordinates_have_one_format() -> None:
    assert [coordinate_text(value) for value in (1.0, 0.04, -0.01, 12.345, 100.0)] == [
        "1",
        "0",
        "0",
        "12.3",
        "100",
    ]


def test_a_path_of_many_points_is_written_as_steps_that_do_not_add_up_errors() -> None:
    canvas = Canvas(900)
    places = [(3.33 * number, 50 + 7.77 * (number % 3)) for number in range(200)]
    canvas.path(places, "l0 curve")
    (steps,) = re.findall(r'd="M0 50l([^"]*)"', canvas.svg("t", "d"))
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", steps)]
    assert sum(numbers[::2]) == pytest.approx(places[-1][0], abs=0.051)
    assert 50 + sum(numbers[1::2]) == pytest.approx(places[-1][1], abs=0.051)


def test_the_front_that_a_script_draws_again_keeps_its_corners() -> None:
    canvas = Canvas(900)
    canvas.path([(float(x), 20.0 - x) for x in range(20)], "front")
    (corners,) = re.findall(r'd="M([^"]*)"', canvas.svg("t", "d"))
    assert len(corners.split("L")) == 20


def test_a_level_stretch_of_a_path_is_one_step_and_a_turn_is_kept() -> None:
    canvas = Canvas(900)
    canvas.path([*((float(x), 5.0) for x in range(20)), (3.0, 5.0)], "l0 curve")
    assert 'd="M0 5l19 0-16 0"' in canvas.svg("t", "d")


def test_a_long_path_that_another_drawing_only_stretches_is_written_once() -> None:
    places = [(10.0 * number, 50.0 + number % 3) for number in range(20)]
    stretched = [(0.4 * x + 7, y + 18) for x, y in places]
    for bent, expected in (
        (0.0, '<use href="#power-0" transform="matrix(0.4 0 0 1 7 18)"/>'),
        (5.0, "<path"),
    ):
        wide, narrow = Canvas(900), Canvas(380)
        wide.path(places, "l0 curve")
        narrow.path([*stretched[:-1], (stretched[-1][0] + bent, stretched[-1][1])], "l0 curve")
        share_paths(wide, narrow, "power")
        assert ('class="l0 curve" id="power-0"' in wide.svg("t", "d")) is (bent == 0)
        assert expected in narrow.svg("t", "d")


def test_a_level_path_that_another_drawing_stretches_is_drawn() -> None:
    wide, narrow = Canvas(900), Canvas(380)
    for canvas, factor in ((wide, 1.0), (narrow, 0.4)):
        canvas.path([(factor * number, 5.0) for number in range(20)], "l0 curve")
    share_paths(wide, narrow, "load")
    assert 'transform="matrix(0.4 0 0 1 0 0)"' in narrow.svg("t", "d")


def test_a_page_says_the_style_of_texts_in_a_row_once_and_leaves_what_they_say() -> None:
    canvas, said = Canvas(900), '" class="tick end" x="1'
    for text in ("1", said):
        canvas.text(1, 2, text, "tick", "end")
    canvas.text(3, 4, "alone", "axis")
    assert _within_page(canvas.svg("t", "d")).endswith(
        f'<g class="tick end"><text x=1 y=2>1</text><text x=1 y=2>{said}</text></g>'
        '<text x="3" y="4" class="axis">alone</text></svg>'
    )


def test_the_lines_of_a_grid_are_one_path() -> None:
    canvas = Canvas(900)
    for x in (1.0, 2.0):
        canvas.line(x, 0, x, 9, "grid")
    canvas.line(0, 5, 9, 5, "grid")
    canvas.line(0, 0, 9, 9, "grid")
    assert '<path d="M1 0V9M2 0V9M0 5H9M0 0L9 9" class="grid"/>' in canvas.svg("t", "d")


def test_no_text_becomes_markup() -> None:
    evil = "</title><script>x</script>\"'&"
    canvas = Canvas(10)
    with canvas.link(evil, evil), canvas.group({"name": evil}):
        canvas.text(1, 1, evil)
        canvas.rect(0, 0, 1, 1, "c0", evil)
    svg = ElementTree.fromstring(canvas.svg(evil, evil))
    tags = [element.tag.split("}")[1] for element in svg.iter()]
    assert tags == ["svg", "title", "desc", "a", "g", "text", "rect", "title"]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([32, 512], (32, 64, 128, 256, 512)),
        ([20, 60], (16, 32, 64)),
        ([8], (8, 16)),
        ([1, 2**20], tuple(8.0**power for power in range(8))),
    ],
)
def test_doubled_sizes_are_equidistant(values: list[float], ticks: tuple[float, ...]) -> None:
    scale = doubling_scale(values)
    assert scale.ticks == ticks and scale.share(ticks[1]) == pytest.approx(1 / (len(ticks) - 1))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.25, "0.25"),
        (2000, "2000"),
        (80000, "80\u202f000"),
        (-1.5e6, "-1\u202f500\u202f000"),
        (1e12, "1e+12"),
    ],
)
def test_thousands_of_a_tick_are_grouped(value: float, text: str) -> None:
    assert tick_text(value) == text
