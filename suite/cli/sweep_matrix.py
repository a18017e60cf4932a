"""`suite sweep --vary` and `suite sweep --file`: a matrix of settings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from reference_impls.contract import request_to_dict
from suite import api
from suite.api import Division, RunOptions
from suite.bundle.layout import MATRIX
from suite.cli.json_output import print_json, print_rows
from suite.cli.options import TrainingOptions
from suite.cli.results import figure_text
from suite.cli.tables import show_table
from suite.cli.watching import watcher
from suite.errors import Reported, SuiteError
from suite.execution.request import RunRequest
from suite.experiments.matrix_plan import (
    MatrixDefinition,
    Order,
    PlannedMatrix,
    parse_vary,
    plan_matrix,
    read_matrix_file,
    refuse_boards,
    with_varied,
)
from suite.experiments.planned_runs import resolve_planned, validate_requests
from suite.files.counted import counted
from suite.files.shell_command import shell_command
from suite.launch.placement import Placement, read_hosts
from suite.metrics.matrix_record import Matrix
from suite.metrics.study import Study

TYPED = (
    *("framework", "data", "epochs", "steps", "batch_size", "threads", "precision"),
    *("accelerator", "collective"),
)
"""Settings whose option has its default where it was not typed."""
_DEFAULT = MatrixDefinition()


@dataclass(frozen=True, kw_only=True)
class MatrixOptions:
    """Options of a matrix alone."""

    vary: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=A,B",
            help="Setting to vary, with its values; repeat the option for a grid (docs/tuning.md).",
        ),
    ] = None
    file: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="TOML file with the matrix, in place of --vary (docs/tuning.md)."
        ),
    ] = None
    seeds: Annotated[
        int | None,
        Option(min=1, help="Matrix: runs of each point, with consecutive seeds (default: 3)."),
    ] = None
    order: Annotated[
        Order | None,
        Option(
            help=(
                "Matrix: run all points with one seed before the next seed, in the listed order"
                " (interleaved, default) or in random order (shuffled)."
            )
        ),
    ] = None
    random: Annotated[
        int | None, Option(min=1, help="Matrix: run only N points of the grid, picked at random.")
    ] = None
    cool_to: Annotated[
        float | None,
        Option(
            metavar="DEGC",
            help="Matrix: before each run, wait until no sensor is hotter than this.",
        ),
    ] = None
    boards: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help=(
                "Matrix: file of boards among which the runs are divided, one per line as in a"
                " hostfile (docs/tuning.md)."
            ),
        ),
    ] = None
    needs_power: Annotated[
        bool,
        Option("--needs-power", help="Matrix: run nothing where no power meter is available."),
    ] = False

    @property
    def is_given(self) -> bool:
        """Whether any of them was typed."""
        return self != MatrixOptions()

    def definition(
        self,
        training: TrainingOptions,
        division: Division | None,
        workload: str | None,
        study: MatrixDefinition | None,
    ) -> MatrixDefinition:
        """The matrix of the file, or of the varied settings and the study's; options that were
        typed take precedence over the file's."""
        varied = [
            self.file is not None,
            self.vary is not None,
            study is not None and self.vary is None,
        ]
        if self.file is not None and sum(varied) > 1:
            raise SuiteError(
                "--file has the whole matrix; leave --study and --vary out, or add their settings"
                " to the file."
            )
        if sum(varied) != 1:
            raise SuiteError(
                "Name a --study (`suite list studies`), or settings to vary (--vary"
                " batch_size=16,32), or a --file with a matrix."
            )
        if self.file is not None:
            base = read_matrix_file(self.file)
        else:
            base = with_varied(study or _DEFAULT, parse_vary(self.vary or ()))
        typed: dict[str, Any] = {
            "workload": workload,
            "division": division,
            "device": None if training.device == "auto" else training.device,
            "seeds": self.seeds,
            "order": self.order,
            "random": self.random,
            "cool_to_c": self.cool_to,
            "first_seed": training.seed,
            "needs_power": self.needs_power or None,
        }
        found = replace(base, **{name: value for name, value in typed.items() if value is not None})
        return _with_workload(found, workload)


