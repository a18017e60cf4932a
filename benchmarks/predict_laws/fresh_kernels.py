"""A small convolutional network whose step is shared by kernel launches, data loading workers and
memory-bound kernels; power rail by rail.

The host runs ahead of the GPU and each group of kernels starts once both are ready; loading workers
and host share the cores, and the slowest of GPU, cores and storage sets the pace (Prashanthi et
al., Characterizing Jetson Edge Devices, POMACS 2022; launch cost of the order of the 20
microseconds that NVIDIA's Nsight Systems guide gives a PyTorch kernel on a V100; roofline of a
kernel, Williams, Waterman and Patterson 2009). Rails follow Stokke, Stensland and Halvorsen, Tegra
K1 power model, 2016, with voltages that are quadratic in the clock, clamped and rounded up to the
regulator's step as the Linux kernel's Tegra CVB tables do; Carmel cores share a cluster in pairs
(NVIDIA Xavier documentation). The constants are round numbers of this board's order of magnitude,
not fitted to anything.
"""

import math

STEPS, WORKERS, STORAGE_S = 560, 4, 0.021
LAUNCH_S, LAUNCH_FIXED_S, KERNEL_FIXED_S = 11e-6, 2e-6, 2.5e-6
# kernels of a mini-batch, GPU seconds each at 1377 MHz, MB each: forward, its element-wise part,
# backward, its element-wise part, optimiser
GROUPS = (
    (60, 110e-6, 3.0),
    (150, 8e-6, 3.6),
    (120, 120e-6, 3.2),
    (230, 9e-6, 3.4),
    (320, 2e-6, 0.15),
)
LOAD_S, LOAD_GB, MAIN_S = 0.072, 0.11, 0.004
TRAFFIC_GB = LOAD_GB + sum(count * megabytes for count, _, megabytes in GROUPS) / 1000


def _bandwidth(mode):
    """GB/s that kernels reach: the DRAM's, or the requests that the GPU can have in flight at its
    clock."""
    dram, asked = 0.0640 * mode["emc_mhz"] * 0.74, 0.115 * mode["gpu_mhz"]
    return (dram**-4 + asked**-4) ** -0.25


def _gpu_pass(mode):
    """Seconds from the first launch to the last kernel's end, the host's seconds, and the GPU's
    busy and arithmetic seconds."""
    slow_cpu, slow_gpu, bandwidth = (
        2265.6 / mode["cpu_mhz"],
        1377 / mode["gpu_mhz"],
        _bandwidth(mode),
    )
    launch = LAUNCH_S * slow_cpu + LAUNCH_FIXED_S * (2133 / mode["emc_mhz"]) ** 0.5
    host = device = busy = arithmetic = 0.0
    for count, seconds, megabytes in GROUPS:
        compute, memory = seconds * slow_gpu, megabytes / 1000 / bandwidth
        kernel = (compute**3 + memory**3) ** (1 / 3) + KERNEL_FIXED_S
        started, host = host, host + count * launch
        device = max(device + count * kernel, started + launch + count * kernel, host + kernel)
        busy, arithmetic = busy + count * kernel, arithmetic + count * compute
    return device, host, busy, arithmetic


def _step(mode):
    cores, slow_cpu = mode["cores"], 2265.6 / mode["cpu_mhz"]
    device, host, busy, arithmetic = _gpu_pass(mode)
    main = MAIN_S * slow_cpu
    shared_l2 = 1 + 0.07 * max(0, min(WORKERS + 1, cores) - math.ceil(cores / 2)) / (WORKERS + 1)
    load = (LOAD_S * slow_cpu + LOAD_GB / (0.0640 * mode["emc_mhz"] * 0.55)) * shared_l2
    switches = 1 + 0.03 * max(0, WORKERS + 1 - cores)
    on_cores = max(load / min(WORKERS, cores), (load + host + main) / cores) * switches
    blur = min(6.0, 2 + 0.8 * cores)
    step = ((device + main) ** blur + on_cores**blur + STORAGE_S**blur) ** (1 / blur)
    return step, min(cores, (load + host + main) / step), busy / step, min(1.0, arithmetic / step)


def _volts(floor, base, slope, bend, x, regulator_step):
    return (
        math.ceil(max(floor, base + slope * x + bend * x * x) / regulator_step - 1e-9)
        * regulator_step
    )


def _drawn(rail_w):
    """Watts at the board's input for a rail's watts: the converter's fixed, proportional and
    resistive losses."""
    return 0.12 + 1.07 * rail_w + 0.006 * rail_w * rail_w


def time_s(mode):
    return STEPS * _step(mode)[0]


def power_w(mode):
    step, cores_busy, gpu_busy, arithmetic = _step(mode)
    cpu, gpu, emc = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    clusters = math.ceil(mode["cores"] / 2)
    cpu_v = _volts(0.6125, 0.56, 0.10, 0.39, cpu, 0.0125)
    gpu_v = _volts(0.625, 0.52, 0.16, 0.30, gpu, 0.025)
    soc_v = 0.70 if emc < 0.45 else 0.75 if emc < 0.70 else 0.80 if emc < 0.95 else 0.85
    cpu_w = (
        cpu_v**2 * cpu * (0.45 * clusters + 0.10 * mode["cores"] + 1.55 * cores_busy)
        + 0.22 * clusters * cpu_v**3
    )
    gpu_w = gpu_v**2 * gpu * (2.6 + 4.5 * gpu_busy + 12.5 * arithmetic) + 1.3 * gpu_v**3
    soc_w = soc_v**2 * (1.9 + 1.8 * emc)
    dram_w = 0.5 + 1.1 * emc + 0.045 * TRAFFIC_GB / step
    return 4.7 + sum(_drawn(watts) for watts in (cpu_w, gpu_w, soc_w, dram_w))
