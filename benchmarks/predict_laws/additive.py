"""Sequential stages: every resource adds its own time. Power does not depend on utilisation."""


def time_s(mode):
    cpu, gpu, memory = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    return 6 + 9 / (cpu * mode["cores"] ** 0.7) + 30 / gpu + 7 / memory


def power_w(mode):
    cpu, gpu, memory = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    return (
        6.5
        + 1.1 * mode["cores"] * cpu * (0.6 + 0.4 * cpu) ** 2
        + 17 * gpu * (0.55 + 0.45 * gpu) ** 2
        + 3.5 * memory
    )
