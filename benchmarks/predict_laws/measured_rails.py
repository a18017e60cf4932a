"""A small network whose power follows what rails of an AGX Orin took under stress, between the
measured points in straight lines.

Sources: GPU and CPU rails of a Jetson AGX Orin under stress in four nvpmodel modes, measured by a
user (NVIDIA developer forum, "Maximum power consumption bounds for Orin AGX", 323456); times of a
MobileNet on that board at mini-batches of 1 to 64, measured (Pagoda, arXiv 2509.20189, notebook
roofline_batch_size_expt: 18.0, 19.8, 28.1, 54.0, 102.1 ms, which (launches^3 + work^3)^(1/3) with
18 ms and 1.6 ms a sample gives within 8 %), training as three times the forward pass (same source);
loading by four worker processes, which fewer cores make in turns (Prashanthi et al., POMACS 2022,
5.6.5 and 5.6.6). Clocks are shares of the board's highest ones; the rails are scaled to an AGX
Xavier's 30 W.
"""

import itertools

MINI_BATCHES, SAMPLES = 300, 16
LAUNCH_S, MEMORY_S, ARITHMETIC_S, DECODE_S = 0.0541, 0.0048, 0.0030, 0.0095
GPU_RAIL_W = ((0.0, 1.8), (420.75, 5.2), (624.75, 7.6), (828.75, 18.4), (1300.5, 40.4))
CORE_W = ((0.0, 0.1), (1113.6, 1.6 / 4), (1497.6, 6.0 / 12), (1728.0, 5.6 / 8), (2201.6, 15.2 / 12))
SCALE = 0.45


def _between(points, share):
    """The value at this share of the highest clock, on straight lines between the points."""
    clock = share * points[-1][0]
    for (low, low_w), (high, high_w) in itertools.pairwise(points):
        if clock <= high:
            return low_w + (high_w - low_w) * (clock - low) / (high - low)
    return points[-1][1]


def _shares(mode):
    return mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133


def _parts(mode):
    """Seconds of a mini-batch: launching, work on the GPU, and loading."""
    cpu, gpu, emc = _shares(mode)
    cores = mode["cores"]
    launch = LAUNCH_S / cpu * (1.0 if cores > 2 else 1.4 if cores == 2 else 2.0)
    work = SAMPLES * max(ARITHMETIC_S / gpu, MEMORY_S / min(emc, 1.3 * gpu))
    turns = -(-4 // max(1, cores - 1))  # one core launches, four workers share the others
    return launch, work, SAMPLES * DECODE_S / cpu * turns / 4


def _step_s(mode):
    launch, work, load = _parts(mode)
    return max((launch**3 + work**3) ** (1 / 3), load)


def time_s(mode):
    return MINI_BATCHES * _step_s(mode)


def power_w(mode):
    cpu, gpu, emc = _shares(mode)
    _, work, load = _parts(mode)
    step, cores = _step_s(mode), mode["cores"]
    cores_busy = min(cores, 1 + 4 * load / step * min(1.0, (cores - 1) / 4)) / cores
    gpu_w = _between(GPU_RAIL_W, gpu) * (0.3 + 0.7 * work / step)
    cpu_w = cores * _between(CORE_W, cpu) * (0.25 + 0.75 * cores_busy)
    memory_w = (3.0 if emc < 0.6 else 5.5) + 4.0 * work / step * min(emc, 1.3 * gpu)
    return 5.0 + SCALE * (gpu_w + cpu_w + memory_w)
