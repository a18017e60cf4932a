"""Stages one after another (no loading process), voltages in steps, and a governor of the memory
that grants the GPU less when the CPU is busy.

After the paper's 5.1.3 (no pipelining), 5.6.2 (a large baseload) and 5.6.7.

Written from the paper before its author had read the model's code or the other laws.
"""

import math


def time_s(mode):
    return _parts_s(mode)[0]


def power_w(mode):
    total, host, device = _parts_s(mode)
    cpu, gpu, memory = (mode[name] / 1000 for name in ("cpu_mhz", "gpu_mhz", "emc_mhz"))
    cpu_v, gpu_v, memory_v = (
        _stepped(cpu, 2.27, 0.60, 1.05),
        _stepped(gpu, 1.38, 0.58, 1.0),
        0.9 if memory < 1.2 else 1.0,
    )
    idle = 7.5 + 0.28 * mode["cores"] * cpu_v**2 * (0.4 + cpu)
    active = 1.6 * cpu_v**2 * cpu * host / total + 12.0 * gpu_v**2 * gpu * device / total
    return (
        idle + active + 1.9 * memory_v**2 * memory * (0.5 + 0.5 * device / total) + 0.9 * gpu_v**2
    )


def _parts_s(mode):
    """Seconds of an epoch, of the host's part and of the GPU's."""
    cpu, gpu, memory = (mode[name] / 1000 for name in ("cpu_mhz", "gpu_mhz", "emc_mhz"))
    helped = 1 + 0.6 * math.log2(mode["cores"])  # OpenMP inside the transforms
    host = 9.0 / (cpu * helped) + 16.0 / cpu + 1.5
    granted = memory * (1 - 0.25 * cpu / (cpu + 1.5))
    device = 14.0 / gpu + 8.0 / granted + 6.0 / math.sqrt(gpu * granted)
    return host + device, host, device


def _stepped(clock, top, low, high):
    """Volts from a table of six steps."""
    return low + (high - low) * (math.ceil(6 * clock / top) / 6) ** 1.5
