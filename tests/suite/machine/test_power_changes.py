"""What is said of a power mode that is not as it was, or not as nvpmodel's file has it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from suite.machine.clock_domains import CPU, GPU, Clock
from suite.machine.nvpmodel import read_mode
from suite.machine.power_settings import PowerLimit, PowerSettings, changed_settings

MODE = """
< PARAM TYPE=CLOCK NAME=EMC >
MAX_FREQ_KNEXT /sys/emc/cap
< POWER_MODEL ID=0 NAME=MAXN >
/sys/cpu2/online 1
EMC MAX_FREQ 1000
"""


@pytest.mark.parametrize(
    ("cap", "online", "said"),
    [
        (990, 1, ()),  # the kernel rounds by a hundredth
        (989, 1, ("EMC MAX_FREQ is 989 instead of 1000",)),
        (0, 1, ()),  # there is no cap
        (1000, 0, ("/sys/cpu2/online is 0 instead of 1",)),
    ],
)
def test_cores_and_caps_of_a_mode_are_compared(
    cap: int, online: int, said: tuple[str, ...], tree: Callable[[dict[str, str]], Path]
) -> None:
    files = {"etc/nvpmodel.conf": MODE, "var/lib/nvpmodel/status": "pmode:0000"}
    root = tree({**files, "sys/emc/cap": f"{cap}\n", "sys/cpu2/online": f"{online}\n"})
    assert read_mode(root).differences == said


def test_every_change_is_named_and_a_label_begins_with_the_slower_cores() -> None:
    def clock(kind: str, name: str, cores: int, low: int, high: int, **more: str) -> Clock:
        ends = low * 10**6, high * 10**6, None, None, None
        return Clock(kind, name, tuple(range(cores)), *ends, **{"governor": "g", **more})

    limit = PowerLimit("zone", "package-0", "long_term", 15.0, None)
    clocks = (
        clock(CPU, "policy0", 2, 900, 2000),
        clock(CPU, "policy2", 3, 500, 2000),
        clock(CPU, "policy5", 1, 600, 1500),
        clock(GPU, "one", 0, 1, 900),
        clock(GPU, "two", 0, 1, 700),
    )
    before = PowerSettings("cpufreq", "g", clocks=clocks, power_limits=(limit,))
    assert before.label == (
        "g: 1 core 600 to 1500 MHz, 3 cores 500 to 2000 MHz, 2 cores 900 to 2000 MHz,"
        " GPU up to 900 MHz, limited to 15 W"
    )
    other = clock(CPU, "policy0", 2, 900, 2000, energy_preference="power")
    for changes, said in (
        ({"platform_profile": "quiet"}, "platform_profile: None, then quiet"),
        ({"cores_online": (0,)}, "cores_online: None, then (0,)"),
        ({"clocks": (other, *clocks[1:])}, "policy0 energy_preference: None, then power"),
        ({"power_limits": ()}, "zone long_term limit_w: 15.0, then absent"),
    ):
        assert changed_settings(before, replace(before, **changes)) == (said,)  # type: ignore[arg-type]
    without = replace(before, power_limits=())
    assert changed_settings(without, before) == ("zone long_term limit_w: absent, then 15.0",)
