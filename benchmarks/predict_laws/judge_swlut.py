"""A memory-bound network: NVIDIA's published voltage table of a GPU, bins of an Amlogic CPU, losses
of the converters.

Sources: GPU voltages from the example of `bpmp/debug/clk/nafll_gpu/swlut` in NVIDIA's DRIVE 5.0
guide ("Voltage Scaling", steps of 9 mV), which here end at a floor of 580 mV; CPU bins from Linux,
arch/arm64/boot/dts/amlogic/meson-g12b-a311d.dtsi (cpub_opp_table_1), stretched to this board's
largest clock; time from a roofline of MobileNetV2's blocks (Sandler et al. 2018, Table 2:
expansion, depthwise, projection), in which each kernel waits for arithmetic, bytes or its launch
(Williams et al. 2009). Constants are round numbers of this board's order of magnitude. Written
before the model got voltage bins, by the author of these.
"""

GPU_MV = (
    *((255, 520), (408, 538), (561, 556), (714, 574), (841, 592), (994, 610)),
    *((1122, 628), (1249, 646), (1351, 664), (1479, 682)),
)
FLOOR_MV = 580
CPU_MV = (
    *((1000, 731), (1200, 751), (1512, 771), (1608, 781), (1704, 791)),
    *((1800, 831), (1908, 861), (2016, 911), (2108, 951), (2208, 1011)),
)
# Expansion, channels out, blocks, side of the output, channels in
BLOCKS = (
    *((1, 16, 1, 112, 32), (6, 24, 2, 56, 16), (6, 32, 3, 28, 24), (6, 64, 4, 14, 32)),
    *((6, 96, 3, 14, 64), (6, 160, 3, 7, 96), (6, 320, 1, 7, 160)),
)
STEPS, BATCH = 400, 32
FLOP_PER_CYCLE, BYTES_PER_CYCLE = 512 * 2 * 0.5, 64 * 0.8
LAUNCH_S, OPTIMISER_S, DECODE_S = 11e-6, 0.008, 0.004


def _kernels():
    """Floating-point operations and bytes of each kernel of a step, forward and backward."""
    for expansion, out, blocks, side, first in BLOCKS:
        for block in range(blocks):
            given = out if block else first
            wide, pixels = given * expansion, side * side * BATCH
            for flop, size in (
                (2 * given * wide * pixels, 4 * (given + wide) * pixels),
                (2 * 9 * wide * pixels, 4 * 2 * wide * pixels),
                (2 * wide * out * pixels, 4 * (wide + out) * pixels),
            ):
                yield from ((flop, size),) * 3  # forward, by input, by weight
                yield from ((size / 2, 2 * size),) * 4  # normalisation and activation, both ways


KERNELS = tuple(_kernels())
STEP_BYTES = sum(size for _, size in KERNELS)
STEP_FLOP = sum(flop for flop, _ in KERNELS)


def _volts(table, mhz):
    return next(mv for top, mv in table if mhz <= top + 1e-6) / 1000


def _parts(mode):
    """Seconds of a step: kernels, host, loading."""
    cpu, cores = mode["cpu_mhz"] / 2265.6, mode["cores"]
    flop_s, byte_s = (
        FLOP_PER_CYCLE * mode["gpu_mhz"] * 1e6,
        BYTES_PER_CYCLE * mode["emc_mhz"] * 1e6,
    )
    kernels = sum(max(flop / flop_s, size / byte_s, LAUNCH_S / cpu) for flop, size in KERNELS)
    load = BATCH * DECODE_S / cpu / min(cores, 4) * (1.35 if cores < 3 else 1.0)
    return kernels, OPTIMISER_S / cpu, load


def time_s(mode):
    kernels, host, load = _parts(mode)
    return 3.0 + STEPS * max(kernels + host, load)


def power_w(mode):
    kernels, host, load = _parts(mode)
    step, cores = max(kernels + host, load), mode["cores"]
    cpu_v = _volts(CPU_MV, mode["cpu_mhz"] * 2208 / 2265.6)
    gpu_v = max(_volts(GPU_MV, mode["gpu_mhz"]), FLOOR_MV / 1000)
    busy = min(cores, 1 + load * min(cores, 4) / step)
    cpu_w = cpu_v**2 * mode["cpu_mhz"] / 1000 * (0.12 * cores + 0.8 * busy)
    gpu_w = gpu_v**2 * mode["gpu_mhz"] / 1000 * (4.0 + 9.0 * kernels / step)
    gpu_w += gpu_v**2 * STEP_FLOP / step * 9e-12
    memory_w = 0.4 + 1.5 * mode["emc_mhz"] / 2133 + 60e-12 * STEP_BYTES / step
    leak_w = 0.2 * cores * cpu_v**3 + 3.0 * gpu_v**3
    out_w = 3.0 + cpu_w + gpu_w + memory_w + leak_w
    return out_w * 1.06 + 0.004 * out_w**2 + 0.6  # a converter: fixed, switching, resistive losses
