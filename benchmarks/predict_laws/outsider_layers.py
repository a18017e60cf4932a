"""A network of unlike layers: each is bound by the GPU's clock or by the memory's, behind a queue
of two batches that smooths the loading.

After the paper's 5.1.5, 5.6.4 and 5.6.7.

Written from the paper before its author had read the model's code or the other laws.
"""

import math

# ms at 1 GHz of GPU; ms at 1 GHz of memory
_LAYERS = ((2.1, 4.5), (5.2, 3.1), (4.4, 6.4), (3.0, 1.2), (1.1, 3.9), (0.4, 1.6))
_STEPS = 3125.0


def time_s(mode):
    return _STEPS * _stages_ms(mode)[0] / 1000 + 0.4


def power_w(mode):
    step, prepare, compute, moved = _stages_ms(mode)
    cpu, gpu, memory = (mode[name] / 1000 for name in ("cpu_mhz", "gpu_mhz", "emc_mhz"))
    v_cpu, v_gpu = 0.57 + 0.02 * cpu + 0.085 * cpu**2, 0.56 + 0.26 * gpu**1.5
    cpu_w = (
        v_cpu**2
        * cpu
        * (0.22 * mode["cores"] + 1.3 * min(mode["cores"], (prepare + 0.35 * step) / step))
    )
    gpu_w = v_gpu**2 * gpu * (1.4 + 17.0 * compute / step)
    memory_w = 0.6 + 0.45 * memory + 0.8 * moved / step
    return 2.7 + 0.12 * mode["cores"] * v_cpu + 1.2 * v_gpu**2 + cpu_w + gpu_w + memory_w


def _stages_ms(mode):
    """Milliseconds of a step, of preparing its batch on one core and of its layers; gigabytes per
    second times milliseconds moved."""
    cpu, gpu, memory = (mode[name] / 1000 for name in ("cpu_mhz", "gpu_mhz", "emc_mhz"))
    layers = sum(math.hypot(work / gpu, traffic / memory) for work, traffic in _LAYERS)
    launches = 60 * (0.022 / cpu + 0.004)
    compute = max(layers, launches) + 0.15 * min(layers, launches)
    prepare = 11.0 / cpu**0.93
    parallel = 1 / (0.06 + 0.94 / min(4.0, mode["cores"]))
    fetch = prepare / parallel + 0.9 / memory
    step = 0.25 * math.log(
        math.exp(min(fetch, 600) / 0.25 - max(fetch, compute) / 0.25)
        + math.exp(compute / 0.25 - max(fetch, compute) / 0.25)
    )
    return step + max(fetch, compute), prepare, min(compute, layers), 55.0
