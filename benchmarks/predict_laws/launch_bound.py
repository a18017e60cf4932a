"""A small network: kernel launches by one core, workers that compete for few cores, an idle GPU,
power that is mostly baseload."""


def _parts(mode):
    slow = 2265.6 / mode["cpu_mhz"]
    contention = 1 + 0.8 * max(0, 3 - mode["cores"])
    launch = 7 * slow * contention
    load = 10 * slow / min(mode["cores"], 4)
    compute = 2 * 1377 / mode["gpu_mhz"] + 1.2 * 2133 / mode["emc_mhz"]
    return launch, load, compute


def time_s(mode):
    launch, load, compute = _parts(mode)
    return 1 + max(launch, compute) + 0.35 * load


def power_w(mode):
    launch, load, compute = _parts(mode)
    total = time_s(mode)
    cpu, gpu, memory = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    cores = launch / total + min(mode["cores"], 4) * 0.35 * load / total + 0.15 * mode["cores"]
    return 9 + 2.2 * cores * cpu**2 + 7 * gpu**1.7 * (0.3 + 0.7 * compute / total) + 2.5 * memory
