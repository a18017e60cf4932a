"""Held out. Slow storage hides everything up to a point; three stages overlap; idle units sleep;
cache misses grow with the cores."""


def _parts(mode):
    slow_cpu, slow_gpu, slow_memory = (
        2265.6 / mode["cpu_mhz"],
        1377 / mode["gpu_mhz"],
        2133 / mode["emc_mhz"],
    )
    storage = 38.0
    prepare = 45 * slow_cpu / mode["cores"] + 0.4 * slow_memory * mode["cores"]
    compute = 4 * slow_cpu + max(18 * slow_gpu, 9 * slow_memory) + 3 * slow_memory
    return storage, prepare, compute


def time_s(mode):
    return 1.0 + 1.03 * max(_parts(mode))


def power_w(mode):
    _, prepare, compute = _parts(mode)
    total = time_s(mode)
    cpu, gpu, memory = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    sleep = 0.02 * mode["cores"] * cpu
    return (
        5.5
        + 12 * prepare / total * mode["cores"] / 8 * cpu**2.4
        + sleep
        + 19 * gpu**2.1 * compute / total
        + memory * (1.5 + 3 * compute / total)
    )
