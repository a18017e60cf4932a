"""A GPU that is bound by arithmetic or by bandwidth, beside kernel launches by one core; storage
gives a constant."""


def _parts(mode):
    launch = 3.0 * 2265.6 / mode["cpu_mhz"] * (1.6 if mode["cores"] == 1 else 1.0)
    arithmetic = 40 * 1377 / mode["gpu_mhz"]
    traffic = 33 * 2133 / mode["emc_mhz"]
    return launch, arithmetic, traffic


def time_s(mode):
    launch, arithmetic, traffic = _parts(mode)
    return 5 + launch + max(arithmetic, traffic)


def power_w(mode):
    launch, arithmetic, traffic = _parts(mode)
    total = time_s(mode)
    volts_gpu = max(0.62, 0.45 + 0.6 * mode["gpu_mhz"] / 1377)
    volts_cpu = max(0.65, 0.5 + 0.55 * mode["cpu_mhz"] / 2265.6)
    gpu = 18 * mode["gpu_mhz"] / 1377 * volts_gpu**2 * (0.2 + 0.8 * arithmetic / total)
    cpu = mode["cpu_mhz"] / 2265.6 * volts_cpu**2 * (0.25 * mode["cores"] + 1.8 * launch / total)
    return 7 + gpu + cpu + 5 * mode["emc_mhz"] / 2133 * (0.3 + 0.7 * traffic / total)
