"""A matrix: runs over several varied settings. Everything in ``matrix.json`` is computed from the
bundles in its folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.bundle.layout import MATRIX, SCHEMA, SUMMARY
from suite.bundle.reader import Bundle
from suite.bundle.study_mark import BOARD, READ_MB_S
from suite.errors import FileError
from suite.files.json_file import read_as
from suite.metrics.board_spread import BoardSpread, board_spread, spread_sentences
from suite.metrics.counted_time import counted_power_w
from suite.metrics.figure import Figure, mean_figure, unknown_figure
from suite.metrics.sealed_record import SealedRecord
from suite.metrics.study import (
    StudyRun,
    mean_of_steps,
    refuse_unplanned,
    repetitions,
    run_times,
    sealed_runs,
    study_runs,
)
from suite.metrics.summary import read_summary

OF_SUMMARY = {
    "time_to_epoch_s": "s",
    "fetch_stall_s": "s",
    "energy_j": "J",
    "energy_per_epoch_j": "J",
    "temperature_max_degc": "degC",
}
"""Figures of each run's summary whose means a matrix has, with their units."""


UNITS = {"_mb_s": "MB/s", "_mhz": "MHz", "_mb": "MB", "_quota": "cores"}
"""Ends of settings' names, which have the unit of their values."""
WORDS = {
    READ_MB_S: "emulated reads",
    "memory_mb": "memory limit",
    "emc_mhz": "memory clock",
    "cpu_quota": "CPU quota",
}
"""Settings whose words do not follow from their names."""


def setting_words(setting: str) -> str:
    """A setting's name for a reader, without its unit: ``batch size``, ``GPU clock``."""
    end = _end(setting)
    stem = setting.removesuffix(end)
    return WORDS.get(setting) or (
        f"{stem.upper()} clock" if UNITS.get(end) == "MHz" else stem.replace("_", " ")
    )


def setting_unit(setting: str) -> str:
    """The unit of its values, with a space before it, where the setting's words have none."""
    end = _end(setting)
    return f" {UNITS[end]}" if end else ""


def _end(setting: str) -> str:
    return next((end for end in UNITS if setting.endswith(end)), "")


@dataclass(frozen=True)
class VariedSetting:
    """A varied setting and one of its values, as text."""

    name: str
    value: str


@dataclass(frozen=True)
class MatrixPointPlan:
    """A point: the name of its runs' folders, and its value of every varied setting."""

    name: str
    settings: tuple[VariedSetting, ...]

    @property
    def label(self) -> str:
        """The settings as they are typed: ``framework pytorch, batch_size 16``."""
        return ", ".join(f"{setting.name} {setting.value}" for setting in self.settings)

    @property
    def words(self) -> str:
        """The settings for a reader: ``framework pytorch, emulated reads 5 MB/s``."""
        return ", ".join(
            f"{setting_words(setting.name)} {setting.value}{setting_unit(setting.name)}"
            for setting in self.settings
        )


@dataclass(frozen=True)
class MatrixPlan:
    """What was asked for. Each point is run ``seeds`` times; figures exclude each run's first
    ``warm_up_steps``."""

    title: str
    workload: str
    data: str
    variables: tuple[str, ...]
    points: tuple[MatrixPointPlan, ...]
    seeds: int
    first_seed: int
    warm_up_steps: int
    order: str


@dataclass(frozen=True)
class MatrixFigures:
    """Figures of one point: means over its runs, with their spreads.

    ``step_fetch_stall_s`` and ``step_compute_s`` are the parts of ``step_s`` that rank 0 waits for
    a mini-batch and computes; host-to-device copy and communication are the rest. ``mean_power_w``
    is a run's energy over its counted time.
    """

    step_s: Figure
    step_fetch_stall_s: Figure
    step_compute_s: Figure
    samples_per_s: Figure
    time_to_epoch_s: Figure
    fetch_stall_s: Figure
    energy_j: Figure
    energy_per_epoch_j: Figure
    mean_power_w: Figure
    temperature_max_degc: Figure


@dataclass(frozen=True)
class MatrixPoint:
    """One point: its name, runs and figures. One without runs has the reason in its figures."""

    name: str
    runs: tuple[StudyRun, ...]
    figures: MatrixFigures


