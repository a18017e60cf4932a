"""Which meters a run may leave out (`suite run --meters`)."""

LEFT_OUT = "left out by --meters"
"""Reason in the record of a meter that the user left out."""
REQUIRED = (
    "counters",
    "cpu",
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
"""Meters that a closed run reads wherever they are available: rules and figures need them. The others read power."""
