"""Mini-batches that circulate through a closed queueing network: storage, decoding cores, the
training process, the GPU.

Sources: exact mean value analysis, Reiser and Lavenberg 1980; a station of several servers as a
delay and a queue, Seidmann et al. 1987; power of a component at utilisation u, idle + (busy -
idle)(2u - u^1.4), Fan, Weber and Barroso 2007; dynamic power C V^2 f with a voltage that is linear
in the frequency above a floor, Burd and Brodersen 1995. The constants are round numbers of this
board's order of magnitude, not fitted to anything.
"""

MINI_BATCHES, IN_FLIGHT = 400, 4
STORAGE_S, DECODE_S, PYTHON_S, GPU_S, GPU_MEMORY_S = 0.018, 0.30, 0.022, 0.075, 0.024
WATTS = {"cpu": 2.1, "gpu": 15.0, "memory": 5.0}


def _network(mode):
    """Mini-batches per second and the utilisation of the cores (mean of all), the training process
    and the GPU."""
    cpu, gpu, emc = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    cores = mode["cores"]
    decode, python = DECODE_S / cpu, PYTHON_S / cpu
    on_gpu = GPU_S / gpu + GPU_MEMORY_S / emc
    queues = (STORAGE_S, decode / cores, python, on_gpu)
    delay = decode * (cores - 1) / cores
    lengths = [0.0] * len(queues)
    for population in range(1, IN_FLIGHT + 1):
        waits = [demand * (1 + length) for demand, length in zip(queues, lengths, strict=True)]
        rate = population / (delay + sum(waits))
        lengths = [rate * wait for wait in waits]
    return rate, min(1.0, rate * (decode + python) / cores), rate * on_gpu


def _busy(utilisation):
    return 2 * utilisation - utilisation**1.4


def _volt(relative_frequency, floor=0.62):
    return max(floor, 0.45 + 0.55 * relative_frequency)


def time_s(mode):
    return MINI_BATCHES / _network(mode)[0]


def power_w(mode):
    cpu, gpu, emc = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    rate, cores_busy, gpu_busy = _network(mode)
    cpu_w = mode["cores"] * WATTS["cpu"] * cpu * _volt(cpu) ** 2 * (0.2 + 0.8 * _busy(cores_busy))
    gpu_w = WATTS["gpu"] * gpu * _volt(gpu) ** 2 * (0.25 + 0.75 * _busy(gpu_busy))
    memory_w = WATTS["memory"] * (
        0.35 * emc + 0.65 * _busy(min(1.0, rate * GPU_MEMORY_S / emc)) * emc
    )
    return 5.5 + cpu_w + gpu_w + memory_w
