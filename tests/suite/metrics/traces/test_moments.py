"""Written times: one form for the whole file, whatever the day, the zone and the country of the
reader."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest

from suite.errors import SuiteError
from suite.metrics.traces.columns import TraceOptions
from suite.metrics.traces.moments import form_of, seconds_of
from suite.metrics.traces.reading import read_trace
from suite.metrics.traces.sniffing import recognise_format
from tests.suite.metrics.traces.test_reading import trace_of

NOON = 1_795_780_800  # 2026-11-27 12:00:00 UTC
DATES = {
    "2026-11-27 12:00:00,25": 0.25,
    "2026/11/27 12:00:00.25": 0.25,
    "2026-11-27T12:00:00.25Z": 0.25,
    "2026-11-27T13:00:00.25+01:00": 0.25,
    "2026-11-27 12:00:00 UTC": 0,
    "20261127 12:00:00": 0,
    "27/11/2026 12:00:00": 0,
    "27.11.26 12:00:00": 0,
    "27 Nov 2026 12:00:00": 0,
    "11-27-2026 12:00:00.250": 0.25,
    "11/27/2026, 12:00:00 PM": 0,
    "11/27/2026 01:00 AM": -11 * 3600,
    "Fri Nov 27 12:00:00 2026": 0,
}
TIMES_OF_DAY = {
    "10:15:00 AM": 36900,
    "10:15:00.5 PM": 80100.5,
    "12:15:00 a.m.": 900,
    "10:15:00Z": 36900,
    "10:15:00 UTC": 36900,
    "10:15:00+01:00": 36900,
    "10:15:00,5": 36900.5,
    "10:15:00:250": 36900.25,
    "0 days 10:15:00": 36900,
    "15:00.5": 900.5,
    "Nov 27 10:15:00": 36900,
    "11-27 10:15:00.5": 36900.5,
}


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
def test_a_time_is_the_same_in_every_zone_and_has_no_date_where_none_is_written(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for known, start_s in ((DATES, NOON), (TIMES_OF_DAY, 0)):
            for text, seconds in known.items():
                form = form_of(pandas.Series([text]))
                assert (form == "time of day") == (known is TIMES_OF_DAY), text
                found_s = seconds_of(pandas.Series([text]), str(form))
                assert found_s == pytest.approx(start_s + seconds), text
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("first", "last", "form"),
    [
        ("12/11/2026 23:59:58", "13/11/2026 00:00:01", "day-month-year"),
        ("11/12/2026 23:59:58", "11/13/2026 00:00:01", "month-day-year"),
        ("01/02/2026 23:59:58", "02/02/2026 00:00:01", "day-month-year"),
        ("02/01/2026 23:59:58", "02/02/2026 00:00:01", "month-day-year"),
        ("11/11/2026 10:00:00", "11/11/2026 10:00:01", "day-month-year"),
        ("05.11.2026 10:00:00", "05.11.2026 10:00:01", "day-month-year"),
        ("05/11/2026 10:00:00", "05/11/2026 10:00:01", ""),
    ],
)
def test_what_comes_first_in_a_date_is_told_by_the_whole_file_or_asked(
    first: str, last: str, form: str
) -> None:
    assert form_of(pandas.Series([first, last])) == form


def rows(dates: list[str]) -> str:
    return "Date;Power (W)\n" + "".join(
        f"{date} 10:{n // 60:02d}:{n % 60:02d};{4 + n % 3}\n" for n, date in enumerate(dates)
    )


def test_the_end_of_the_file_tells_what_its_beginning_does_not(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    trace = trace_of(path, rows(["12/11/2026"] * 2000 + ["13/11/2026"] * 100))
    assert trace.t_s[0] == 1_794_477_600 and trace.unreadable == trace.late == 0
    one_day = rows(["05/11/2026"] * 100)
    with pytest.raises(SuiteError, match="add --day-first or --month-first"):
        trace_of(path, one_day)
    days = [
        trace_of(path, one_day, TraceOptions(day_first=first)).t_s[0] for first in (True, False)
    ]
    assert (
        np.diff(days)
        == (pandas.Timestamp("2026-05-11") - pandas.Timestamp("2026-11-05")).total_seconds()
    )


@pytest.mark.parametrize(
    ("date", "read"),
    [
        ("13.11.2026", "2026-11-13"),
        ("12.11.2026", "2026-11-12"),
        ("13/11/2026", "2026-11-13"),
        ("12/11/2026", "2026-12-11"),
        ("13 Nov 2026", "2026-11-13"),
    ],
)
def test_dates_of_earlier_records_are_read_as_they_were(
    date: str, read: str, tmp_path: Path
) -> None:
    """Their form is not named; of 12/11 the month was taken to come first."""
    path = tmp_path / "trace.csv"
    path.write_text(rows([date] * 50), encoding="utf-8")
    how = replace(recognise_format(path, TraceOptions(day_first=True)), time_form="")
    start_s = (pandas.Timestamp(f"{read} 10:00") - pandas.Timestamp(0)).total_seconds()
    assert read_trace(path, how).trace.t_s[0] == start_s


@pytest.mark.parametrize("back_s", [0.5, 2.0, 43_200.0])
def test_a_clock_that_was_set_back_is_noticed(back_s: float, tmp_path: Path) -> None:
    """12:59:59 and then 1:00:00 included."""
    text = "time [s],power [W]\n" + "".join(
        f"{50_000 + n / 10 - back_s * (n > 90):.1f},4\n" for n in range(100)
    )
    trace = trace_of(tmp_path / "trace.csv", text)
    assert trace.stepped_s == pytest.approx(back_s - 0.1)
