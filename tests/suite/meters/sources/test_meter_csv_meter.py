import time
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.meters.meter import MeteredProcess, Reading
from suite.meters.settings import load_settings
from suite.meters.sources.meter_csv import MeterCsvMeter, _seconds

SETTINGS = """
[meter_csv]
file = "/srv/meter.csv"
time_column = "Time"
power_column = "Power (mW)"
power_scale = 0.001
coverage = "board"
tier = "analyser"
"""


def machine(tree, table: str, settings: str = SETTINGS) -> Path:
    """A machine whose meter's program has written this table so far."""
    return tree({"etc/edge-training-suite/meters.toml": settings, "srv/meter.csv": table})


def append(root: Path, lines: str) -> None:
    """The program writes on."""
    with (root / "srv/meter.csv").open("a") as stream:
        stream.write(lines)


def opened(root: Path) -> MeterCsvMeter:
    """The meter on a run that has just started."""
    meter = MeterCsvMeter(root)
    assert meter.availability().available, meter.availability().reason
    meter.open(MeteredProcess(1, Path("/data")))
    return meter


def values(readings: list[Reading]) -> list[float]:
    """Powers in watts."""
    return [reading.value for reading in readings]


def test_only_rows_written_during_the_run_are_read_each_once_and_whole(tree) -> None:
    root = machine(tree, "Time,Power (mW)\n1,9000\n")
    meter = opened(root)
    append(root, "2,1000\n3,20")
    assert values(meter.read()) == [1.0]
    append(root, "00\nnot a row\n\n4,3000\n")
    assert values(meter.read()) == [2.0, 3.0]
    assert meter.read() == []


@pytest.mark.parametrize("form", ["{:.3f}", "iso"])
def test_wall_clock_times_are_mapped_to_the_monotonic_clock(tree, form: str) -> None:
    root = machine(tree, "Time,Power (mW)\n")
    meter = opened(root)
    moment_s = time.time()
    expected_ns = time.monotonic_ns()
    iso = (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment_s))
        + f".{round(moment_s % 1 * 1e6) % 10**6:06d}"
    )
    append(root, f"{iso if form == 'iso' else form.format(moment_s)},5000\n")
    (reading,) = meter.read()
    assert reading.t_ns == pytest.approx(expected_ns, abs=5e7)


def test_voltage_times_current_other_delimiters_and_lines_before_the_header(tree) -> None:
    settings = """
[meter_csv]
file = "/srv/meter.csv"
time_column = "t [ms]"
time_scale = 0.001
voltage_column = "U [V]"
current_column = "I [mA]"
current_scale = 0.001
delimiter = ";"
skip_lines = 2
coverage = "wall"
tier = "wall meter"
"""
    root = machine(tree, "# meter 4711\n# calibrated\nt [ms]; U [V]; I [mA]\n", settings)
    meter = opened(root)
    append(root, "1000;5.0;400\n2000;5.0;600\n")
    first, second = meter.read()
    assert (first.value, second.value) == (pytest.approx(2.0), pytest.approx(3.0))
    assert second.t_ns - first.t_ns == pytest.approx(1e9, abs=1e3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (SETTINGS.replace('"Time"', '"time"'), "has no column 'time'; it has 'Time', 'Power (mW)'"),
        (
            SETTINGS.replace('power_column = "Power (mW)"', ""),
            "needs power_column, or voltage_column and current_column",
        ),
        (SETTINGS.replace("/srv/meter.csv", "/srv/other.csv"), "No such file"),
    ],
)
def test_settings_that_do_not_fit_the_table_say_how(tree, settings: str, message: str) -> None:
    availability = MeterCsvMeter(machine(tree, "Time,Power (mW)\n", settings)).availability()
    assert not availability.available
    assert message in availability.reason


def test_a_misspelt_key_is_named_with_the_nearest(tree) -> None:
    with pytest.raises(SuiteError, match=r"no key 'power_colum'; did you mean 'power_column'"):
        load_settings(machine(tree, "", SETTINGS.replace("power_column", "power_colum")))


@pytest.mark.parametrize("delimiter", ["", "tab"])
def test_a_delimiter_of_anything_but_one_character_is_refused(tree, delimiter: str) -> None:
    settings = SETTINGS + f'delimiter = "{delimiter}"\n'
    with pytest.raises(SuiteError, match=r"meter_csv\.delimiter"):
        load_settings(machine(tree, "Time,Power (mW)\n", settings))


def test_decimal_commas_are_read_where_commas_do_not_separate_columns(tree) -> None:
    root = machine(tree, "\ufeffTime;Power (mW)\n1,0;9000,0\n", SETTINGS + 'delimiter = ";"\n')
    meter = opened(root)
    append(root, "2,5;1000,5\n")
    assert values(meter.read()) == [1.0005]


def test_a_table_that_is_begun_anew_is_read_from_its_beginning(tree) -> None:
    root = machine(tree, "Time,Power (mW)\n" + "1,9000\n" * 50)
    meter = opened(root)
    (root / "srv/meter.csv").write_text("Time,Power (mW)\n2,1000\n")
    assert values(meter.read()) == [1.0]


def test_a_row_that_is_not_later_than_the_one_before_is_no_row(tree) -> None:
    root = machine(tree, "Time,Power (mW)\n")
    meter = opened(root)
    append(root, "2,1000\n2,2000\n3,3000\n")
    assert values(meter.read()) == [1.0, 3.0]
    append(root, "3,4000\n2,4000\n4,5000\n")
    assert values(meter.read()) == [5.0]


def test_what_is_no_number_is_no_row(tree) -> None:
    root = machine(tree, "Time,Power (mW)\n")
    meter = opened(root)
    append(root, '1,nan\n2,inf\nnan,5000\n4,"5000,0"\n3,1000\n')
    assert values(meter.read()) == [1.0]


def test_a_time_without_a_zone_is_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the machine is."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        for written in ("2027-01-15T08:00:00", "2027-01-15T08:00:00Z", "2027-01-15 17:00:00+09:00"):
            assert _seconds(written, 1e-3) == 1_800_000_000
        assert _seconds("1800000000500", 1e-3) == 1_800_000_000.5
    finally:
        monkeypatch.undo()
        time.tzset()
