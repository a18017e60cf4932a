"""A network of ResNet-50's size, bound by the GPU or by slow memory, with overlapped copies;
leakage heats the chip and grows with the heat.

Each stage takes the longer of arithmetic and traffic and a part of the shorter (roofline, Williams,
Waterman and Patterson 2009; time roofline of Jetson power modes, arXiv:2509.20189), and the copy
engine's traffic takes bandwidth from the kernels and shows only where it outlasts them. The host
works ahead on other cores, so that the CPU shows where one core does everything (Prashanthi et al.,
POMACS 2022 and PowerTrain, 2024). Leakage is exponential in temperature, as De Vogeleer et al.,
arXiv:1404.3381, measured, and temperature follows power, a fixed point found by iteration; dynamic
power is C V^2 f with a clock and an activity part (Nunez-Yanez et al., TX1 GPU, 2020). The
constants are round numbers of this board's order of magnitude, not fitted to anything.
"""

import math

STEPS = 182
# the network's stages in a mini-batch, forward and backward: GPU seconds at 1377 MHz, GB of
# traffic; the last is the optimiser
STAGES = ((0.012, 1.15), (0.036, 2.60), (0.042, 1.90), (0.052, 1.30), (0.030, 0.75), (0.003, 0.62))
SHORTER_SHOWN, COPY_GB, COPY_ENGINE_GBPS = 0.22, 0.24, 14.0
SYNC_S, LAUNCH_S, LOAD_S = 0.0014, 0.007, 0.014
AMBIENT_C, ITERATIONS = 26.0, 15


def _device(mode):
    """Seconds of a mini-batch on the GPU, of these the arithmetic, and the copy's seconds that stay
    visible."""
    slow_gpu, dram = 1377 / mode["gpu_mhz"], 0.064 * mode["emc_mhz"]
    reach = 0.84 * dram / (1 + 0.35 * dram / (0.128 * mode["gpu_mhz"]))
    copy = COPY_GB / min(COPY_ENGINE_GBPS, 0.45 * dram)
    total = 0.0
    for seconds, gigabytes in STAGES:
        compute, memory = seconds * slow_gpu, gigabytes / reach
        total += max(compute, memory) + SHORTER_SHOWN * min(compute, memory)
    traffic = sum(gigabytes for _, gigabytes in STAGES) / reach
    crowded = min(copy, total) * (COPY_GB / copy / dram) * min(1.0, traffic / total)
    return (
        total + crowded,
        sum(seconds for seconds, _ in STAGES) * slow_gpu,
        max(0.0, copy - total) + 0.03 * copy,
    )


def _step(mode):
    """Seconds of a mini-batch, the cores' busy seconds, and the GPU's busy and arithmetic
    seconds."""
    slow_cpu, cores = 2265.6 / mode["cpu_mhz"], mode["cores"]
    busy, arithmetic, copy = _device(mode)
    launch, load = LAUNCH_S * slow_cpu, LOAD_S * slow_cpu
    if cores == 1:
        host, shown = 1.12 * (launch + load), 0.45
    else:
        host, shown = max(launch, load / min(cores - 1, 3)), 0.04 / (cores - 1)
    step = max(busy, host) + shown * min(busy, host) + copy + SYNC_S * slow_cpu
    return step, launch + load + SYNC_S * slow_cpu, busy, arithmetic


def _volt(x, floor, low, rise, bend):
    return max(floor, low + rise * x + bend * x**3)


def _heated(dynamic_w, leak_w):
    """Watts with leakage at the temperature these watts themselves bring about; the fan speeds up
    as the chip warms."""
    celsius = AMBIENT_C + 15.0
    for _ in range(ITERATIONS):
        total = dynamic_w + leak_w * math.exp(0.017 * (celsius - 50.0))
        resistance = 1.25 / (1 + 0.018 * max(0.0, celsius - 35.0))
        celsius = 0.5 * celsius + 0.5 * (AMBIENT_C + resistance * total)
    return total


def time_s(mode):
    return STEPS * _step(mode)[0]


def power_w(mode):
    step, cores_s, busy, arithmetic = _step(mode)
    cpu, gpu, emc = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    cpu_v, gpu_v, soc_v = (
        _volt(cpu, 0.62, 0.52, 0.22, 0.30),
        _volt(gpu, 0.64, 0.50, 0.28, 0.24),
        _volt(emc, 0.70, 0.62, 0.15, 0.05),
    )
    pairs = math.ceil(mode["cores"] / 2)
    cpu_w = cpu_v**2 * cpu * (0.5 + 0.15 * pairs + 1.7 * min(mode["cores"], cores_s / step))
    gpu_w = gpu_v**2 * gpu * (2.2 + 5.0 * busy / step + 12.5 * min(1.0, arithmetic / step))
    traffic = (COPY_GB + sum(gigabytes for _, gigabytes in STAGES)) / step
    memory_w = soc_v**2 * (0.8 + 2.4 * emc) + 0.7 * emc + 0.055 * traffic
    leak_w = 2.4 * gpu_v**2 + (0.4 + 0.2 * pairs) * cpu_v**2 + 1.3 * soc_v**2
    return 5.0 + 1.1 * _heated(cpu_w + gpu_w + memory_w, leak_w)
