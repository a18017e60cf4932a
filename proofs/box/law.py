"""The laws of the emulated board's power, and the registers of an INA3221 that show a power.

``of_time``: a sine, a square wave and a constant, whose energy is known in closed form.
``of_load``: a constant and a share per busy core.
"""

import math

VOLTAGE_V = 5.0
SHUNT_OHM = 0.005
SHUNT_STEP_V, BUS_STEP_V = 40e-6, 8e-3  # the chip's resolution; codes are in bits 15 to 3
RAILS = (("VDD_IN", 1.0), ("VDD_CPU_GPU_CV", 0.5), ("VDD_SOC", 0.25))
"""Names of the three channels, and their shares of the board's power."""
SINE_W, SINE_PERIOD_S = 2.0, 7.0
SQUARE_W, SQUARE_PERIOD_S, SQUARE_SHARE = 3.0, 4.6, 0.4
CONSTANT_W = 6.0
IDLE_W, CORE_W = 3.0, 2.5


def power_of_time_w(t_s: float) -> float:
    """Power at a moment, W."""
    square = SQUARE_W if (t_s / SQUARE_PERIOD_S) % 1.0 < SQUARE_SHARE else 0.0
    return CONSTANT_W + SINE_W * math.sin(2 * math.pi * t_s / SINE_PERIOD_S) + square


def energy_of_time_j(start_s: float, stop_s: float) -> float:
    """The exact integral of :func:`power_of_time_w`, J."""
    return _integral(stop_s) - _integral(start_s)


def _integral(t_s: float) -> float:
    sine = (
        SINE_W * SINE_PERIOD_S / (2 * math.pi) * (1 - math.cos(2 * math.pi * t_s / SINE_PERIOD_S))
    )
    whole, part = divmod(t_s / SQUARE_PERIOD_S, 1.0)
    square = SQUARE_W * SQUARE_PERIOD_S * (whole * SQUARE_SHARE + min(part, SQUARE_SHARE))
    return CONSTANT_W * t_s + sine + square


def power_of_load_w(busy_cores: float) -> float:
    """Power of a board with this many busy cores, W."""
    return IDLE_W + CORE_W * busy_cores


def registers(power_w: float, gain: float = 1.0) -> dict[int, int]:
    """Values of the chip's registers by number: shunt voltage 1, 3, 5 and bus voltage 2, 4, 6 of
    the three channels.

    ``gain`` is that of a sensor which is wrong: it shows ``gain`` times the current.
    """
    found = {}
    for place, (_, share) in enumerate(RAILS):
        shunt_v = gain * share * power_w / VOLTAGE_V * SHUNT_OHM
        found[1 + 2 * place] = round(shunt_v / SHUNT_STEP_V) << 3
        found[2 + 2 * place] = round(VOLTAGE_V / BUS_STEP_V) << 3
    return found
