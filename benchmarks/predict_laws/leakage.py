"""Leakage that rises with voltage and, through the temperature, with the power itself; Amdahl's law
over the cores."""

import math


def time_s(mode):
    serial, parallel = 6.0, 40.0
    cpu = (serial + parallel / mode["cores"]) * 2265.6 / mode["cpu_mhz"]
    return 3 + 0.5 * cpu + max(0.5 * cpu, 22 * 1377 / mode["gpu_mhz"]) + 5 * 2133 / mode["emc_mhz"]


def power_w(mode):
    volts = 0.55 + 0.5 * mode["gpu_mhz"] / 1377
    volts_cpu = 0.6 + 0.45 * mode["cpu_mhz"] / 2265.6
    busy = 22 * 1377 / mode["gpu_mhz"] / time_s(mode)
    dynamic = (
        14 * mode["gpu_mhz"] / 1377 * volts**2 * (0.3 + 0.7 * busy)
        + 1.5 * mode["cores"] * mode["cpu_mhz"] / 2265.6 * volts_cpu**2
    )
    total = 5 + dynamic + 2.5 * mode["emc_mhz"] / 2133
    for _ in range(20):
        total = (
            5
            + dynamic
            + 2.5 * mode["emc_mhz"] / 2133
            + 2.2 * volts * math.exp(0.012 * (total - 10))
        )
    return total
