"""Bound by memory below a threshold of its clock: the bandwidth that the GPU can ask for is limited
by its own clock."""


def time_s(mode):
    bandwidth = min(mode["emc_mhz"] / 2133, 0.15 + 1.1 * mode["gpu_mhz"] / 1377)
    penalty = 1.0 if mode["emc_mhz"] > 700 else 1.25
    return (
        4
        + 26 * penalty / bandwidth
        + 10 * 1377 / mode["gpu_mhz"]
        + 12 * 2265.6 / mode["cpu_mhz"] * (0.4 + 0.6 / mode["cores"])
    )


def power_w(mode):
    bandwidth = min(mode["emc_mhz"] / 2133, 0.15 + 1.1 * mode["gpu_mhz"] / 1377)
    cpu, gpu = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377
    return (
        5
        + 6 * bandwidth
        + 2 * mode["emc_mhz"] / 2133
        + 10 * gpu * (0.5 + 0.5 * gpu) ** 2
        + 0.9 * mode["cores"] * cpu**1.8
    )
