"""Which meters a run may leave out (`suite run --meters`), and how often those of power are
read."""

from collections.abc import Collection

LEFT_OUT = "left out by --meters"
"""Reason in the record of a meter that the user left out."""
REQUIRED = (
    "counters",
    "cpu",
    "cpu-clock",
    "disk",
    "load",
    "memory",
    "network",
    "nvml",
    "page-cache",
    "power-mode",
    "tegra",
    "temperature",
    "throttling",
    "wall-clock",
)
"""Meters that a closed run reads wherever they are available: rules and figures need them. A run
may leave out any other."""

POWER_SCHEDULES = {
    "ina238": (0.2, "random"),
    "ina3221": (0.2, "random"),
    "jtop": (1.0, "fixed"),
    "meter-csv": (2.0, "fixed"),
    "nvml": (0.5, "random"),
    "rapl": (0.5, "fixed"),
    "rpi5-pmic": (1.0, "random"),
    "shelly": (1.0, "random"),
    "tasmota": (1.0, "random"),
    "tegrastats": (1.0, "fixed"),
    "um25c": (0.5, "random"),
}
"""Period (s) and moments of every meter that reads power, as its class has them
(suite.meters.sources); a test compares both."""


def left_out(choice: str, known: Collection[str]) -> set[str]:
    """Names of the ``known`` meters that ``--meters CHOICE`` leaves out: those with a minus, or
    those that are not named."""
    names = [name.strip() for name in choice.split(",")]
    if any(name.startswith("-") for name in names):
        return {name.removeprefix("-") for name in names} & set(known)
    return set(known) - set(names)
