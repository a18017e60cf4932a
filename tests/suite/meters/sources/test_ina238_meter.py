from pathlib import Path

import pytest

from suite.catalog.power import load_power_rules, totals_of_channels
from suite.meters.meter import MeteredProcess
from suite.meters.sources.ina238 import Ina238Meter

THOR = {
    "proc/device-tree/compatible": (
        "nvidia,p4071-0000+p3834-0008\0nvidia,p3834-0008\0nvidia,tegra264\0"
    )
}


def chip(number: int, microwatts: str) -> dict[str, str]:
    """A chip as hwmon shows it."""
    folder = f"sys/class/hwmon/hwmon{number}"
    return {f"{folder}/name": "ina238\n", f"{folder}/power1_input": microwatts}


@pytest.mark.parametrize(
    "files",
    [chip(4, "5000000\n"), THOR | chip(4, "5000000\n") | chip(5, "6000000\n")],
    ids=["another board", "two chips"],
)
def test_a_chip_of_which_nobody_knows_what_it_measures_makes_no_total(
    tree, files: dict[str, str]
) -> None:
    meter = Ina238Meter(tree(files))
    meter.open(MeteredProcess(1, Path("/data")))
    readings = meter.read()
    assert readings[0].channel == "ina238.0"
    assert (
        totals_of_channels(
            load_power_rules(), [(reading.source, reading.channel) for reading in readings]
        )
        == ()
    )


def test_a_kin_of_the_chip_is_read_under_its_name(tree) -> None:
    folder = "sys/class/hwmon/hwmon3"
    meter = Ina238Meter(tree({f"{folder}/name": "ina219\n", f"{folder}/power1_input": "5000000\n"}))
    meter.open(MeteredProcess(1, Path("/data")))
    assert [(reading.channel, reading.value) for reading in meter.read()] == [("ina219.0", 5.0)]


def test_a_chip_that_does_not_answer_is_an_error_and_told_apart_from_none(tree) -> None:
    root = tree(THOR | chip(4, "\n"))
    meter = Ina238Meter(root)
    assert "cannot be read" in meter.availability().reason
    meter.open(MeteredProcess(1, Path("/data")))
    with pytest.raises(OSError, match="no INA238"):
        meter.read()
