"""Held out. Loader and GPU compete for bandwidth; stages queue softly; the GPU is less than
inversely proportional to its clock."""


def _parts(mode):
    slow_cpu, slow_gpu, slow_memory = (
        2265.6 / mode["cpu_mhz"],
        1377 / mode["gpu_mhz"],
        2133 / mode["emc_mhz"],
    )
    load = 22 * slow_cpu / min(mode["cores"], 5) ** 0.85
    compute = 20 * slow_gpu**0.93 + 6 * slow_memory * (1 + 0.4 * min(1.0, 20 / load))
    return load, compute


def time_s(mode):
    load, compute = _parts(mode)
    return 3.5 + (load**3 + compute**3) ** (1 / 3) + 1.5 * 2265.6 / mode["cpu_mhz"]


def power_w(mode):
    load, compute = _parts(mode)
    total = time_s(mode)
    volts_gpu, volts_cpu = (
        0.6 + 0.45 * (mode["gpu_mhz"] / 1377) ** 1.5,
        0.62 + 0.4 * (mode["cpu_mhz"] / 2265.6) ** 1.3,
    )
    cpu = (
        2.4
        * mode["cpu_mhz"]
        / 2265.6
        * volts_cpu**2
        * (min(mode["cores"], 5) * load / total + 0.05 * mode["cores"])
    )
    gpu = 16 * mode["gpu_mhz"] / 1377 * volts_gpu**2 * (0.1 + 0.9 * compute / total)
    return (
        6
        + 1.2 * volts_gpu
        + 0.3 * mode["cores"] * volts_cpu
        + cpu
        + gpu
        + 4.5 * (mode["emc_mhz"] / 2133) ** 0.8
    )
