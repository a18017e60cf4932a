"""The idle machine is measured before a run, by the meters that measure power and by no other."""

from pathlib import Path

import pytest

from suite.bundle.layout import BASELOAD_RAW
from suite.bundle.readings_table import ReadingsMemory, read_raw_channels
from suite.catalog.power import load_power_rules
from suite.execution.baseload import baseload_meters, recorded_baseload
from suite.meters.registry import open_meters
from suite.metrics.energy_figures import baseload_figures, idle_power
from suite.metrics.figure import Figure
from suite.metrics.power_totals import power_totals
from tests.suite.conftest import Eventually

NANO_BOARD = {
    "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/rail_name_0": "POM_5V_IN\n",
    "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/in_power0_input": "1900\n",
    "proc/stat": "cpu 1 0 1 9 0 0 0 0\n",
}

MANY = 10


def test_power_is_read_for_a_while_and_makes_the_baseload(
    tree, eventually: Eventually, tmp_path: Path
) -> None:
    meters = baseload_meters(open_meters(tree(NANO_BOARD)))
    assert [meter.name for meter in meters] == ["ina3221", "cpu"]
    with recorded_baseload(meters, tmp_path):
        # one that is late matters little
        eventually(lambda: (tmp_path / BASELOAD_RAW).read_text().count("ina3221") >= MANY)
    readings = read_raw_channels(tmp_path / BASELOAD_RAW, ReadingsMemory())
    assert sum(map(len, readings.of_source("ina3221"))) >= 3
    run = (10**9, 11 * 10**9)
    power = idle_power(readings, power_totals(readings, load_power_rules(), None))
    figures = baseload_figures(
        power, run, Figure(38.0, "J", "readings.parquet", 3), Figure(2.0, "s", "steps.parquet", 3)
    )
    assert figures["baseload_power_w"].value == pytest.approx(1.9)
    assert figures["baseload_per_epoch_j"].value == pytest.approx(3.8)
    assert figures["baseload_share"].value == pytest.approx(0.5)


def test_a_machine_without_a_power_sensor_has_nothing_to_wait_for(tree) -> None:
    assert baseload_meters(open_meters(tree({"proc/stat": "cpu 1 0 1 9 0 0 0 0\n"}))) == ()


def test_nobody_waits_for_a_chip_of_which_nobody_knows_what_it_measures(tree) -> None:
    folder = "sys/class/hwmon/hwmon4"
    files = {f"{folder}/name": "ina219\n", f"{folder}/power1_input": "5000000\n"}
    assert baseload_meters(open_meters(tree(files))) == ()


def test_a_driver_that_breaks_stops_nothing(tree) -> None:
    meters = open_meters(tree(NANO_BOARD))
    for meter in meters:
        meter.availability = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    assert baseload_meters(meters) == ()
