"""Texts, days and optional fields as pages show them."""

from pathlib import Path

import pytest

from reporter.board.columns import show_facet
from reporter.data.figure_fields import sensor_columns
from reporter.data.text import one_line, plain_or_none, reason_of
from reporter.data.words import any_of, day_of, moment_of, property_in_words
from reporter.pages.headlines import _listed
from suite.errors import FileError, SuiteError


def test_untrusted_text_is_one_line_without_control_or_direction_characters() -> None:
    assert one_line("a\tb\nc\r\x1b\u202e\u2028é") == "a b c \\u001b\\u202e\\u2028é"
    assert (one_line("x" * 160), one_line("x" * 161)) == ("x" * 160, "x" * 160 + "…")
    assert one_line("abcd", 3) == "abc…"
    assert [plain_or_none(each) for each in (" \n", "", 5, None, "a")] == [None] * 4 + ["a"]


def test_a_reason_does_not_say_where_the_folder_lies() -> None:
    folder = Path("/tmp/some/run")
    errors = (SuiteError(f"{folder}/a/log.txt and {folder} differ"), SuiteError("no"))
    assert [reason_of(each, folder) for each in errors] == ["a/log.txt and it differ", "no"]
    assert reason_of(FileError(folder / "deep" / "x.json", "is no JSON"), folder) == (
        "x.json is no JSON"
    )


def test_lists_are_written_as_they_are_spoken() -> None:
    values = ((4,), (4.0, 8), (4, 8, 16.5), (4, "x", 16))
    words = ["4", "4 or 8", "4, 8 or 16.5", "4, x or 16"]
    assert [any_of(each) for each in values] == words
    names = ["a", "b", "c", "d"]
    assert [_listed(names[:count]) for count in (1, 2, 3, 4)] == [
        "a",
        "a and b",
        "a, b and 1 more",
        "a, b and 2 more",
    ]


@pytest.mark.parametrize(
    ("time_ms", "day", "moment"),
    [
        (0, "1970-01-01", "1970-01-01T00:00:00Z"),
        (951_782_399_999, "2000-02-28", "2000-02-28T23:59:59Z"),
        (951_782_400_000.0, "2000-02-29", "2000-02-29T00:00:00Z"),
        *((wrong, "unknown", "1970-01-01T00:00:00Z") for wrong in (-1, None, float("nan"), 1e15)),
    ],
)
def test_a_time_is_a_day_and_a_second_in_utc(time_ms: object, day: str, moment: str) -> None:
    assert (day_of(time_ms), moment_of(time_ms)) == (day, moment)


def test_a_property_is_yes_or_no_a_number_or_unknown() -> None:
    values = {"x": True, "y": False, "z": 0, "a": 2.0, "b": 0.005, "c": float("nan"), "d": None}
    values |= {"organization": "none"}
    texts = ["yes", "no", "0", "2", "0.005", "unknown", "unknown", "no submission"]
    assert [property_in_words(values, name) for name in values] == texts
    assert [show_facet(each) for each in (None, 128.0, "cpu")] == ["unknown", "128", "cpu"]


def test_a_sensor_gives_its_columns_and_their_absence() -> None:
    sensor = {"covers": "board", "tier": "wall meter", "instruments": ["a", "attached"]}
    found = sensor_columns({"sensor": {**sensor, "contradicted_by": ["b", "c"]}})
    assert found == {
        "covers": "board",
        "tier": "wall meter",
        "attached": True,
        "contradicted_by": "b and c",
    }
    assert sensor_columns({"sensor": {**sensor, "instruments": ["a"]}})["attached"] is False
    assert set(sensor_columns({}).values()) == {None}
