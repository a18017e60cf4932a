"""jtop as a library that is scripted, in the shape of jetson_stats 4: no service, no board."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.catalog.power import load_power_rules, totals_of_channels
from suite.meters.meter import MeteredProcess
from suite.meters.sources.jtop import JtopMeter

ORIN = {
    "rail": {
        "VDD_GPU_SOC": {"volt": 19800, "curr": 160, "power": 3168, "avg": 3100},
        "VDD_CPU_CV": {"power": 1200},
        "VIN_SYS_5V0": {"power": 4500},
        "VDDQ_VDD2_1V8AO": {"power": 600},
        "NC": {},
    },
    "tot": {"power": 9468},
}


class FakeJtop:
    """A connection to the service."""

    def __init__(self, interval: float) -> None:
        self.power, self.interval, self.connected, self.serving = ORIN, interval, False, True
        self.gpu: dict[str, Any] = {"ga10b": {"status": {"load": 87.5}, "freq": {"cur": 1_300_500}}}
        self.memory: dict[str, Any] = {"EMC": {"cur": 3_199_000, "val": 12}}

    def start(self) -> None:
        self.connected = True

    def ok(self, spin: bool) -> bool:
        return self.serving and spin  # without, it waits for the next values

    def close(self) -> None:
        self.connected = False


@pytest.fixture
def board(tree) -> Path:
    """A Jetson on which the service runs."""
    return tree({"run/jtop.sock": ""})


def test_rails_and_engines_are_read_and_its_own_total_is_not_taken(board: Path) -> None:
    meter = JtopMeter(board, SimpleNamespace(jtop=FakeJtop))
    assert meter.availability().available
    meter.open(MeteredProcess(1, Path("/data")))
    values = {reading.channel: (reading.value, reading.unit) for reading in meter.read()}
    assert values["gpu.utilisation"] == (87.5, "%")
    assert values["gpu.frequency"] == (pytest.approx(1.3005e9), "Hz")
    assert values["memory_controller.frequency"] == (pytest.approx(3.199e9), "Hz")
    assert values["memory_controller.utilisation"] == (12, "%")
    (total,) = totals_of_channels(load_power_rules(), (("jtop", channel) for channel in values))
    # its own total says 9.468
    assert sum(values[channel][0] for channel in total.channels) == pytest.approx(8.868)


def test_the_input_rail_that_the_service_moves_to_its_total_is_read_under_its_name(
    board: Path,
) -> None:
    class Nano(FakeJtop):
        def __init__(self, interval: float) -> None:
            super().__init__(interval)
            rails = {"POM_5V_CPU": {"power": 804}, "POM_5V_GPU": {"power": 1203}}
            self.power = {
                "rail": rails,
                "tot": {"volt": 5000, "curr": 804, "power": 4022, "avg": 3980, "name": "POM_5V_IN"},
            }

    meter = JtopMeter(board, SimpleNamespace(jtop=Nano))
    meter.open(MeteredProcess(1, Path("/data")))
    watts = {reading.channel: reading.value for reading in meter.read() if reading.unit == "W"}
    assert watts == pytest.approx({"POM_5V_IN": 4.022, "POM_5V_CPU": 0.804, "POM_5V_GPU": 1.203})


def test_a_service_that_goes_away_is_an_error_and_the_connection_is_closed(board: Path) -> None:
    meter = JtopMeter(board, SimpleNamespace(jtop=FakeJtop))
    meter.open(MeteredProcess(1, Path("/data")))
    meter._jetson.serving = False
    with pytest.raises(OSError, match="has stopped"):
        meter.read()
    meter.close()
    assert not meter._jetson.connected


def test_a_service_without_the_python_package_has_a_remedy(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jtop", None)
    assert "pip install jetson-stats" in JtopMeter(board).availability().remedy
