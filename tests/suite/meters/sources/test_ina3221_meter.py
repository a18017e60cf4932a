"""One tree per board and driver generation, each to a known energy."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

from suite.bundle.readings_table import channels_of_frame
from suite.catalog.power import Coverage, Tier, load_power_rules, totals_of_channels
from suite.meters.meter import MeteredProcess
from suite.meters.sources.ina3221 import Ina3221Meter
from suite.metrics.energy import energy_of

SECONDS = 10


def hwmon(address: str, rails: list[str], millivolts: int, milliamperes: int) -> dict[str, str]:
    """A chip as the mainline driver shows it (JetPack 5 and later); the shunts' channels follow the
    three rails."""
    folder = f"sys/bus/i2c/drivers/ina3221/{address}/hwmon/hwmon{address[-1]}"
    files = {
        f"{folder}/name": "ina3221\n",
        f"{folder}/in7_label": "sum of shunt voltages\n",
        f"{folder}/in7_input": "40\n",
    }
    for number, rail in enumerate(rails, start=1):
        files |= {
            f"{folder}/in{number}_label": f"{rail}\n",
            f"{folder}/in{number}_input": f"{millivolts}\n",
            f"{folder}/in{number + 3}_input": "12\n",
        }
        files[f"{folder}/curr{number}_input"] = f"{milliamperes}\n"
    return files


def iio(address: str, rails: list[str], milliwatts: int) -> dict[str, str]:
    """A chip as NVIDIA's driver shows it (JetPack 4)."""
    folder = f"sys/bus/i2c/drivers/ina3221x/{address}/iio:device{address[-1]}"
    names = {f"{folder}/rail_name_{number}": f"{rail}\n" for number, rail in enumerate(rails)}
    return names | {
        f"{folder}/in_power{number}_input": f"{milliwatts}\n" for number in range(len(rails))
    }


# 5 V x 400 mA = 2 W, and 2000 mW, on every rail: the energy tells how many rails were added up
BOARDS = {
    "Nano, JetPack 4": (
        iio("6-0040", ["POM_5V_IN", "POM_5V_GPU", "POM_5V_CPU"], 2000),
        "POM_5V_IN",
        Coverage.MODULE,
        1,
    ),
    "TX1, JetPack 4": (
        iio("1-0040", ["VDD_IN", "VDD_GPU", "VDD_CPU"], 2000)
        | iio("1-0042", ["VDD_MUX", "VDD_5V_IO_SYS", "VDD_3V3_SYS"], 2000),
        "VDD_IN + VDD_MUX",
        Coverage.BOARD,
        2,
    ),
    "TX2, JetPack 4": (
        iio("0-0040", ["VDD_SYS_GPU", "VDD_SYS_SOC", "VDD_4V0_WIFI"], 2000)
        | iio("0-0041", ["VDD_IN", "VDD_SYS_CPU", "VDD_SYS_DDR"], 2000)
        | iio("0-0042", ["VDD_MUX", "VDD_5V0_IO_SYS", "VDD_3V3_SYS"], 2000),
        "VDD_IN + VDD_MUX",
        Coverage.BOARD,
        2,
    ),
    "TX2 NX, JetPack 4": (
        iio("7-0040", ["VDD_IN", "VDD_CPU_GPU", "VDD_SOC"], 2000),
        "VDD_IN",
        Coverage.MODULE,
        1,
    ),
    "Xavier NX, JetPack 4": (
        iio("7-0040", ["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"], 2000),
        "VDD_IN",
        Coverage.MODULE,
        1,
    ),
    "Xavier NX, JetPack 5": (
        hwmon("7-0040", ["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"], 5000, 400),
        "VDD_IN",
        Coverage.MODULE,
        1,
    ),
    "AGX Xavier, JetPack 4": (
        iio("1-0040", ["GPU", "CPU", "SOC"], 2000) | iio("1-0041", ["CV", "VDDRQ", "SYS5V"], 2000),
        "AGX Xavier rails",
        Coverage.MODULE,
        6,
    ),
    "AGX Xavier, JetPack 5": (
        hwmon("1-0040", ["GPU", "CPU", "SOC"], 5000, 400)
        | hwmon("1-0041", ["CV", "VDDRQ", "SYS5V"], 5000, 400),
        "AGX Xavier rails",
        Coverage.MODULE,
        6,
    ),
    "AGX Orin, JetPack 5 and 6": (
        hwmon("1-0040", ["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"], 5000, 400)
        | hwmon("1-0041", ["NC", "VDDQ_VDD2_1V8AO", "NC"], 5000, 400),
        "AGX Orin rails",
        Coverage.MODULE,
        3,  # VIN_SYS_5V0 feeds VDDQ_VDD2_1V8AO: it is not added once more
    ),
    "Orin Nano and NX, JetPack 5 and 6": (
        hwmon("1-0040", ["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"], 5000, 400),
        "VDD_IN",
        Coverage.MODULE,
        1,
    ),
}

Replay = Callable[..., pandas.DataFrame]


def write(
    tree: Callable[[Mapping[str, str]], Path], files: Mapping[str, str]
) -> Callable[[], Path]:
    """Enter a state."""
    return lambda: tree(files)


@pytest.mark.parametrize("board", BOARDS)
def test_each_board_gives_the_energy_of_its_own_rails(board: str, tree, replay: Replay) -> None:
    files, rule, coverage, rails = BOARDS[board]
    readings = replay(Ina3221Meter(tree(files)), [write(tree, files)] * (SECONDS + 1))
    total = totals_of_channels(
        load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
    )[0]
    assert (total.rule.name, total.rule.coverage, total.rule.tier) == (
        rule,
        coverage,
        Tier.ON_BOARD,
    )
    # an input as large as each rail behind it would have no energy
    alone = replace(total, rule=replace(total.rule, contains=()))
    energy = energy_of(channels_of_frame(readings), alone, 0, SECONDS * 10**9)
    assert energy.energy_j == pytest.approx(2.0 * rails * SECONDS)
    assert (energy.coverage, energy.gaps) == (1.0, 0)