def sweep_matrix(
    definition: MatrixDefinition,
    training: TrainingOptions,
    boards: Path | None,
    output: Path | None,
) -> None:
    """Plan the matrix, make its runs, here or on the boards of a file, and show its points."""
    definition = _with_typed(definition, training)
    if boards is not None:
        on_boards(boards, definition, _options(definition, training, Placement()), training, output)
        return
    whole = training.place(None)
    hosts = whole.hosts
    placement = replace(whole, hosts=() if definition.vary.nodes else hosts)
    planned = plan_matrix(definition, _options(definition, training, placement), hosts)
    refuse_boards(planned)
    directory = _directory(output, planned)
    if training.dry_run:
        requests = resolve_planned(planned, directory, to_show=True)
        validate_requests(planned, requests, directory)
        _print_plan(planned, requests, training.json)
        return
    with watcher() as progress:
        computed = api.run_matrix(planned, directory, progress=progress)
    _show(computed, directory, training)


def on_boards(
    file: Path,
    definition: MatrixDefinition,
    options: RunOptions,
    training: TrainingOptions,
    output: Path | None,
) -> None:
    """Spread the matrix over the boards of a file, and show its points; raises Reported, after
    that, for boards of a fleet without a run."""
    from suite.experiments.board_talk import HEARTBEAT_TIMEOUT_S, Boards  # start-up: asyncio
    from suite.experiments.boards import plan_for_boards  # start-up: asyncio

    if training.hostfile is not None or training.ranks_per_node not in (None, 1):
        raise SuiteError(
            "With --boards every run uses one board and one rank; leave --hostfile and"
            " --ranks-per-node out."
        )
    planned = plan_for_boards(definition, options)
    directory = _directory(output, planned)
    boards = Boards(
        tuple(read_hosts(file)),
        training.launch_agent,
        max(training.silence, HEARTBEAT_TIMEOUT_S),
    )
    if training.dry_run:
        requests = resolve_planned(planned, directory, to_show=True, elsewhere=True)
        _print_plan(planned, requests, training.json)
        return
    with watcher() as progress:
        computed = api.run_on_boards(definition, options, boards, directory, progress=progress)
    _show(computed, directory, training)
    if computed.missing:
        raise Reported(
            f"{len(computed.missing)} of {len(computed.points)} points have no run:"
            f" {'; '.join(computed.missing.values())}",
            "rerun the same command when the board is back, or take it out of the --boards file",
        )


def _options(
    definition: MatrixDefinition, training: TrainingOptions, placement: Placement
) -> RunOptions:
    """What holds where the matrix says nothing."""
    varied = (*definition.vary.workload, *(point.workload for point in definition.points))
    workload = definition.workload or definition.fixed.workload or next(filter(None, varied))
    return training.run_options(definition.division, workload, placement)


def _directory(output: Path | None, planned: PlannedMatrix) -> Path:
    name = "-".join(["matrix", planned.runs[0].options.workload, *planned.plan.variables])[:100]
    return (output or Path("runs") / name).absolute()


def _show(computed: Matrix, directory: Path, training: TrainingOptions) -> None:
    show_record("matrix", "matrix", directory / MATRIX, computed, table(computed), training.json)


def show_record(
    format_name: str,
    noun: str,
    path: Path,
    record: Matrix | Study,
    lines: Iterable[str],
    json: bool,
) -> None:
    """Print the record of a matrix or a study, as JSON or as the lines of its table."""
    if json:
        print_json(format_name, {"path": path, **asdict(record)})
        return
    print("\n".join(lines))
    print(
        f"\nThe {noun} is {path}; its runs are in the same folder.\nDraw it:  "
        f" {shell_command('suite report', path.parent)} --output site"
    )


def refuse_varied(varied: Iterable[str], training: TrainingOptions) -> None:
    """Raise SuiteError for an option that was typed beside the values that its setting takes."""
    typed = _typed(training)
    for name in varied:
        if name in typed:
            option = f"--{name.replace('_', '-')}"
            raise SuiteError(f"The sweep varies {name}; leave {option} out.")


