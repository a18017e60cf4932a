"""A limit of 28 W: above it the GPU's clock is lowered until the power fits."""


def _at(mode, gpu_mhz):
    cpu, gpu, memory = mode["cpu_mhz"] / 2265.6, gpu_mhz / 1377, mode["emc_mhz"] / 2133
    time = 4 + 10 / cpu * (0.3 + 0.7 / mode["cores"]) + 45 / gpu + 5 / memory
    power = (
        7
        + 1.3 * mode["cores"] * cpu * (0.5 + 0.5 * cpu) ** 2
        + 20 * gpu * (0.5 + 0.5 * gpu) ** 2
        + 3 * memory
    )
    return time, power


def _settled(mode):
    gpu_mhz = mode["gpu_mhz"]
    while _at(mode, gpu_mhz)[1] > 28 and gpu_mhz > 120:
        gpu_mhz *= 0.98
    return _at(mode, gpu_mhz)


def time_s(mode):
    return _settled(mode)[0]


def power_w(mode):
    return min(_settled(mode)[1], 28)