@dataclass(frozen=True)
class Matrix:
    """``matrix.json``. ``boards`` is how its figures scatter over boards; None: they are not what
    it varies."""

    schema: int
    plan: MatrixPlan
    points: tuple[MatrixPoint, ...]
    notes: tuple[str, ...]
    boards: tuple[BoardSpread, ...] | None = None

    @property
    def missing(self) -> dict[str, str]:
        """Names of the points without runs, with the reason."""
        return {
            point.name: str(point.figures.step_s.reason) for point in self.points if not point.runs
        }


NONE_MISSING: Mapping[str, str] = {}


def analyse_matrix(
    directory: Path, plan: MatrixPlan, missing: Mapping[str, str] = NONE_MISSING
) -> Matrix:
    """Compute the matrix from its sealed bundles, with a reason for points that are ``missing``;
    raises SuiteError if another one is missing or not finished."""
    words = {point.name: point.words for point in plan.points}
    bundles = {
        name: repetitions(directory, name, plan.seeds) for name in words if name not in missing
    }
    figures = {name: _figures(runs, plan.warm_up_steps) for name, runs in bundles.items()}
    form = next(iter(figures.values()))
    points = tuple(
        MatrixPoint(name, study_runs(bundles[name]), figures[name])
        if name in figures
        else MatrixPoint(name, (), _unknown_figures(form, missing[name]))
        for name in words
    )
    notes = [f"{words[name]}: {missing[name]}." for name in words if name in missing]
    if plan.variables != (BOARD,):
        return Matrix(SCHEMA, plan, points, tuple(notes))
    boards = board_spread({words[name]: vars(found) for name, found in figures.items()})
    return Matrix(SCHEMA, plan, points, (*notes, *spread_sentences(boards)), boards)


def _unknown_figures(form: MatrixFigures, reason: str) -> MatrixFigures:
    return MatrixFigures(
        **{
            name: unknown_figure(figure.unit, figure.source, reason)
            for name, figure in vars(form).items()
        }
    )


def _figures(bundles: Sequence[Bundle], warm_up_steps: int) -> MatrixFigures:
    times = [run_times(bundle, warm_up_steps) for bundle in bundles]
    summaries = [read_summary(bundle)["figures"] for bundle in bundles]

    return MatrixFigures(
        step_s=mean_of_steps([run.step_s for run in times], "s"),
        step_fetch_stall_s=mean_of_steps([run.fetch_stall_s for run in times], "s"),
        step_compute_s=mean_of_steps([run.compute_s for run in times], "s"),
        samples_per_s=mean_of_steps(
            [run.samples_per_step / run.step_s for run in times], "samples/s"
        ),
        mean_power_w=_mean([_power(summary) for summary in summaries], "W"),
        **{
            name: _mean([summary[name] for summary in summaries], unit)
            for name, unit in OF_SUMMARY.items()
        },
    )


def _power(summary: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    power_w = counted_power_w(summary)
    if power_w is None:
        return {
            "value": None,
            "reason": summary["energy_j"]["reason"] or summary["gross_time_s"]["reason"],
        }
    return {"value": power_w}


def _mean(figures: Sequence[Mapping[str, Any]], unit: str) -> Figure:
    """The mean of a figure of all runs; unknown, with the reason, where a run lacks it."""
    lacking = next((figure for figure in figures if figure["value"] is None), None)
    if lacking is not None:
        return unknown_figure(
            unit, SUMMARY, str(lacking.get("reason") or "a run has no such figure")
        )
    return mean_figure([figure["value"] for figure in figures], unit, SUMMARY, "there are no runs")


def read_matrix(directory: Path) -> Matrix:
    """Read ``matrix.json``, an untrusted file; raises FileError if it is missing or malformed."""
    path = directory / MATRIX
    matrix = read_as(path, Matrix, SCHEMA)
    plan = matrix.plan
    refuse_unplanned(
        path,
        [(point.name, plan.seeds) for point in plan.points],
        [(point.name, len(point.runs) or plan.seeds) for point in matrix.points],
    )
    if len(matrix.missing) == len(matrix.points):
        raise FileError(path, "names no run")
    if any(tuple(each.name for each in point.settings) != plan.variables for point in plan.points):
        raise FileError(path, "has a point whose settings are not those that the matrix varies")
    return matrix


MATRICES = SealedRecord(
    MATRIX,
    "run the matrix again (`suite sweep`)",
    lambda folder: sealed_runs(folder, MATRIX, (one.runs for one in read_matrix(folder).points)),
    lambda folder: analyse_matrix(folder, (found := read_matrix(folder)).plan, found.missing),
)