def test_every_connected_rail_is_kept_and_shunts_and_unconnected_channels_are_not(
    tree, replay: Replay
) -> None:
    files = BOARDS["AGX Orin, JetPack 5 and 6"][0]
    readings = replay(Ina3221Meter(tree(files)), [write(tree, files)])
    assert set(readings["channel"]) == {
        "VDD_GPU_SOC",
        "VDD_CPU_CV",
        "VIN_SYS_5V0",
        "VDDQ_VDD2_1V8AO",
    }


def test_a_board_of_unknown_rails_has_readings_but_no_total(tree, replay: Replay) -> None:
    files = hwmon("1-0040", ["VDD_GPU", "VDD_SOMETHING", "VIN"], 5000, 400)
    readings = replay(Ina3221Meter(tree(files)), [write(tree, files)])
    assert len(readings) == 3
    assert (
        totals_of_channels(
            load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
        )
        == ()
    )


NANO = iio("6-0040", ["POM_5V_IN", "POM_5V_GPU", "POM_5V_CPU"], 3000)


def test_a_monitor_that_answers_nothing_at_all_is_an_error(tree) -> None:
    silent = {name: "\n" if "power" in name else text for name, text in NANO.items()}
    meter = Ina3221Meter(tree(NANO))
    meter.open(MeteredProcess(1, Path("/data")))
    tree(silent)
    with pytest.raises(OSError, match="no rail"):
        meter.read()


def test_files_that_cannot_be_read_are_told_apart_from_a_monitor_that_is_not_there(tree) -> None:
    silent = {name: "\n" if "power" in name else text for name, text in NANO.items()}
    assert "cannot be read" in Ina3221Meter(tree(silent)).availability().reason


CHIP = "sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon0"
CONFIGURED = {
    f"{CHIP}/samples": "1\n",
    f"{CHIP}/update_interval": "6\n",
    f"{CHIP}/shunt1_resistor": "2000\n",
}
MODULE = hwmon("1-0040", ["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"], 5000, 400)


def test_the_chip_averages_over_most_of_the_period_during_a_run_and_as_before_after_it(
    tree,
) -> None:
    root = tree(MODULE | CONFIGURED)
    meter = Ina3221Meter(root)
    meter.open(MeteredProcess(1, Path("/data")))
    # 96 of 200 ms; 64 samples would take 384 ms
    assert (root / CHIP / "samples").read_text() == "16\n"
    assert meter.settings() == {
        "1-0040.samples": "16",
        "1-0040.update_interval": "6",
        "1-0040.shunt1_resistor": "2000",
    }
    meter.close()
    assert (root / CHIP / "samples").read_text() == "1"


def test_an_average_may_take_the_whole_period(tree) -> None:
    root = tree(MODULE | CONFIGURED | {f"{CHIP}/update_interval": "50\n"})
    Ina3221Meter(root).open(MeteredProcess(1, Path("/data")))
    assert (root / CHIP / "samples").read_text() == "4\n"  # 200 ms


def test_an_averaging_that_is_long_already_is_left_as_it_is(tree) -> None:
    root = tree(
        MODULE | CONFIGURED | {f"{CHIP}/samples": "512\n", f"{CHIP}/update_interval": "3379\n"}
    )
    meter = Ina3221Meter(root)
    meter.open(MeteredProcess(1, Path("/data")))
    assert (root / CHIP / "samples").read_text() == "512\n"
    assert meter.settings()["1-0040.samples"] == "512"


def test_nvidias_driver_shows_no_configuration(tree) -> None:
    meter = Ina3221Meter(tree(NANO))
    meter.open(MeteredProcess(1, Path("/data")))
    assert meter.settings() == {}


def test_two_rails_with_one_label_are_two_channels(tree) -> None:
    """A carrier board with a monitor of its own: the module's rail, at the lower address, keeps its
    name."""
    root = tree(
        hwmon("1-0041", ["VDD_IN", "VDD_3V3", "NC"], 19000, 500)
        | hwmon("1-0040", ["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"], 5000, 400)
    )
    meter = Ina3221Meter(root)
    meter.open(MeteredProcess(1, Path("/data")))
    values = {reading.channel: reading.value for reading in meter.read()}
    assert values == pytest.approx(
        {"VDD_IN": 2.0, "VDD_CPU_GPU_CV": 2.0, "VDD_SOC": 2.0, "VDD_IN@1-0041": 9.5, "VDD_3V3": 9.5}
    )


def test_jetpack_3_has_another_folder(tree) -> None:
    files = {
        path.replace("iio:device1", "iio_device"): content
        for path, content in iio("0-0041", ["VDD_IN", "VDD_CPU", "VDD_DDR"], 2000).items()
    }
    meter = Ina3221Meter(tree(files))
    assert meter.availability().available
    meter.open(MeteredProcess(1, Path("/data")))
    assert [reading.channel for reading in meter.read()] == ["VDD_IN", "VDD_CPU", "VDD_DDR"]


def test_a_monitor_without_labels_is_named_as_such(tree) -> None:
    """An INA3221 that somebody soldered to a Raspberry Pi."""
    files = {
        path: content
        for path, content in hwmon("1-0040", ["A", "B", "C"], 5000, 400).items()
        if "label" not in path
    }
    availability = Ina3221Meter(tree(files)).availability()
    assert not availability.available and "1-0040 has no labels" in availability.reason
