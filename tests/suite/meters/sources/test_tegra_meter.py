from pathlib import Path

import pytest

from suite.meters.meter import MeteredProcess
from suite.meters.sources.tegra import TegraMeter

BOARDS = {
    "Nano, JetPack 4": {
        "sys/devices/gpu.0/load": "873\n",
        "sys/class/devfreq/57000000.gpu/cur_freq": "921600000\n",
        "sys/kernel/debug/clk/emc/clk_rate": "1600000000\n",
    },
    "Xavier, JetPack 5": {
        "sys/devices/platform/17000000.gv11b/load": "873\n",
        "sys/class/devfreq/17000000.gv11b/cur_freq": "921600000\n",
    },
    "Orin, JetPack 6": {
        "sys/devices/platform/bus@0/17000000.gpu/load": "873\n",
        "sys/class/devfreq/17000000.gpu/cur_freq": "921600000\n",
        "sys/kernel/debug/bpmp/debug/clk/emc/rate": "1600000000\n",
    },
}


@pytest.mark.parametrize("board", BOARDS)
def test_load_is_in_thousandths_and_clocks_in_hertz(tree, board: str) -> None:
    meter = TegraMeter(tree(BOARDS[board]))
    assert meter.availability().available
    meter.open(MeteredProcess(1, Path("/data")))
    found = {reading.channel: (reading.value, reading.unit) for reading in meter.read()}
    assert found["gpu.utilisation"] == (pytest.approx(87.3), "%")
    assert found["gpu.frequency"] == (921.6e6, "Hz")
    assert ("memory_controller.frequency" in found) == ("emc" in str(BOARDS[board]))
    assert found.get("memory_controller.frequency", (1.6e9, "Hz")) == (1.6e9, "Hz")


def test_thor_s_graphics_cluster_is_its_gpu(tree) -> None:
    meter = TegraMeter(
        tree(
            {
                "sys/class/devfreq/gpu-gpc-0/cur_freq": "1386000000\n",
                "sys/class/devfreq/gpu-nvd-0/cur_freq": "1690000000\n",
            }
        )
    )
    meter.open(MeteredProcess(1, Path("/data")))
    assert [(reading.channel, reading.value) for reading in meter.read()] == [
        ("gpu.frequency", 1386e6)
    ]


def test_a_mali_is_no_gpu_of_a_jetson(tree) -> None:
    assert (
        not TegraMeter(tree({"sys/class/devfreq/fb000000.gpu/cur_freq": "1000000000\n"}))
        .availability()
        .available
    )
