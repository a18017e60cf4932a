"""What slows a processor down: the cooling devices that do, by the types that Linux drivers give
them."""

import fnmatch
import re

SLOWING_DEVICES = (
    # Linux, drivers/thermal/cpufreq_cooling.c since 5.12: lowers a policy's maximum frequency
    "cpufreq-*",
    "thermal-cpufreq-*",  # the same before 5.12, and JetPack 4 and 5
    # drivers/thermal/cpuidle_cooling.c since 5.12 and before: injects idle time
    "idle-*",
    "thermal-idle-*",
    "devfreq-*",  # drivers/thermal/devfreq_cooling.c since 5.12: GPU, memory controller
    "thermal-devfreq-*",
    "gpufreq*",
    "gk20a_cdev",  # NVIDIA's GPU driver of Linux 3.10
    "Processor",  # ACPI: P-states, then clock modulation
    "intel_powerclamp",  # injects idle time; reads -1 while it does not
    "*-throttle-alert",  # Jetson, JetPack 5 and later: cpu, gpu, cv0 .. cv2, soc0 .. soc2
    "*-throttle",  # the same on some releases
    # Jetson, JetPack 4: throttling tables of tegra_throttle
    "cpu-balanced",
    "gpu-balanced",
    "cpu-heavy",
    "gpu-heavy",
    "emergency-balanced",
    "cpu_heavy",
    "gpu_heavy",
    "cpu_balanced",
    "gpu_balanced",
    "emergency_balanced",
    "heavy",
    "light",
    "oc[1-5]",  # Tegra's soctherm: pulse skipping by heat and by over-current
    "throttle_heavy",
    "throttle_light",
    "throttle_oc[1-5]",
)
"""Types of cooling devices that slow CPU, GPU or memory. Any other type does not: fans, Wi-Fi
(``iwlwifi_1``), displays (``LCD``, ``acpi_video0``), chargers, ``TCC Offset``, and alerts such as
Jetson's ``hot-surface-alert`` at 70 °C.

Sources: Linux drivers/thermal, drivers/acpi/processor_thermal.c, drivers/thermal/tegra/soctherm.c;
NVIDIA Jetson Linux Developer Guide, thermal management.
"""
COOLING, SEPARATOR = "cooling", "."


def slows_processor(cooling_type: str) -> bool:
    """Whether an active cooling device of this type slows CPU, GPU or memory down."""
    return any(fnmatch.fnmatchcase(cooling_type, pattern) for pattern in SLOWING_DEVICES)


SUPPLY = (
    "use a short cable and the power supply that the board's maker recommends, or a lower"
    " power mode"
)
COOLING_REMEDY = "cool the board (fan, heat sink, room), or use a lower power mode"


def remedy(channel: str) -> str:
    """What to do before the next run against what a channel of throttling reported."""
    return (
        SUPPLY
        if re.search(r"under_voltage|over_current|(\b|_)oc[1-5]\b", channel)
        else COOLING_REMEDY
    )


def is_throttling_channel(channel: str) -> bool:
    """Whether a channel of the meter "throttling" reports a slower processor; older meters read
    every cooling device but fans."""
    kind, _, rest = channel.partition(SEPARATOR)
    return kind != COOLING or slows_processor(rest.partition(SEPARATOR)[2])
