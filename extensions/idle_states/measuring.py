"""The power of an idle machine in four states: with and without logging, with the clocks free, and
suspended.

Source: Prashanthi et al. (POMACS 2022), section 5.6: (i) a clean start with logging and fixed
clocks, (ii) without logging, (iii) with DVFS, (iv) suspended, woken by the network. On boards
without an external meter only (i) to (iii) can be measured, and reading the power is itself some
logging.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from suite.bundle.layout import BASELOAD_RAW
from suite.bundle.readings_table import ReadingsMemory, read_raw_channels
from suite.catalog.power import load_power_rules
from suite.errors import SuiteError
from suite.execution.baseload import baseload_meters, recorded_baseload
from suite.machine.modes.available_modes import AvailableModes, read_available_modes
from suite.machine.modes.places import SYSTEM
from suite.machine.modes.requested_mode import RequestedMode
from suite.machine.modes.set_and_restore import held_where, refuse_mode
from suite.machine.power_settings import read_power_settings
from suite.meters.meter import Meter
from suite.meters.registry import chosen_meters
from suite.metrics.energy_figures import idle_power
from suite.metrics.figure import Figure, unknown_figure
from suite.metrics.power_totals import power_totals
from suite.metrics.traces.attaching import read_logger
from suite.metrics.traces.columns import TraceOptions

LOGGED, QUIET, FREE, SUSPENDED = "logged", "quiet", "free", "suspended"
SETTLE_S = 5.0
"""A meter's averages and the clocks' governor still show what was before."""
PERFORMANCE = "performance"
GOVERNORS = ("schedutil", "ondemand", "powersave")
"""Governors that let the clock follow the load, the first that is offered; powersave does so with
intel_pstate."""
HOW_TO_SUSPEND = (
    "this machine cannot read its power while it sleeps: let an external logger record during `sudo"
    " rtcwake -m mem -s 300`, and give its file with --suspended LOG.csv"
)
NO_CLOCKS = "the clocks of this machine cannot be set (`suite power list`)"
LOCKED = (
    "the clocks of this machine were locked before; unlock them (`suite power restore`, `sudo"
    " jetson_clocks --restore` or a restart)"
)


@dataclass(frozen=True)
class IdleState:
    """A state's power: what was read, by which meters, with which clocks; unknown with a reason."""

    state: str
    title: str
    power: Figure
    meters: tuple[str, ...]
    power_mode: str | None
    time_s: float


TITLES = {
    LOGGED: "idle, all meters read, clocks fixed",
    QUIET: "idle, only power read, clocks fixed",
    FREE: "idle, only power read, clocks free (DVFS)",
    SUSPENDED: "suspended",
}
AS_THEY_WERE = ("clocks fixed", "clocks as they were")
"""In titles, where clocks cannot be set."""


def measure_idle_states(
    time_s: float,
    suspended: Path | None = None,
    report: Callable[[str], None] = lambda line: None,
    root: Path = SYSTEM,
) -> tuple[IdleState, ...]:
    """Measure each state for ``time_s``; ``suspended`` is the file of an external logger that
    recorded the sleeping machine.

    Clocks are put back at the end. Raises SuiteError where nothing reads power, where clocks need
    root, and for a file that is no trace.
    """
    asleep = _suspended(suspended)
    if not baseload_meters(chosen_meters((), root)):
        raise SuiteError(
            "No power meter is available, so no idle state can be measured; `suite doctor` says"
            " what each meter lacks."
        )
    available = read_available_modes(root)
    fixed, free = clock_modes(available)
    why_not_free = NO_CLOCKS
    if available.jetson_clocks is not None and read_power_settings(root).clocks_locked:
        free, why_not_free = None, LOCKED
    for mode in (fixed, free):
        if mode is not None and not mode.is_empty:
            refuse_mode(mode, root)
    found = []
    with held_where(fixed is not None, root) as set_mode:
        for state, mode in ((LOGGED, fixed), (QUIET, fixed), (FREE, free)):
            if mode is None and state == FREE:
                found.append(_unknown(state, BASELOAD_RAW, why_not_free))
                continue
            title = TITLES[state] if mode is not None else TITLES[state].replace(*AS_THEY_WERE)
            report(f"{title}: {time_s:g} s")
            if mode is not None:
                set_mode(mode)
            found.append(replace(_measure(state, state == LOGGED, time_s, root), title=title))
    return (*found, asleep)


def clock_modes(available: AvailableModes) -> tuple[RequestedMode | None, RequestedMode | None]:
    """The modes with fixed clocks and with free ones; None where the machine's clocks cannot be
    set."""
    governors = {name for domain in available.domains for name in domain.governors}
    if available.jetson_clocks is not None:
        return RequestedMode(jetson_clocks=True), RequestedMode()
    moving = next((name for name in GOVERNORS if name in governors), None)
    if PERFORMANCE in governors and moving is not None:
        return RequestedMode(governor=PERFORMANCE), RequestedMode(governor=moving)
    return None, None


def _measure(state: str, is_logged: bool, time_s: float, root: Path) -> IdleState:
    """Read all meters, as in a run, or those of power alone, which keeps the CPU meter: it says how
    idle the machine was."""
    meters: Sequence[Meter] = (
        chosen_meters((), root) if is_logged else baseload_meters(chosen_meters((), root))
    )
    time.sleep(SETTLE_S)
    with tempfile.TemporaryDirectory() as folder:
        with recorded_baseload(meters, Path(folder)):
            time.sleep(time_s)
        readings = read_raw_channels(Path(folder, BASELOAD_RAW), ReadingsMemory())
    power = idle_power(readings, power_totals(readings, load_power_rules(), None), "in this state")
    names = tuple(dict.fromkeys(channel.source for channel in readings))
    return IdleState(state, TITLES[state], power, names, read_power_settings(root).label, time_s)


def _unknown(state: str, source: str, reason: str) -> IdleState:
    return IdleState(state, TITLES[state], unknown_figure("W", source, reason), (), None, 0.0)


def _suspended(trace: Path | None) -> IdleState:
    """The median power of an external logger's file: falling asleep and waking up are its ends."""
    if trace is None:
        return _unknown(SUSPENDED, "a logger's file", HOW_TO_SUSPEND)
    try:
        read = read_logger(trace, TraceOptions())[1].trace
    except SuiteError as error:
        raise SuiteError(
            f"{error} --suspended has none of the options of `suite power attach`: give it a CSV"
            " file with the columns time_s and power_w."
        ) from error
    method = "median of an external logger's readings"
    figure = Figure(
        float(np.median(read.power_w)), "W", trace.name, len(read.power_w), method=method
    )
    return IdleState(
        SUSPENDED,
        TITLES[SUSPENDED],
        figure,
        ("external logger",),
        None,
        float(read.t_s[-1] - read.t_s[0]),
    )
