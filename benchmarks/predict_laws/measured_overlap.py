"""A network whose launches and work overlap by two thirds, and whose power is straight in the GPU's
busy share, as measured on an AGX Orin.

Sources: times and power of a ResNet-50 on a Jetson AGX Orin at mini-batches of 1, 4, 16 and 64,
measured (Pagoda, arXiv 2509.20189, notebook roofline_batch_size_expt: 15.4, 19.3, 51.6 and 191.6
ms; 26.9, 41.4, 53.5 and 55.4 W). The longer of launching (14.4 ms) and work (3 ms a sample) plus a
third of the shorter gives the times within 5 %; 20 W and 35 W times the share of work the power
within 4 %. More cores than the four worker processes load no faster (Prashanthi et al., POMACS
2022, 5.6.5); the memory's clock shortens loading and computing (5.6.7). How idle power divides
among cores, memory and the rest was not measured there: round numbers. Watts are scaled to an AGX
Xavier's 30 W.
"""

MINI_BATCHES, SAMPLES, TRAINING = 250, 8, 3
LAUNCH_S, WORK_S, LOAD_S, OVERLAPPED = 0.0144, 0.0030, 0.011, 2 / 3
FIXED_W, MEMORY_W, CORES_W, BUSY_W, SCALE = 8.0, 6.0, 6.0, 35.0, 0.6


def _shares(mode):
    return mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133


def _parts(mode):
    """Seconds of a mini-batch: computing, of which work on the GPU, and the wait for data."""
    cpu, gpu, emc = _shares(mode)
    launch = TRAINING * LAUNCH_S * (0.8 / cpu + 0.2 / emc)
    work = TRAINING * SAMPLES * WORK_S * (0.7 / gpu + 0.3 / emc)
    compute = max(launch, work) + (1 - OVERLAPPED) * min(launch, work)
    load = SAMPLES * LOAD_S * (0.85 / cpu + 0.15 / emc) / min(4, max(0.6, mode["cores"] - 1))
    return compute, work, max(0.0, load - compute) + 0.15 * load


def time_s(mode):
    compute, _, wait = _parts(mode)
    return MINI_BATCHES * (compute + wait)


def power_w(mode):
    cpu, gpu, emc = _shares(mode)
    compute, work, wait = _parts(mode)
    busy = work / (compute + wait)
    return SCALE * (
        FIXED_W
        + MEMORY_W * emc
        + CORES_W * mode["cores"] / 8 * cpu**2
        + BUSY_W * min(1.0, busy) * gpu**1.8
    )
