"""Which power channels make a total, what that total covers, and how much it is worth.

Every raw channel is kept; a rule only says what is added up. A rule is chosen by the channels that were read: nothing else is
needed to compute an energy again from a bundle.
"""

import enum
import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass


class Coverage(str, enum.Enum):
    """What lies behind the sensor."""

    CHIP = "chip"  # a processor, without its board
    MODULE = "module"  # the compute module, without its carrier board
    BOARD = "board"  # the whole board, without its power adapter
    WALL = "wall"  # what the socket delivers


class Tier(str, enum.Enum):
    """What kind of instrument took the readings, best first."""

    ANALYSER = "analyser"
    WALL_METER = "wall meter"
    ON_BOARD = "on-board sensor"
    ESTIMATE = "estimate"


@dataclass(frozen=True)
class PowerRule:
    """The total is the sum of the channels that match ``channels`` (shell patterns, each must match one) of the first of
    ``sources`` that has them. ``unit`` is W for power, J for a counter of energy. Readings of one channel outside
    ``plausible_w`` are left out, and of a counter those that it would take more power to reach: a rail may read a little below
    zero by its sensor's offset.
    """

    name: str
    sources: tuple[str, ...]
    channels: tuple[str, ...]
    coverage: Coverage
    tier: Tier
    reference: str
    unit: str = "W"
    plausible_w: tuple[float, float] = (-0.5, 200.0)


@dataclass(frozen=True)
class PowerTotal:
    """A rule that fits what was read: the source, and the channels that are added up."""

    rule: PowerRule
    source: str
    channels: tuple[str, ...]

    @property
    def method(self) -> str:
        """In words: the instrument, the rule, what it covers and how good it is."""
        return f"{self.source}: {self.rule.name} ({self.rule.coverage.value}, {self.rule.tier.value})"


JETSON = ("ina3221", "tegrastats", "jtop")
LINUX_GUIDE = "NVIDIA Jetson Linux Developer Guide, Platform Power and Performance"
RAILS = "energymon, jetson/JetsonPowerRails.md, after the Jetson Linux device trees"
RAPL = "Intel SDM vol. 3, RAPL"
NVML = "NVML, nvmlDeviceGet"

_EXTERNAL = tuple(
    PowerRule(
        f"meter-csv {coverage.value} {tier.value}",
        ("meter-csv",),
        (f"{coverage.value}.{tier.value}",),
        coverage,
        tier,
        "settings",
        plausible_w=(0, 5000),
    )
    for tier in Tier
    for coverage in Coverage
)

RULES: tuple[PowerRule, ...] = (
    *(rule for rule in _EXTERNAL if rule.tier is Tier.ANALYSER),
    PowerRule("shelly", ("shelly",), ("power",), Coverage.WALL, Tier.WALL_METER, "Shelly RPC, Switch.GetStatus apower", plausible_w=(0, 4000)),
    PowerRule("tasmota", ("tasmota",), ("power",), Coverage.WALL, Tier.WALL_METER, "Tasmota, Status 10 ENERGY.Power", plausible_w=(0, 4000)),
    PowerRule("usb meter", ("um25c",), ("power",), Coverage.BOARD, Tier.WALL_METER, "RDTech UM24C/25C/34C serial protocol", plausible_w=(0, 150)),
    *(rule for rule in _EXTERNAL if rule.tier is Tier.WALL_METER),
    PowerRule("VDD_IN + VDD_MUX", JETSON, ("VDD_IN", "VDD_MUX"), Coverage.BOARD, Tier.ON_BOARD, f"TX1, TX2: {RAILS}"),
    PowerRule("VDD_IN", JETSON, ("VDD_IN",), Coverage.MODULE, Tier.ON_BOARD, f"TX2 NX, Xavier NX, Orin NX, Orin Nano: {LINUX_GUIDE}"),
    PowerRule("POM_5V_IN", JETSON, ("POM_5V_IN",), Coverage.MODULE, Tier.ON_BOARD, f"Nano: {RAILS}"),
    PowerRule(
        "AGX Xavier rails",
        JETSON,
        ("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"),
        Coverage.MODULE,
        Tier.ON_BOARD,
        f"AGX Xavier has no input rail: {RAILS}",
    ),
    PowerRule(
        "AGX Orin rails",
        JETSON,
        ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"),  # VIN_SYS_5V0 feeds VDDQ_VDD2_1V8AO: that rail would count twice
        Coverage.MODULE,
        Tier.ON_BOARD,
        f"AGX Orin has no input rail: {LINUX_GUIDE}",
    ),
    PowerRule("RAPL platform", ("rapl",), ("psys",), Coverage.BOARD, Tier.ON_BOARD, RAPL, unit="J", plausible_w=(0, 2000)),
    PowerRule("RAPL packages and memory", ("rapl",), ("package-*", "dram-*"), Coverage.CHIP, Tier.ON_BOARD, RAPL, unit="J", plausible_w=(0, 2000)),
    PowerRule("RAPL packages", ("rapl",), ("package-*",), Coverage.CHIP, Tier.ON_BOARD, RAPL, unit="J", plausible_w=(0, 2000)),
    PowerRule("GPU energy counter", ("nvml",), ("gpu*.energy",), Coverage.CHIP, Tier.ON_BOARD, f"{NVML}TotalEnergyConsumption", "J", (0, 2000)),
    PowerRule("GPU power", ("nvml",), ("gpu*.power",), Coverage.CHIP, Tier.ON_BOARD, f"{NVML}PowerUsage", plausible_w=(0, 2000)),
    *(rule for rule in _EXTERNAL if rule.tier is Tier.ON_BOARD),
    PowerRule(
        "PMIC rails", ("rpi5-pmic",), ("*.power",), Coverage.MODULE, Tier.ESTIMATE, "Raspberry Pi 5, vcgencmd pmic_read_adc: rails, not board input"
    ),
    *(rule for rule in _EXTERNAL if rule.tier is Tier.ESTIMATE),
)


def totals(channels: Iterable[tuple[str, str]]) -> tuple[PowerTotal, ...]:
    """Every total that (source, channel) pairs allow, the one to report first: better instruments, then wider coverage."""
    by_source: dict[str, list[str]] = {}
    for source, channel in channels:
        by_source.setdefault(source, []).append(channel)
    found = []
    for rule in RULES:
        for source in rule.sources:
            matches = [fnmatch.filter(sorted(set(by_source.get(source, []))), pattern) for pattern in rule.channels]
            if all(matches):
                found.append(PowerTotal(rule, source, tuple(dict.fromkeys(channel for match in matches for channel in match))))
                break
    return tuple(found)
