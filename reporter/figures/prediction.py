"""Time and energy of a power mode, predicted from the other modes: Figures 10a and 10b of the
Jetson study.

A linear model of cores, CPU, GPU and memory clock, as in the study. Each mode is predicted by the
model that is fitted to all the others; the study fits to four chosen modes.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from reporter.data.frames import Frames
from reporter.data.machines import Machine, machines_of
from reporter.data.text import significant
from reporter.data.values import why_missing
from reporter.figures.energy import ENERGY, Drawn, group_rows, panels_by_instrument
from reporter.figures.entries import entry_estimates
from reporter.figures.for_papers import OVER_RUNS, Varied, rows_panel, varied_groups
from reporter.figures.model import Estimate, Missing, PaperFigure, PlotRow

TIME = "time_to_epoch_s"
AXES = {TIME: "time per epoch, s", ENERGY: "energy per epoch, J"}
PERCENT = 100.0


def by_mode(frames: Frames, figure: str) -> PaperFigure | Missing:
    """A figure of AXES by power mode: measured, predicted (an energy from the clocks and the
    measured time), and the error of the prediction."""
    axis, sensor_of = AXES[figure], figure if figure == ENERGY else None
    found, times = entry_estimates(frames, figure), entry_estimates(frames, TIME)
    if not found:
        return Missing(f"{axis.partition(',')[0]} is unknown: {why_missing(frames, figure)}")

    def rows(names: Sequence[str]) -> Drawn:
        groups, both = list[Varied](), dict[str, tuple[Estimate, ...]]()
        for group in varied_groups(frames, names, "power_mode"):
            predicted = _predict(frames, group, found, times if sensor_of else None)
            both |= {name: (found[name], Estimate(value)) for name, value in predicted.items()}
            kept = tuple(entry for entry in group.entries if entry["entry_id"] in predicted)
            groups += [replace(group, entries=kept)] if kept else []
        of_modes, notes, _ = group_rows(frames, groups, both, "power_mode")
        return [_with_error(row) for row in of_modes], notes, list(both)

    panel = partial(rows_panel, series=("measured", "predicted"))
    panels, notes, ids = panels_by_instrument(frames, sensor_of, axis, found, rows, panel)
    if not panels:
        return Missing(
            "too few power modes with known clocks: a prediction needs 3 modes more than there are"
            " quantities that differ between the modes (number of cores, each clock; for an energy"
            " also the time)"
        )
    about = (
        "Each power mode is predicted by a linear model of cores and clocks, fitted to all the"
        " other modes. Percentage: error of the prediction."
    )
    return PaperFigure(panels, ids, about, f"of the measured values, {OVER_RUNS}", notes, sensor_of)


def _with_error(row: PlotRow) -> PlotRow:
    measured, predicted = (one.value for one in row.values)
    error = f"{PERCENT * (predicted - measured) / measured:+.0f} %"
    return replace(row, texts=(significant(measured), f"{significant(predicted)} ({error})"))


def _predict(
    frames: Frames, group: Varied, found: dict[str, Estimate], times: dict[str, Estimate] | None
) -> dict[str, float]:
    """The prediction for each entry of a group, from the others; empty if they are too few or their
    clocks are unknown."""
    machines, of_entry = (
        machines_of(frames),
        dict(zip(frames.runs["entry_id"], frames.runs["run_id"], strict=True)),
    )
    rows = {
        entry["entry_id"]: _features(machines[of_entry[entry["entry_id"]]])
        for entry in group.entries
    }
    if times is not None:
        rows = {
            name: (*row, times[name].value) for name, row in rows.items() if row and name in times
        }
    complete = {name: row for name, row in rows.items() if row}
    features = _varying(list(complete.values()))
    if len(complete) < len(features) + 3 or not features:
        return {}
    inputs = np.array([[1.0, *(row[index] for index in features)] for row in complete.values()])
    inputs = inputs / np.abs(inputs).max(axis=0)
    values = np.array([found[name].value for name in complete])
    predicted = {}
    for place, name in enumerate(complete):
        others = np.arange(len(values)) != place
        solution, *_ = np.linalg.lstsq(inputs[others], values[others], rcond=None)
        predicted[name] = float(inputs[place] @ solution)
    return predicted


def _features(machine: Machine) -> tuple[float, ...]:
    """Cores and clocks; a GPU or memory clock that the kernel does not tell is left out. Empty
    without cores and CPU clock."""
    if machine.cores is None or machine.cpu_mhz is None:
        return ()
    return (
        float(machine.cores),
        machine.cpu_mhz,
        machine.gpu_mhz or 0.0,
        machine.memory_mhz or 0.0,
    )


def _varying(rows: Sequence[tuple[float, ...]]) -> list[int]:
    return (
        [index for index in range(len(rows[0])) if len({row[index] for row in rows}) > 1]
        if rows
        else []
    )
