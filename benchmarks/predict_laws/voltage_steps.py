"""Voltages from a table with steps; the loader overlaps with computing, the launch of kernels does
not."""

GPU_VOLTS = ((320, 0.60), (530, 0.65), (700, 0.72), (920, 0.80), (1200, 0.92), (1400, 1.05))
CPU_VOLTS = ((730, 0.60), (1200, 0.70), (1600, 0.82), (2000, 0.95), (2300, 1.10))


def _volts(table, mhz):
    return next(volts for limit, volts in table if mhz <= limit)


def time_s(mode):
    load = 30 * 2265.6 / mode["cpu_mhz"] / min(mode["cores"], 6)
    compute = 35 * 1377 / mode["gpu_mhz"] + 8 * 2133 / mode["emc_mhz"]
    return 3 + 4 * 2265.6 / mode["cpu_mhz"] + max(load, compute)


def power_w(mode):
    gpu_busy = 35 * 1377 / mode["gpu_mhz"] / time_s(mode)
    gpu = (
        15
        * mode["gpu_mhz"]
        / 1377
        * _volts(GPU_VOLTS, mode["gpu_mhz"]) ** 2
        * (0.2 + 0.8 * gpu_busy)
    )
    cpu = 0.9 * mode["cores"] * mode["cpu_mhz"] / 2265.6 * _volts(CPU_VOLTS, mode["cpu_mhz"]) ** 2
    return 7.5 + gpu + cpu + 3 * mode["emc_mhz"] / 2133
