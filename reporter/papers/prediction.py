"""Time and energy of a power mode, predicted from the other modes: Figures 10a and 10b of the
Jetson study.

A linear model of cores, CPU, GPU and memory clock, as in the study. Each mode is predicted by the
model that is fitted to all the others; the study fits to four chosen modes.
"""

from collections.abc import Sequence

import numpy as np

from reporter.data.frames import Frames
from reporter.data.machines import Machine, machines_of
from reporter.data.values import why_missing
from reporter.papers.energy import ENERGY, kinds_of, with_instrument
from reporter.papers.entries import OVER_RUNS, Varied, estimates, rows_of_groups, varied
from reporter.papers.model import Bar, BarGroup, Bars, Estimate, Missing, Panel, PaperFigure

TIME = "time_to_epoch_s"
SERIES = ("measured", "predicted")
PERCENT = 100.0


def times(frames: Frames) -> PaperFigure | Missing:
    """Time per epoch, s, by power mode: measured, predicted, and the error of the prediction."""
    return _draw(frames, TIME, "time per epoch, s", None)


def energies(frames: Frames) -> PaperFigure | Missing:
    """Energy per epoch, J, by power mode: measured, predicted from the clocks and the measured
    time, and the error."""
    return _draw(frames, ENERGY, "energy per epoch, J", ENERGY)


def _draw(frames: Frames, figure: str, axis: str, sensor_of: str | None) -> PaperFigure | Missing:
    found, times = estimates(frames, figure), estimates(frames, TIME)
    if not found:
        return Missing(f"{axis.partition(',')[0]} is unknown: {why_missing(frames, figure)}")
    panels, notes, ids = list[Panel](), list[str](), list[str]()
    for kind, names in (
        kinds_of(frames, figure, found) if sensor_of else {"": list(found)}
    ).items():
        groups, predicted = list[Varied](), dict[str, float]()
        for group in varied(frames, names, ("power_mode",)):
            of_group = _predict(frames, group, found, times if sensor_of else None)
            if of_group:
                groups.append(
                    Varied(
                        group.heading,
                        tuple(entry for entry in group.entries if entry["entry_id"] in of_group),
                    )
                )
                predicted |= of_group
        if groups:
            both = {name: (found[name], Estimate(value)) for name, value in predicted.items()}
            rows, note = rows_of_groups(
                frames,
                groups,
                lambda entry, both=both: both[entry["entry_id"]],  # type: ignore[misc]
                ("power_mode",),
            )
            panels.append(Bars(with_instrument(axis, kind), _with_errors(rows), SERIES))
            notes += [note] if note else []
            ids += list(predicted)
    if not panels:
        return Missing(
            "fewer modes with known clocks than a model of these clocks needs (two more than clocks"
            " that vary)"
        )
    about = (
        "Each power mode is predicted by a linear model of cores and clocks, fitted to all the"
        " other modes. Percentage: error of the prediction."
    )
    return PaperFigure(
        tuple(panels),
        tuple(ids),
        about,
        f"of the measured values, {OVER_RUNS}",
        tuple(notes),
        sensor_of,
    )


def _with_errors(groups: tuple[BarGroup, ...]) -> tuple[BarGroup, ...]:
    return tuple(
        BarGroup(group.heading, tuple(_with_error(bar) for bar in group.bars)) for group in groups
    )


def _with_error(bar: Bar) -> Bar:
    measured, predicted = bar.values
    return Bar(
        bar.label,
        bar.values,
        bar.style,
        f"{PERCENT * (predicted.value - measured.value) / measured.value:+.0f} %",
        bar.is_group,
    )


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
