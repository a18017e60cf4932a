"""Memory-bound plateau, launch-bound floor, a thermal throttle and voltage bins of rails that are
shared between domains.

Written without reading the prediction. GPU kernels cannot use more than the DRAM gives (hard
plateau, no smooth corner); the host issues kernels at a rate that has a part of its own fixed cost
(driver, us); with one core loader and host alternate. CPU and memory controller share one rail: its
voltage is the higher one of what both need, in five bins. The GPU has four voltage bins. Above a
dissipation of the heat sink the GPU is throttled by duty cycle to half its clock, which lengthens
the step and lowers power, but never below a floor.
"""

STEPS, KERNELS = 400, 900
GFLOP, GB, LOAD_CPU_S, LAUNCH_CPU_S, LAUNCH_FIX_S = 62.0, 1.15, 0.060, 14e-6, 6e-6
HEAT_W = 26.0
GPU_BINS = ((420.75, 0.62), (675.75, 0.70), (1032.75, 0.82), (9999, 1.00))
CPU_BINS = ((576.0, 0.60), (1113.6, 0.68), (1497.6, 0.78), (1881.6, 0.90), (9999, 1.05))
EMC_BINS = ((800.0, 0.60), (1331.2, 0.70), (1866.0, 0.80), (9999, 0.88))


def _bin(table, clock):
    return next(volts for top, volts in table if clock <= top + 1e-6)


def _times(mode, gpu_mhz):
    cpu, emc, cores = mode["cpu_mhz"] / 1000, mode["emc_mhz"], mode["cores"]
    compute = GFLOP / (0.95 * gpu_mhz)
    memory = (
        GB / (0.050 * emc) if emc > 0.9 * gpu_mhz else GB / (0.050 * emc) * 1.15
    )  # crossing clock domains costs
    gpu = max(compute, memory)
    launch = KERNELS * (LAUNCH_CPU_S * 2.2656 / cpu + LAUNCH_FIX_S)
    load = LOAD_CPU_S * 2.2656 / cpu / min(4, max(1, cores - 1)) * 4 / 3
    step = max(gpu, launch) + 0.004
    step = step + load if cores == 1 else max(step, load)
    return step, gpu, launch, load


def _power(mode, gpu_mhz):
    step, gpu, launch, load = _times(mode, gpu_mhz)
    cpu, emc, cores = mode["cpu_mhz"], mode["emc_mhz"], mode["cores"]
    shared = max(_bin(CPU_BINS, cpu), _bin(EMC_BINS, emc))
    vgpu = _bin(GPU_BINS, gpu_mhz)
    busy = min(cores, (launch + min(4, max(1, cores - 1)) * load) / step)
    cpu_w = shared**2 * cpu / 1000 * (0.16 * cores + 0.85 * busy)
    gpu_w = vgpu**2 * gpu_mhz / 1000 * (3.0 + 15.0 * min(1.0, gpu / step))
    emc_w = shared**2 * emc / 1000 * (0.9 + 1.4 * min(1.0, GB / (0.05 * emc) / step))
    leak = 0.35 * cores * shared**3 + 2.2 * vgpu**3
    return 5.2 + cpu_w + gpu_w + emc_w + leak


def _state(mode):
    """Step and power with the throttle: the share of time at half the clock that keeps the heat
    sink's power."""
    full, fast = _power(mode, mode["gpu_mhz"]), _times(mode, mode["gpu_mhz"])[0]
    if full <= HEAT_W:
        return fast, full
    half, slow = _power(mode, mode["gpu_mhz"] / 2), _times(mode, mode["gpu_mhz"] / 2)[0]
    share = min(1.0, (full - HEAT_W) / max(1e-9, full - half))  # of time
    rate = (1 - share) / fast + share / slow
    return 1 / rate, full * (1 - share) + half * share


def time_s(mode):
    return STEPS * _state(mode)[0]


def power_w(mode):
    return _state(mode)[1]
