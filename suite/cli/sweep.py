"""`suite sweep`: a study's runs, one after the other, and what they say together."""

import json as json_format
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from suite.catalog.divisions import Division
from suite.errors import SuiteError
from suite.execution.request import Accelerator, Collective

if TYPE_CHECKING:
    from suite.catalog.studies import StudyDefinition
    from suite.execution.request import RunRequest
    from suite.experiments.sweep import Sweep
    from suite.metrics.figure import Figure
    from suite.metrics.scaling_model import AllreduceModel, Scaling
    from suite.metrics.study import Study

SHOWN_RANKS = (8, 32, 128, 512)


def sweep(
    study: Annotated[str, typer.Option(help="Which study (`suite list studies` shows them).")],
    workload: Annotated[str, typer.Option(help="The workload that is trained.")],
    values: Annotated[str | None, typer.Option(help="The values to vary over, as 1,2,4 (default: the study's).")] = None,
    nodes: Annotated[str | None, typer.Option(help="As --values, for a study of nodes.")] = None,
    hostfile: Annotated[Path | None, typer.Option(help="Hosts to take nodes from, one a line; without it, ranks on this machine.")] = None,
    ranks_per_node: Annotated[int, typer.Option(min=1, help="Processes on each host of --hostfile.")] = 1,
    weak: Annotated[bool, typer.Option("--weak/--strong", help="Nodes: each rank's mini-batch stays, or the global one.")] = False,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Runs of each value, each with a seed of its own (default: the study's).")] = None,
    framework: Annotated[str, typer.Option(help="`suite list frameworks` shows them.")] = "pytorch",
    division: Annotated[Division, typer.Option(help="closed: as the rulebook says; open: anything, quality reported.")] = Division.OPEN,
    device: Annotated[str, typer.Option(help="A device profile, or auto (`suite list devices`).")] = "auto",
    data: Annotated[str | None, typer.Option(help="As for `suite run`.")] = None,
    seed: Annotated[int, typer.Option(help="Of each value's first run.")] = 1,
    epochs: Annotated[int | None, typer.Option(help="The most epochs of a run.")] = None,
    steps: Annotated[int | None, typer.Option(help="Stop a run after so many mini-batches.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Samples per mini-batch; of one rank, in weak scaling.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of the framework, on each rank.")] = None,
    accelerator: Annotated[Accelerator, typer.Option(help="Where the model is trained.")] = Accelerator.AUTO,
    collective: Annotated[Collective, typer.Option(help="Who sums the gradients: the suite over MPI, or the framework itself.")] = Collective.MPI,
    launch_agent: Annotated[str | None, typer.Option(help="What starts a process on another host (default: ssh).")] = None,
    output: Annotated[Path | None, typer.Option(help="The study's folder (default: runs/<study>-<workload>); finished runs in it are kept.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say which runs would be made and stop.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the study as JSON.")] = False,
) -> None:
    """Run a study: one setting varied, the rest held fixed; interrupted at any moment, the same command goes on where it stopped."""
    from suite.execution.request import RunOptions
    from suite.experiments.sweep import plan
    from suite.launch.placement import Placement, place

    definition = _definition(study, values, nodes, repetitions)
    hosts = place(None, hostfile, ranks_per_node, launch_agent).hosts
    options = RunOptions(
        division, device, workload, framework, data, seed, epochs, steps, batch_size,
        threads=threads, accelerator=accelerator, placement=Placement((), ranks_per_node if hosts else 1, launch_agent), collective=collective,
    )  # fmt: skip
    planned = plan(definition, options, hosts, _scaling(definition, weak))
    directory = (output or Path("runs") / f"{study}-{workload}").absolute()
    requests = _requests(planned, directory)
    if dry_run:
        print(json_format.dumps([_plain(request) for request in requests], indent=1))
        return
    _run_all(requests, _labels(planned))
    _show(planned, directory, json)


def _definition(name: str, values: str | None, nodes: str | None, repetitions: int | None) -> "StudyDefinition":
    """The study, with the values and repetitions that the person asked for."""
    from suite.catalog.studies import Variable, load_study

    definition = load_study(name)
    if nodes is not None and (values is not None or definition.variable is not Variable.NODES):
        raise SuiteError(f"--nodes is for studies of nodes, in place of --values; {name!r} varies {definition.variable.value}: type --values.")
    asked = values if nodes is None else nodes
    if asked is not None:
        names = tuple(dict.fromkeys(word.strip() for word in asked.split(",") if word.strip()))
        if not names:
            raise SuiteError("--values needs values, as 1,2,4.")
        definition = replace(definition, names=names, numbers=())
    return definition if repetitions is None else replace(definition, repetitions=repetitions)


def _scaling(definition: "StudyDefinition", weak: bool) -> "Scaling | None":
    from suite.catalog.studies import Variable
    from suite.metrics.scaling_model import Scaling

    if definition.variable is not Variable.NODES and not weak:
        return None
    return Scaling.WEAK if weak else Scaling.STRONG


def _requests(planned: "Sweep", directory: Path) -> "list[RunRequest]":
    """All runs resolved, and all environments there, before the first one starts."""
    from suite.cli.run import resolve_options
    from suite.launch.environments import find

    requests = [resolve_options(run.options, directory / run.folder) for run in planned.runs]
    for request in requests:
        find(request.framework)
    return requests


def _labels(planned: "Sweep") -> list[str]:
    return [f"{planned.plan.variable.value} {run.value}, run {run.repetition} of {planned.plan.repetitions}" for run in planned.runs]


def _run_all(requests: "list[RunRequest]", labels: list[str]) -> None:
    """Make what is missing or broken; says how long the rest will take, going by the runs made so far."""
    from suite.cli.run import run_one
    from suite.compliance.checker import check_request
    from suite.compliance.finding import Severity
    from suite.experiments.sweep import is_done

    there = [is_done(Path(request.training.output_directory), request) for request in requests]
    left, took_s = there.count(False), list[float]()
    for number, (request, label, done) in enumerate(zip(requests, labels, there, strict=True), start=1):
        if done:
            print(f"[{number}/{len(requests)}] {label}: is there already", file=sys.stderr)
            continue
        remaining = f", about {left * sum(took_s) / len(took_s):.0f} s to go" if took_s else ""
        print(f"[{number}/{len(requests)}] {label}{remaining}", file=sys.stderr)
        broken = tuple(finding.rule for finding in check_request(request.training, request.workload) if finding.severity is Severity.INVALID)
        began_s = time.monotonic()
        run_one(request, broken, force=True)
        took_s.append(time.monotonic() - began_s)
        left -= 1


def _show(planned: "Sweep", directory: Path, json: bool) -> None:
    from suite.metrics.study import analyse, write

    found = analyse(directory, planned.plan)
    path = write(found, directory)
    if json:
        print(json_format.dumps({"path": str(path), **found.to_dict()}, indent=1))
        return
    print("\n".join(table(found)))
    print(f"\nThe study is {path}, its runs beside it.\nDraw it:   suite report {directory} --output site")


def table(study: "Study") -> Iterator[str]:
    """Lines for a person: the points, the model where there is one, and what to mind."""
    yield f"{study.plan.variable.value:12} {'ranks':>5} {'step, ms':>18} {'samples/s':>18} {'communication':>18} {'efficiency':>18}"
    for point in study.points:
        figures = point.figures
        cells = (_cell(figures.step_s, 1e3), _cell(figures.samples_per_s), _cell(figures.communication_share, 100, " %"))
        yield f"{point.value:12} {point.ranks:5} " + " ".join(f"{cell:>18}" for cell in (*cells, _cell(figures.efficiency, 100, " %")))
    if study.model is None:
        yield f"No model: {study.model_reason}" if study.plan.scaling else ""
    else:
        for fit in study.model.fits:
            yield from _model_lines(fit)
        yield from study.model.notes
    yield from (f"note: {note}" for note in study.notes)


def _model_lines(fit: "AllreduceModel") -> Iterator[str]:
    numbers = ", ".join(f"{one.name} {one.value:.3g} ({one.low:.3g} to {one.high:.3g})" for one in fit.parameters)
    yield f"\n{fit.algorithm.value}: {numbers}"
    for one in fit.projections:
        if not one.is_measured and one.ranks in SHOWN_RANKS:
            step, share = one.step_s, one.efficiency
            yield (
                f"  projection, {one.ranks:3} ranks: {1e3 * step.value:.4g} ms a step ({1e3 * step.low:.4g} to {1e3 * step.high:.4g}), "
                f"efficiency {100 * share.value:.3g} %"
            )


def _cell(figure: "Figure", factor: float = 1.0, unit: str = "") -> str:
    if figure.value is None:
        return "unknown"
    spread = "" if figure.spread is None else f" ± {factor * figure.spread:.2g}"
    return f"{factor * figure.value:.4g}{spread}{unit}"


def _plain(request: "RunRequest") -> dict[str, object]:
    from reference_impls.contract import request_to_dict

    return {"output": request.training.output_directory, "request": request_to_dict(request.training)}
