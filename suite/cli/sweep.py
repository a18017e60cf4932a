"""`suite sweep`: makes the runs of a study or a matrix one after the other and shows what they show
together."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from typer import Option

from reference_impls.contract import request_to_dict
from suite import api
from suite.api import Division
from suite.bundle.layout import STUDY
from suite.catalog.linpack_definition import NAME as LINPACK
from suite.cli.completion import study_names, workload_names
from suite.cli.json_output import print_rows
from suite.cli.options import DIVISION_HELP, TrainingOptions, with_options
from suite.cli.results import figure_text
from suite.cli.sweep_matrix import (
    MatrixOptions,
    refuse_varied,
    show_record,
    show_requests,
    sweep_matrix,
)
from suite.cli.watching import watcher
from suite.errors import SuiteError
from suite.experiments.matrix_plan import matrix_of_study
from suite.experiments.planned_runs import resolve_planned
from suite.experiments.study_plan import choose_study, plan_study, scaling_of
from suite.metrics.scaling_model import AllreduceModel
from suite.metrics.study import Study

SHOWN_RANKS = (8, 32, 128, 512)


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """Options of `suite sweep` alone."""

    study: Annotated[
        str | None,
        Option(
            autocompletion=study_names,
            help="Study (`suite list studies`); without one, --vary or --file name the settings.",
        ),
    ] = None
    workload: Annotated[
        str | None,
        Option(
            autocompletion=workload_names,
            help="Workload (`suite list workloads`); every study but linpack needs one.",
        ),
    ] = None
    division: Annotated[
        Division | None,
        Option(help=f"Division (default: the matrix file's, else open): {DIVISION_HELP}"),
    ] = None
    values: Annotated[
        str | None, Option(help="Values to vary over, such as 1,2,4 (default: the study's).")
    ] = None
    nodes: Annotated[
        str | None,
        Option(help="Studies over the number of nodes: numbers to compare, such as 1,2,4."),
    ] = None
    weak: Annotated[
        bool,
        Option(
            "--weak/--strong",
            help="Studies over the number of nodes: the mini-batch stays the same for each rank"
            " (weak) or for all ranks together (strong).",
        ),
    ] = False
    repetitions: Annotated[
        int | None,
        Option(min=1, help="Runs of each value, with consecutive seeds (default: the study's)."),
    ] = None
    size: Annotated[
        int | None,
        Option(
            min=1,
            help="Study linpack: rows of the matrix on one node (default: as its memory allows).",
        ),
    ] = None
    allow_busy: Annotated[
        bool,
        Option("--allow-busy", help="Study linpack: run although other programs use the machine."),
    ] = False
    output: Annotated[
        Path | None,
        Option(
            help=(
                "Folder of the study (default: runs/<study>-<workload>); finished runs in it are"
                " kept."
            )
        ),
    ] = None


@with_options
def sweep(settings: SweepSettings, matrix: MatrixOptions, training: TrainingOptions) -> None:
    """Run a study, or a matrix of settings. Resumable: rerun the same command to continue."""
    if settings.study is None or matrix.is_given:
        _matrix(settings, matrix, training)
        return
    if settings.study == LINPACK:
        _refuse_with_linpack(settings, training)
        from suite.cli.linpack_rate import linpack_study  # start-up: psutil

        linpack_study(
            training,
            settings.values if settings.nodes is None else settings.nodes,
            settings.repetitions,
            settings.size,
            settings.allow_busy,
            settings.output,
        )
        return
    if settings.size is not None or settings.allow_busy:
        raise SuiteError("--size and --allow-busy are only for --study linpack; leave both out.")
    definition = choose_study(
        settings.study, _split(settings.values), _split(settings.nodes), settings.repetitions
    )
    if settings.workload is None:
        raise SuiteError(f"The study {settings.study!r} needs --workload (`suite list workloads`).")
    refuse_varied([definition.variable.value], training)
    placement = training.place(None)
    options = training.run_options(settings.division or Division.OPEN, settings.workload, placement)
    scaling = scaling_of(definition, settings.weak)
    planned = plan_study(definition, options, placement.hosts, scaling)
    directory = (
        settings.output or Path("runs") / f"{settings.study}-{settings.workload}"
    ).absolute()
    if training.dry_run:
        requests = resolve_planned(planned, directory, to_show=True)
        if not training.json:
            show_requests(
                requests, [{definition.variable.value: run.point} for run in planned.runs]
            )
            return
        plain = [
            {
                "output": request.training.output_directory,
                "request": request_to_dict(request.training),
            }
            for request in requests
        ]
        print_rows("sweep-requests", plain)
        return
    with watcher() as progress:
        study = api.run_sweep(planned, directory, progress=progress)
    show_record("sweep", "study", directory / STUDY, study, table(study), training.json)


OF_LINPACK = (
    *("study", "values", "nodes", "repetitions", "size", "allow_busy", "output"),
    *("hostfile", "ranks_per_node", "launch_agent", "json"),
)
"""Options that the study linpack has."""


def _refuse_with_linpack(settings: SweepSettings, training: TrainingOptions) -> None:
    """Raise SuiteError for options that this study, which trains nothing, does not have."""
    for group in (settings, training):
        for each in fields(group):
            if each.name not in OF_LINPACK and getattr(group, each.name) != each.default:
                option = f"--{each.name.replace('_', '-')}"
                raise SuiteError(f"The study linpack has no {option}; leave {option} out.")
    if settings.values is not None and settings.nodes is not None:
        raise SuiteError("--nodes replaces --values; leave one of the two out.")


def _matrix(settings: SweepSettings, matrix: MatrixOptions, training: TrainingOptions) -> None:
    if (
        settings.nodes is not None
        or settings.size is not None
        or settings.weak
        or settings.allow_busy
        or settings.study == LINPACK
    ):
        raise SuiteError(
            "--nodes, --weak, --size, --allow-busy and --study linpack are not for a matrix"
            " (--vary, --file); leave them out."
        )
    if settings.study is None and (settings.values is not None or settings.repetitions is not None):
        raise SuiteError(
            "--values and --repetitions need --study; for a matrix, use --vary NAME=A,B and"
            " --seeds."
        )
    study = (
        None
        if settings.study is None
        else matrix_of_study(
            choose_study(settings.study, _split(settings.values), None, settings.repetitions)
        )
    )
    definition = matrix.definition(training, settings.division, settings.workload, study)
    sweep_matrix(definition, training, matrix.boards, settings.output)


def _split(values: str | None) -> list[str] | None:
    return None if values is None else [word.strip() for word in values.split(",") if word.strip()]


def table(study: Study) -> Iterator[str]:
    """Lines for a person: the points, the scaling model where there is one, and notes."""
    varied = study.plan.varied
    has_ranks = varied != "ranks"
    yield (
        f"{varied:12} {'ranks' if has_ranks else '':>5} {'step, ms':>18} {'samples/s':>18}"
        f" {'communication':>18} {'efficiency':>18}"
    )
    for point in study.points:
        figures = point.figures
        cells = (
            figure_text(figures.step_s, 1e3),
            figure_text(figures.samples_per_s),
            figure_text(figures.exchange_share, 100, " %"),
        )
        row = f"{point.value:12} {point.ranks if has_ranks else '':5}"
        yield " ".join(
            (row, *(f"{cell:>18}" for cell in (*cells, figure_text(figures.efficiency, 100, " %"))))
        )
    if study.model is None:
        yield f"No model: {study.model_reason}" if study.plan.scaling else ""
    else:
        for fit in study.model.fits:
            yield from _model_lines(fit)
        yield from study.model.notes
    yield from (f"note: {note}" for note in study.notes)


def _model_lines(fit: AllreduceModel) -> Iterator[str]:
    numbers = ", ".join(
        f"{one.name} {one.value:.3g} ({one.low:.3g} to {one.high:.3g})" for one in fit.parameters
    )
    yield f"\n{fit.algorithm.value}: {numbers}"
    for one in fit.projections:
        if not one.is_measured and one.ranks in SHOWN_RANKS:
            step, share = one.step_s, one.efficiency
            yield (
                f"  projection, {one.ranks:3} ranks: {1e3 * step.value:.4g} ms a step"
                f" ({1e3 * step.low:.4g} to {1e3 * step.high:.4g}), efficiency"
                f" {100 * share.value:.3g} %"
            )
