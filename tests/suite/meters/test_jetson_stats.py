"""jtop's own reader of power, driven over fake trees of each board: our meter makes the board's
power of what it answers.

jetson-stats is licensed AGPL-3.0: no part of it is in the project. The tests run where it is
installed, or where SUITE_JETSON_STATS names the site-packages folders of one version or several
(`pip install --target FOLDER jetson-stats`), and skip elsewhere.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.catalog.power import load_power_rules, totals_of_channels
from suite.meters.meter import MeteredProcess
from suite.meters.sources.jtop import JtopMeter

# Makes jetson-stats' service of power below another root, and prints its answer.
SCRIPT = """
import json, sys
from jtop.core import power
monitors, supplies = power.find_all_i2c_power_monitor, power.find_all_system_monitor
power.find_all_i2c_power_monitor = lambda path: monitors(sys.argv[1] + path)
power.find_all_system_monitor = lambda path: supplies(sys.argv[1] + path)
print(json.dumps(power.PowerService().get_status()))
"""
installed = importlib.util.find_spec("jtop")
FOLDERS = [
    folder for folder in os.environ.get("SUITE_JETSON_STATS", "").split(os.pathsep) if folder
]
FOLDERS += (
    [str(Path(installed.origin).parents[1])] if installed is not None and installed.origin else []
)


def hwmon(rails: dict[str, tuple[int, int]], number: int = 0) -> dict[str, str]:
    """A chip as the mainline driver shows it (JetPack 5 and later): voltage, mV, and current, mA,
    by rail."""
    device = f"sys/bus/i2c/devices/1-004{number}"
    files = {
        f"{device}/name": "ina3221\n",
        f"{device}/hwmon/hwmon{number}/in7_label": "sum of shunt voltages\n",
    }
    for place, (name, (millivolts, milliamperes)) in enumerate(rails.items(), start=1):
        base = f"{device}/hwmon/hwmon{number}"
        files |= {
            f"{base}/in{place}_label": f"{name}\n",
            f"{base}/in{place}_input": f"{millivolts}\n",
        }
        files |= {
            f"{base}/curr{place}_input": f"{milliamperes}\n",
            f"{base}/curr{place}_max": "32760\n",
        }
    return files


def iio(rails: dict[str, int], number: int = 0) -> dict[str, str]:
    """A chip as NVIDIA's driver shows it (JetPack 4): power, mW, by rail."""
    device = f"sys/bus/i2c/devices/6-004{number}"
    files = {f"{device}/name": "ina3221x\n"}
    for place, (name, milliwatts) in enumerate(rails.items()):
        base = f"{device}/iio:device{number}"
        files |= {
            f"{base}/rail_name_{place}": f"{name}\n",
            f"{base}/in_power{place}_input": f"{milliwatts}\n",
        }
    return files


MODULE = {"VDD_IN": (5000, 1060), "VDD_CPU_GPU_CV": (5000, 155), "VDD_SOC": (5000, 285)}
BOARDS = {
    "Nano": (iio({"POM_5V_IN": 4022, "POM_5V_GPU": 1203, "POM_5V_CPU": 804}), "POM_5V_IN", 4.022),
    "TX2": (
        iio({"VDD_SYS_GPU": 145, "VDD_SYS_SOC": 727, "VDD_4V0_WIFI": 9})
        | iio({"VDD_IN": 3104, "VDD_SYS_CPU": 291, "VDD_SYS_DDR": 1248}, 1)
        | iio({"VDD_MUX": 4600, "VDD_5V0_IO_SYS": 800, "VDD_3V3_SYS": 600}, 2),
        "VDD_IN + VDD_MUX",
        7.704,
    ),
    "Xavier NX": (hwmon(MODULE), "VDD_IN", 5.3),
    "AGX Xavier": (
        hwmon({"GPU": (19000, 900), "CPU": (19000, 120), "SOC": (19000, 240)})
        | hwmon({"CV": (19000, 0), "VDDRQ": (19000, 150), "SYS5V": (19000, 240)}, 1),
        "AGX Xavier rails",
        31.35,
    ),
    "AGX Orin": (
        hwmon({"VDD_GPU_SOC": (20000, 120), "VDD_CPU_CV": (20000, 80), "VIN_SYS_5V0": (5000, 940)})
        | hwmon({"NC": (0, 0), "VDDQ_VDD2_1V8AO": (5000, 280)}, 1),
        "AGX Orin rails",
        8.7,
    ),
    "Orin NX": (hwmon(MODULE), "VDD_IN", 5.3),
    "Orin Nano": (hwmon(MODULE), "VDD_IN", 5.3),
}


@pytest.mark.skipif(
    not FOLDERS,
    reason="jetson-stats is not installed, and SUITE_JETSON_STATS names no folder with it",
)
@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("board", BOARDS)
def test_what_jetson_stats_answers_makes_the_boards_power(
    board: str, folder: str, tree: Any
) -> None:
    files, rule, power_w = BOARDS[board]
    (tree(files) / "sys/class/power_supply").mkdir(parents=True)
    command = [sys.executable, "-c", SCRIPT, str(tree({"run/jtop.sock": ""}))]
    answer = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": folder},
    ).stdout
    service = SimpleNamespace(
        power=json.loads(answer),
        gpu={},
        memory={},
        start=lambda: None,
        close=lambda: None,
        ok=lambda spin: True,
    )
    meter = JtopMeter(tree({}), SimpleNamespace(jtop=lambda interval: service))
    meter.open(MeteredProcess(1, Path("/data")))
    values = {reading.channel: reading.value for reading in meter.read()}
    total = totals_of_channels(load_power_rules(), (("jtop", channel) for channel in values))[0]
    assert total.rule.name == rule
    assert sum(values[channel] for channel in total.channels) == pytest.approx(power_w)
