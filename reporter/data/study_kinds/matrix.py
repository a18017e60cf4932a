"""Matrices: folders that ``suite sweep --vary`` writes."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pandas

from reporter.data.studies import (
    ROWS,
    StudyKind,
    StudyRecord,
    WordTable,
    figure_row,
    recompute,
)
from reporter.data.text import one_line, plain_run_id
from reporter.data.words import model_title
from suite.bundle.layout import MATRIX
from suite.bundle.reader import Bundle
from suite.catalog.load_limits import MAX_FOREIGN_SHARE
from suite.catalog.scoring import load_scoring
from suite.metrics.comparisons import RunStatistics, run_statistics, score_ratio
from suite.metrics.matrix_record import (
    MATRICES,
    Matrix,
    MatrixPoint,
    read_matrix,
    setting_unit,
    setting_words,
)
from suite.metrics.summary import read_summary

COMPARED = "time_to_epoch_s"
MAX_COMPARED = 12
"""Points that are compared with the first one."""


def read(record: Path, place: str) -> StudyRecord:
    """The matrix of a record; raises SuiteError unless its bundles give the same figures."""
    matrix = read_matrix(record.parent)
    plan = matrix.plan
    recomputed = recompute(MATRICES, record.parent)
    labels = {point.name: one_line(point.words) for point in plan.points}
    values = {
        name: dict.fromkeys(point.settings[index].value for point in plan.points)
        for index, name in enumerate(plan.variables)
    }
    facts = {
        "workload": plan.workload,
        "data": plan.data,
        **{
            setting_words(name): ", ".join(listed) + setting_unit(name)
            for name, listed in values.items()
        },
        **{"points": str(len(plan.points)), "runs of each": str(plan.seeds), "order": plan.order},
    }
    rows = [
        figure_row(labels[point.name], name, figure)
        for point in matrix.points
        for name, figure in asdict(point.figures).items()
    ]
    return StudyRecord(
        name=f"matrix-{plain_run_id(next(p.runs[0].run_id for p in matrix.points if p.runs))}",
        kind=STUDY_KIND.name,
        title=f"{one_line(plan.title)}: {one_line(model_title(plan.workload))}",
        place=place,
        record=record,
        facts=tuple((one_line(name), one_line(value)) for name, value in facts.items()),
        runs=tuple(
            (labels[point.name], one_line(run.run_id))
            for point in matrix.points
            for run in point.runs
        ),
        figures=pandas.DataFrame(rows, columns=list(ROWS)),
        notes=tuple(
            one_line(note, 400)
            for note in (
                *recomputed["notes"],
                *_disturbed(record.parent, matrix),
                *_differences(record.parent, matrix),
            )
        ),
        words=_variability(matrix),
    )


def _variability(matrix: Matrix) -> WordTable | None:
    """How each figure scatters over the boards of a fleet."""
    if matrix.boards is None:
        return None
    rows = (
        (
            spread.name,
            str(spread.count),
            "unknown: one board" if spread.variation is None else f"{spread.variation:.2%}",
            ", ".join(
                f"{one_line(one.board)} ({one.to_median:.3g} times the median)"
                for one in spread.outliers
            )
            or "none",
        )
        for spread in matrix.boards
    )
    headings = ("figure", "boards", "coefficient of variation", "boards that stand out")
    return WordTable("Variability between boards", headings, tuple(rows))


def _disturbed(folder: Path, matrix: Matrix) -> Iterator[str]:
    """How many runs other programs disturbed: their times are longer than their settings make
    them."""
    figures = [
        read_summary(Bundle(folder / run.folder))["figures"].get("foreign_cpu_share", {})
        for point in matrix.points
        for run in point.runs
    ]
    known = [
        float(figure["value"]) for figure in figures if isinstance(figure.get("value"), int | float)
    ]
    disturbed = sum(value > MAX_FOREIGN_SHARE for value in known)
    if disturbed:
        yield (
            f"Other programs used more than {MAX_FOREIGN_SHARE:.0%} of the CPU time in {disturbed}"
            f" of {len(figures)} runs; the highest share was {max(known):.0%}."
        )


def _differences(folder: Path, matrix: Matrix) -> Iterator[str]:
    """The time of an epoch at each point over that at the first one, with its interval, where both
    have two runs or more."""
    labels = {point.name: point.words for point in matrix.plan.points}
    first, *others = [point for point in matrix.points if point.runs][: MAX_COMPARED + 1]
    base = _times(folder, first)
    for point in others:
        own = _times(folder, point)
        if base is None or own is None:
            continue
        found, level = (
            score_ratio(own, base, load_scoring().level, load_scoring().epochs_level),
            100 * (1 - load_scoring().level),
        )
        interval = (
            f"{found.ratio:.3f} ({level:g} % interval {found.low:.3f} to {found.high:.3f};"
            f" {own.runs} and {base.runs} runs)"
        )
        meaning = "a difference" if found.is_different else "no difference was found"
        yield (
            f"Time of an epoch, {labels[point.name]} over {labels[first.name]}: {interval}:"
            f" {meaning}."
        )


def _times(folder: Path, point: MatrixPoint) -> RunStatistics | None:
    """The point's times of an epoch; None for fewer than two."""
    figures = [
        read_summary(Bundle(folder / run.folder))["figures"][COMPARED]["value"]
        for run in point.runs
    ]
    values = [float(value) for value in figures if isinstance(value, int | float) and value > 0]
    return run_statistics(values) if len(values) > 1 else None


STUDY_KIND = StudyKind(
    name="matrix",
    title="matrix",
    record=MATRIX,
    read=read,
    figure_names={
        "step_s": "step",
        "step_fetch_stall_s": "fetch stall of a step",
        "step_compute_s": "compute of a step",
        "samples_per_s": "throughput",
        "time_to_epoch_s": "time of an epoch",
        "fetch_stall_s": "fetch stall per epoch",
        "energy_j": "energy of the run",
        "energy_per_epoch_j": "energy of an epoch",
        "mean_power_w": "mean power of the run",
        "temperature_max_degc": "highest temperature",
    },
    compared="samples_per_s",
)
