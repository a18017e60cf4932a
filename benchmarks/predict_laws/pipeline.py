"""Two overlapping stages, four loader processes: the slower stage sets the pace. Power follows
utilisation."""


def _stages(mode):
    cpu, gpu, memory = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    load = 60 / (cpu * min(mode["cores"], 4)) + 1.5 / memory
    compute = 2.5 / cpu + 24 / gpu + 4 / memory
    return load, compute


def time_s(mode):
    return 2 + max(_stages(mode))


def power_w(mode):
    load, compute = _stages(mode)
    total = time_s(mode)
    cpu, gpu, memory = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    busy_cores = min(mode["cores"], 4) * load / total + 0.1 * mode["cores"]
    return (
        8
        + 1.6 * busy_cores * cpu**2.2
        + 20 * gpu**2 * (0.15 + 0.85 * compute / total)
        + 4 * memory * (0.4 + 0.6 * compute / total)
    )
