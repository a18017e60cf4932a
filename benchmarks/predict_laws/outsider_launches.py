"""A small network whose steps wait for kernel launches, and whose loading processes compete with
them for few cores.

After the paper's 5.6.5 and 5.6.6: four loading processes, the training process and a logger share
the cores.

Written from the paper before its author had read the model's code or the other laws.
"""

_STEPS = 3750.0
# volts up to this clock (GHz), rising beyond it
_VOLTAGE_KNEE = {"cpu": (0.62, 1.1), "gpu": (0.60, 0.55)}


def time_s(mode):
    return _STEPS * _step_ms(mode)[0] / 1000


def power_w(mode):
    step, cpu_busy, gpu_busy, traffic = _step_ms(mode)
    cpu, gpu, memory = (mode[name] / 1000 for name in ("cpu_mhz", "gpu_mhz", "emc_mhz"))
    busy_cores = min(mode["cores"], cpu_busy / step)
    chip = 1.1 * _volts("cpu", cpu) ** 2 * cpu * (busy_cores + 0.12 * mode["cores"]) + 8.5 * _volts(
        "gpu", gpu
    ) ** 2 * gpu * (0.1 + 0.9 * gpu_busy / step)
    chip += (
        0.35
        + 0.55 * memory
        + 0.09 * traffic / step
        + 0.11 * mode["cores"] * _volts("cpu", cpu) ** 3
    )
    # leakage grows with the temperature that the power itself makes
    warm_w = 3.4 + chip * (1 + 0.004 * chip)
    return warm_w / (0.93 - 0.004 * warm_w)  # of the converter, which loses more when it gives more


def _step_ms(mode):
    """Milliseconds of a step, of CPU work and of GPU work in it, and megabytes moved."""
    cpu, gpu, memory = (mode[name] / 1000 for name in ("cpu_mhz", "gpu_mhz", "emc_mhz"))
    load, launch, logger = 2.6 / cpu + 0.25 / memory, 1.05 / cpu + 0.1, 0.05 / cpu
    kernels = 0.16 / gpu + 0.09 / memory + 0.06
    crowd = (4 + 1 + 0.4) / mode["cores"]  # processes per core
    launch *= 1 + 0.35 * max(0.0, crowd - 1)
    fetched = load / min(4.0, max(0.75, mode["cores"] - 1.0)) + logger
    train = (launch**3 + kernels**3) ** (1 / 3) + 0.25 * min(launch, kernels)
    step = train + max(0.0, fetched - train) + 0.06 * fetched
    return step, load + launch + logger, kernels, 1.9


def _volts(unit, clock):
    floor, knee = _VOLTAGE_KNEE[unit]
    return floor + 0.33 * max(0.0, clock - knee) ** 1.2
