"""Waits until a machine has cooled to a stated temperature."""

import time
from collections.abc import Callable
from pathlib import Path

from suite.errors import SuiteError
from suite.meters.meter import MeteredProcess
from suite.meters.sources.temperature import TemperatureMeter

POLL_S = 2.0


def hottest_c(root: Path = Path("/")) -> float | None:
    """Temperature of the hottest sensor now; None where none can be read."""
    meter = TemperatureMeter(root)
    meter.open(MeteredProcess(1, root))
    return max((reading.value for reading in meter.read()), default=None)


def refuse_without_sensor(root: Path = Path("/")) -> None:
    """Raise SuiteError where no temperature can be read."""
    if hottest_c(root) is None:
        absent = TemperatureMeter.absent
        raise SuiteError(f"--cool-to needs a temperature sensor: {absent.reason}; {absent.remedy}.")


def cool_down(
    to_c: float,
    timeout_s: float,
    report: Callable[[float], None],
    root: Path = Path("/"),
    wait: Callable[[float], None] = time.sleep,
) -> float:
    """Wait until the hottest sensor is at ``to_c`` or below; returns its temperature. ``report``
    gets the temperature that is waited from.

    Raises SuiteError after ``timeout_s``: a warmer room than the temperature that is asked for
    never ends the wait.
    """
    now_c, limit_s, is_reported = hottest_c(root), time.monotonic() + timeout_s, False
    while now_c is not None and now_c > to_c:
        if time.monotonic() > limit_s:
            raise SuiteError(
                f"The hottest sensor is still at {now_c:.1f} degC after {timeout_s:g} s; choose"
                " --cool-to above the idle temperature."
            )
        if not is_reported:
            report(now_c)
            is_reported = True
        wait(POLL_S)
        now_c = hottest_c(root)
    return to_c if now_c is None else now_c
