"""A matrix: runs over several varied settings. Everything in ``matrix.json`` is computed from the
bundles in its folder."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from suite.bundle.layout import MANIFEST, SCHEMA, STEPS, SUMMARY
from suite.bundle.reader import Bundle
from suite.bundle.study_mark import READ_MB_S
from suite.errors import FileError
from suite.files.digest import sha256
from suite.files.json_file import read_record
from suite.files.schema import from_plain
from suite.metrics.figure import Figure, mean_figure, unknown
from suite.metrics.sealed_record import SealedRecord
from suite.metrics.study import TOO_SHORT, VALUE, StudyRun, folder_name, run_times
from suite.metrics.summary import read_summary

MATRIX = "matrix.json"
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


def words_of(setting: str) -> str:
    """A setting's name for a reader, without its unit: ``batch size``, ``GPU clock``."""
    end = _end(setting)
    stem = setting.removesuffix(end)
    return WORDS.get(setting) or (
        f"{stem.upper()} clock" if UNITS.get(end) == "MHz" else stem.replace("_", " ")
    )


def unit_of(setting: str) -> str:
    """The unit of its values, with a space before it, where the setting's words have none."""
    end = _end(setting)
    return f" {UNITS[end]}" if end else ""


def _end(setting: str) -> str:
    return next((end for end in UNITS if setting.endswith(end)), "")


@dataclass(frozen=True)
class Setting:
    """A varied setting and one of its values, as text."""

    name: str
    value: str


@dataclass(frozen=True)
class MatrixPointPlan:
    """A point: the name of its runs' folders, and its value of every varied setting."""

    name: str
    settings: tuple[Setting, ...]

    @property
    def label(self) -> str:
        """The settings as they are typed: ``framework pytorch, batch_size 16``."""
        return ", ".join(f"{setting.name} {setting.value}" for setting in self.settings)

    @property
    def words(self) -> str:
        """The settings for a reader: ``framework pytorch, emulated reads 5 MB/s``."""
        return ", ".join(
            f"{words_of(setting.name)} {setting.value}{unit_of(setting.name)}"
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
    is a run's energy over its time from start to stop.
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
    """One point: its name, runs and figures."""

    name: str
    runs: tuple[StudyRun, ...]
    figures: MatrixFigures


@dataclass(frozen=True)
class Matrix:
    """``matrix.json``."""

    schema: int
    plan: MatrixPlan
    points: tuple[MatrixPoint, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def analyse_matrix(directory: Path, plan: MatrixPlan) -> Matrix:
    """Compute the matrix from its sealed bundles; raises SuiteError if one is missing or not
    finished."""
    points = []
    for point in plan.points:
        bundles = [Bundle(directory / folder_name(point.name, k)) for k in range(1, plan.seeds + 1)]
        runs = tuple(
            StudyRun(bundle.path.name, bundle.run().run_id, sha256(bundle.path / MANIFEST))
            for bundle in bundles
        )
        points.append(MatrixPoint(point.name, runs, _figures(bundles, plan.warm_up_steps)))
    return Matrix(SCHEMA, plan, tuple(points), ())


def _figures(bundles: Sequence[Bundle], warm_up_steps: int) -> MatrixFigures:
    times = [run_times(bundle, warm_up_steps) for bundle in bundles]
    summaries = [read_summary(bundle)["figures"] for bundle in bundles]
    means = {
        name: _mean([summary[name] for summary in summaries], unit)
        for name, unit in OF_SUMMARY.items()
    }
    return MatrixFigures(
        step_s=mean_figure([run.step_s for run in times], "s", STEPS, TOO_SHORT),
        step_fetch_stall_s=mean_figure([run.fetch_stall_s for run in times], "s", STEPS, TOO_SHORT),
        step_compute_s=mean_figure([run.compute_s for run in times], "s", STEPS, TOO_SHORT),
        samples_per_s=mean_figure(
            [run.samples_per_step / run.step_s for run in times], "samples/s", STEPS, TOO_SHORT
        ),
        mean_power_w=_mean([_power(summary) for summary in summaries], "W"),
        **means,
    )


def _power(summary: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    energy_j, time_s = summary["energy_j"]["value"], summary["gross_time_s"]["value"]
    if energy_j is None or not time_s:
        return {
            "value": None,
            "reason": summary["energy_j"]["reason"] or summary["gross_time_s"]["reason"],
        }
    return {"value": energy_j / time_s}


def _mean(figures: Sequence[Mapping[str, Any]], unit: str) -> Figure:
    """The mean of a figure of all runs; unknown, with the reason, where a run lacks it."""
    lacking = next((figure for figure in figures if figure["value"] is None), None)
    if lacking is not None:
        return unknown(unit, SUMMARY, str(lacking.get("reason") or "a run has no such figure"))
    return mean_figure([figure["value"] for figure in figures], unit, SUMMARY, "there are no runs")


def read_matrix(directory: Path) -> Matrix:
    """Read ``matrix.json``, an untrusted file; raises FileError if it is missing or malformed."""
    path = directory / MATRIX
    matrix = from_plain(read_record(path, SCHEMA), Matrix, f"{path}: ")
    invalid = [point.name for point in matrix.plan.points if not VALUE.fullmatch(point.name)]
    if invalid:
        raise FileError(
            path,
            f"has the point {invalid[0]!r}, which is not allowed (letters, digits, - and _ only)",
        )
    if not matrix.points or [(point.name, len(point.runs)) for point in matrix.points] != [
        (one.name, matrix.plan.seeds) for one in matrix.plan.points
    ]:
        raise FileError(path, "does not name the runs of its plan")
    if any(
        tuple(setting.name for setting in point.settings) != matrix.plan.variables
        for point in matrix.plan.points
    ):
        raise FileError(path, "has a point without a value of every varied setting")
    return matrix


def _sealed_files(folder: Path) -> list[Path]:
    runs = (run.folder for point in read_matrix(folder).points for run in point.runs)
    return [folder / MATRIX, *(folder / name / MANIFEST for name in runs)]


MATRICES = SealedRecord(
    MATRIX,
    "run the matrix again (`suite sweep`)",
    _sealed_files,
    lambda folder: analyse_matrix(folder, read_matrix(folder).plan).to_dict(),
)
