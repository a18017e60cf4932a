"""Voltage bins of the RK3588 (a plateau up to half the clock, then steps) and leakage that grows
with the temperature.

Sources: CPU bins from Linux, arch/arm64/boot/dts/rockchip/rk3588-opp.dtsi (cluster1), GPU bins from
the same SoC's gpu_opp_table, both stretched to this board's largest clocks; LPDDR4X has a fixed
voltage (JEDEC JESD209-4-1). Leakage from Liao, He and Lepak, IEEE TCAD 2005: proportional to the
voltage, exponential in the temperature, which follows the dissipated power. Bandwidth that a GPU
reaches from Little's law: requests in flight over a latency with a part in GPU cycles. Constants
are round numbers of this board's order of magnitude. Written before the model got voltage bins, by
the author of these.
"""

import math

CPU_MV = (
    *((1200, 675), (1416, 725), (1608, 762.5), (1800, 850)),
    *((2016, 925), (2208, 987.5), (2400, 1000)),
)
GPU_MV = ((600, 675), (700, 700), (800, 750), (900, 800), (1000, 850))
STEPS, BATCH, WORKERS = 500, 32, 6
CONV_GFLOP, ELEMENT_GB, FLOP_PER_CYCLE = 90.0, 1.6, 1024 * 0.55
REQUESTS, LINE_BYTES, FIXED_NS, GPU_CYCLES, PEAK_BYTES_PER_CYCLE = 3000, 64, 350.0, 900.0, 48.0
DECODE_CORE_S, LAUNCH_S, HOST_S = 0.0065, 0.030, 0.012
AMBIENT_C, KELVIN_PER_WATT, PER_KELVIN, REFERENCE_C = 25.0, 1.3, 0.015, 60.0


def _volts(table, mhz, largest_mhz):
    scaled = mhz * table[-1][0] / largest_mhz
    return next(mv for top, mv in table if scaled <= top + 1e-6) / 1000


def _parts(mode):
    """Seconds of a step: loading, host, convolutions, element-wise kernels."""
    cpu, gpu, emc = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"], mode["emc_mhz"]
    workers = min(WORKERS, max(1, mode["cores"] - 1))
    slowed = 1 + 0.03 * (workers - 1)  # shared second-level cache and memory
    load = BATCH * DECODE_CORE_S / cpu / workers * slowed
    latency_s = (FIXED_NS + GPU_CYCLES / gpu * 1000) * 1e-9
    byte_s = min(REQUESTS * LINE_BYTES / latency_s, PEAK_BYTES_PER_CYCLE * emc * 1e6)
    convolutions = CONV_GFLOP * 1e3 / (FLOP_PER_CYCLE * gpu)
    return load, (LAUNCH_S + HOST_S) / cpu, convolutions, ELEMENT_GB * 1e9 / byte_s


def _step(mode):
    load, host, convolutions, elements = _parts(mode)
    compute = max(convolutions + elements, host) + 0.003
    if mode["cores"] == 1:
        return compute + load
    # a buffer of two batches hides all but a part of the shorter one
    return max(compute, load) + 0.06 * min(compute, load)


def time_s(mode):
    return 4.0 + STEPS * _step(mode)


def power_w(mode):
    load, host, convolutions, elements = _parts(mode)
    step, cores = _step(mode), mode["cores"]
    cpu, gpu, emc = mode["cpu_mhz"] / 1000, mode["gpu_mhz"] / 1000, mode["emc_mhz"] / 2133
    cpu_v, gpu_v = _volts(CPU_MV, mode["cpu_mhz"], 2265.6), _volts(GPU_MV, mode["gpu_mhz"], 1377)
    workers = min(WORKERS, max(1, cores - 1))
    busy = min(cores, (host + load * workers) / step)
    dynamic_w = cpu_v**2 * cpu * (0.10 * cores + 0.95 * busy)
    dynamic_w += gpu_v**2 * gpu * (2.5 + 17.0 * (convolutions + 0.55 * elements) / step)
    memory_w = 1.1 * emc + 70e-12 * (ELEMENT_GB + 0.08) * 1e9 / step
    cool_w = 4.0 + dynamic_w + memory_w
    total_w = cool_w
    for _ in range(60):  # the leakage heats, and the heat leaks
        celsius = AMBIENT_C + KELVIN_PER_WATT * total_w
        leak_w = (0.22 * cores * cpu_v + 2.4 * gpu_v) * math.exp(
            PER_KELVIN * (celsius - REFERENCE_C)
        )
        total_w = cool_w + leak_w
    return total_w