def _with_workload(definition: MatrixDefinition, typed: str | None) -> MatrixDefinition:
    """A typed workload takes precedence over a fixed one; raises SuiteError where workloads are
    varied beside it, and where there is none."""
    is_varied = any(each.workload for each in (definition.vary, *definition.points))
    if typed is not None and is_varied:
        raise SuiteError("The sweep varies workload; leave --workload out.")
    if typed is not None and definition.fixed.workload is not None:
        return replace(definition, fixed=replace(definition.fixed, workload=typed))
    if definition.workload is None and definition.fixed.workload is None and not is_varied:
        raise SuiteError("A matrix needs --workload (`suite list workloads`).")
    return definition


def _typed(training: TrainingOptions) -> dict[str, Any]:
    values = {name: getattr(training, name) for name in TYPED}
    return {name: it for name, it in values.items() if it != getattr(TrainingOptions, name)}


def _with_typed(definition: MatrixDefinition, training: TrainingOptions) -> MatrixDefinition:
    """Options that were typed take precedence over the fixed settings of a file or a study; raises
    SuiteError for one whose values are varied."""
    given = (definition.vary, *definition.points)
    refuse_varied((name for name in TYPED if any(getattr(each, name) for each in given)), training)
    typed = {
        name: value
        for name, value in _typed(training).items()
        if getattr(definition.fixed, name) is not None
    }
    return replace(definition, fixed=replace(definition.fixed, **typed))


def show_requests(requests: Sequence[RunRequest], settings: Sequence[Mapping[str, str]]) -> None:
    """Print a line for each run of a plan: its folder, its settings and what it trains."""
    show_table(
        [
            {
                "run": request.directory.name,
                **varied,
                "seed": str(request.training.seed),
                "epochs": str(request.training.epochs),
                "steps": "all" if request.training.steps is None else str(request.training.steps),
            }
            for request, varied in zip(requests, settings, strict=True)
        ]
    )
    print(f"{counted(len(requests), 'run')} in {requests[0].directory.parent}")


def _print_plan(planned: PlannedMatrix, requests: Sequence[RunRequest], json: bool) -> None:
    """Print every request."""
    if not json:
        names = [name for name in planned.variables if name not in ("epochs", "steps")]
        show_requests(
            requests,
            [{name: dict(run.mark.settings)[name] for name in names} for run in planned.runs],
        )
        return
    print_rows(
        "matrix-requests",
        [
            {
                "output": request.training.output_directory,
                "settings": {
                    name: value for name, value in run.mark.settings if name in planned.variables
                },
                "power_mode": None if run.values.mode.is_empty else run.values.mode.label,
                "request": request_to_dict(request.training),
            }
            for run, request in zip(planned.runs, requests, strict=True)
        ],
    )


def table(matrix: Matrix) -> Iterator[str]:
    """Lines for a person: the points with their figures."""
    variables, rows = matrix.plan.variables, matrix.plan.points
    widths = [
        max(len(name), *(len(point.settings[index].value) for point in rows))
        for index, name in enumerate(variables)
    ]
    names = ("step, ms", "samples/s", "epoch, s", "epoch, J", "run, W")
    yield "  ".join(
        [
            *(name.ljust(width) for name, width in zip(variables, widths, strict=True)),
            *(f"{name:>18}" for name in names),
        ]
    )
    for plan, point in zip(rows, matrix.points, strict=True):
        figures = point.figures
        shown = (
            figure_text(figures.step_s, 1e3),
            figure_text(figures.samples_per_s),
            figure_text(figures.time_to_epoch_s),
            figure_text(figures.energy_per_epoch_j),
            figure_text(figures.mean_power_w),
        )
        settings = (
            setting.value.ljust(width) for setting, width in zip(plan.settings, widths, strict=True)
        )
        yield "  ".join([*settings, *(f"{cell:>18}" for cell in shown)])
    yield from _between_boards(matrix)
    yield from matrix.notes
    missing = {
        figure["reason"]
        for point in matrix.points
        for figure in asdict(point.figures).values()
        if figure["value"] is None and point.runs
    }
    yield from (f"unknown: {reason}" for reason in sorted(map(str, missing)))


def _between_boards(matrix: Matrix) -> Iterator[str]:
    for spread in matrix.boards or ():
        if spread.variation is not None:
            yield (
                f"{spread.name}: coefficient of variation {spread.variation:.2%} over"
                f" {spread.count} boards"
            )
