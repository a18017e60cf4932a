"""ResNet-18 by a roofline of its layers, energy by operation, voltages from two published
operating-point tables.

Sources: layers from He et al. 2016 (Table 1); time roofline from Williams et al. 2009 (every kernel
waits for its arithmetic, its bytes or its launch); energy from Choi et al. 2013, "A Roofline Model
of Energy" (energy per operation, per byte, and a constant power); CPU time with a memory part from
Keramidas et al. 2010 (leading loads); CPU voltages of the Tegra X1 (Linux,
drivers/clk/tegra/clk-tegra124-dfll-fcpu.c, CPU_CVB_TABLE_ODN) and GPU voltages of the Exynos 2200
(Linux, sgpu_custom_dvfs.c), their frequencies stretched to this board's largest. The constants
(images, joules per operation, seconds per picture) are round numbers of this board's order of
magnitude, not fitted to anything.
"""

CPU_TABLE_MV = (
    *(
        (204, 721),
        (306, 754),
        (408, 787),
        (510, 820),
        (612, 853),
        (714, 886),
        (816, 919),
        (918, 916),
    ),
    *(
        (1020, 985),
        (1122, 1018),
        (1224, 1051),
        (1326, 1084),
        (1428, 1116),
        (1581, 1130),
        (1683, 1168),
        (1785, 1228),
    ),
)
GPU_TABLE_MV = (
    *((202, 500), (303, 525), (404, 550), (500, 569), (605, 581), (711, 594)),
    *((807, 606), (903, 619), (999, 644), (1095, 688), (1210, 744), (1306, 800)),
)
# Channels, side of the output, input channels, kernel side, layers of that shape
LAYERS = (
    (64, 112, 3, 7, 1),
    (64, 56, 64, 3, 4),
    (128, 28, 128, 3, 4),
    (256, 14, 256, 3, 4),
    (512, 7, 512, 3, 4),
)
IMAGES, BATCH, WORKERS = 5000, 16, 4
FLOP_PER_CYCLE, BYTES_PER_CYCLE, EFFICIENCY = 512 * 2, 64.0, 0.7
LAUNCH_S, DECODE_CORE_S, DECODE_MEMORY_S, PYTHON_S = 9e-6, 7e-3, 1.5e-3, 6e-3
FLOP_J, BYTE_J, CPU_CYCLE_J = 9e-12, 55e-12, 7.5e-10


def _volt(table, mhz, largest_mhz):
    """Voltage relative to the highest: the lowest entry that allows this frequency."""
    scaled = mhz * table[-1][0] / largest_mhz
    return next((mv for limit, mv in table if limit >= scaled - 1e-6), table[-1][1]) / table[-1][1]


def _kernels():
    """Work of one image in forward and backward: floating-point operations and bytes of each
    kernel."""
    for channels, side, inputs, kernel, layers in LAYERS:
        outputs = channels * side * side
        flop = 2.0 * outputs * inputs * kernel * kernel
        for _ in range(layers * 3):
            yield flop, 4 * (3 * outputs + 2 * inputs * side * side)
        for _ in range(layers * 6):
            yield 2.0 * outputs, 4 * 2 * outputs


KERNELS = tuple(_kernels())


def time_s(mode):
    cpu = mode["cpu_mhz"] / 2265.6
    emc = mode["emc_mhz"] / 2133
    flop_s = FLOP_PER_CYCLE * mode["gpu_mhz"] * 1e6 * EFFICIENCY
    byte_s = BYTES_PER_CYCLE * mode["emc_mhz"] * 1e6 * EFFICIENCY
    step = sum(
        max(BATCH * flop / flop_s, BATCH * size / byte_s, LAUNCH_S / cpu) for flop, size in KERNELS
    )
    python = PYTHON_S / cpu
    decode = BATCH * (DECODE_CORE_S / cpu + DECODE_MEMORY_S / emc)
    load = max(decode / WORKERS, (decode + python) / mode["cores"])
    return 2.0 + IMAGES / BATCH * max(step + python, load)


def power_w(mode):
    cpu, gpu, emc = mode["cpu_mhz"] / 2265.6, mode["gpu_mhz"] / 1377, mode["emc_mhz"] / 2133
    cpu_volt, gpu_volt = (
        _volt(CPU_TABLE_MV, mode["cpu_mhz"], 2265.6),
        _volt(GPU_TABLE_MV, mode["gpu_mhz"], 1377),
    )
    flops, size = (IMAGES * sum(column) for column in zip(*KERNELS, strict=True))
    cycles = IMAGES * (DECODE_CORE_S + PYTHON_S / BATCH) * 2265.6e6
    work_j = flops * FLOP_J * gpu_volt**2 + size * BYTE_J + cycles * CPU_CYCLE_J * cpu_volt**2
    clocks_w = 2.2 * gpu * gpu_volt**2 + 0.25 * mode["cores"] * cpu * cpu_volt**2
    leakage_w = 1.6 * gpu_volt**3 + 0.15 * mode["cores"] * cpu_volt**3
    return 5.0 + clocks_w + leakage_w + 1.8 * emc + work_j / time_s(mode)
