"""`suite quick [WORKLOAD…]`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from suite import api
from suite.api import Accelerator, Division, Precision, RunOptions, RunRequest
from suite.cli.completion import framework_names, workload_names
from suite.cli.json_output import print_rows
from suite.cli.options import PRECISION_HELP, Json
from suite.cli.watching import watcher
from suite.errors import Reported, SuiteError
from suite.experiments.quick import QuickLook, look
from suite.machine.identify import resolve_device
from suite.metrics.projection import MIN_LATER_EPOCHS, Projection

EPOCHS = 4


def quick(
    workloads: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORKLOAD]…", autocompletion=workload_names, help="Workloads (default: every closed workload of this device)."),
    ] = None,
    framework: Annotated[str, typer.Option(autocompletion=framework_names, help="Framework (`suite list frameworks`).")] = "pytorch",
    epochs: Annotated[int, typer.Option(min=MIN_LATER_EPOCHS + 1, help="Epochs to train of each workload.")] = EPOCHS,
    threads: Annotated[int | None, typer.Option(help="Framework threads (default: the workload's, else every usable core).")] = None,
    accelerator: Annotated[Accelerator, typer.Option(help="Where the model is trained.")] = Accelerator.AUTO,
    precision: Annotated[Precision | None, typer.Option(help=PRECISION_HELP)] = None,
    output: Annotated[Path | None, typer.Option(help="Folder of the run directories (default: runs).")] = None,
    json: Json = False,
) -> None:
    """Train a few epochs of workloads and project times to the target. Exit code: 0 done, 2 one could not be."""
    looks: list[QuickLook] = []
    problems = []
    for workload in workloads or resolve_device("auto").device.closed_workloads:
        options = RunOptions(
            Division.OPEN, "auto", workload, framework, threads=threads, accelerator=accelerator, precision=precision, timing=None
        )  # fmt: skip
        try:
            request = api.resolve(options, output and output / workload, baseload_s=0.0)
            looks.append(look(request, epochs, _run))
        except SuiteError as error:
            problems.append(f"{workload}: {error}")
        else:
            if not json:
                print(sentence(looks[-1]))
    if json:
        print_rows("quick", map(_plain, looks))
    if problems:
        raise Reported("\n".join(problems))


def _run(request: RunRequest) -> Path:
    with watcher() as progress:
        return api.run(request, progress=progress).path


def sentence(found: QuickLook) -> str:
    """What was measured, what is projected, and where the run is."""
    epoch = f"{found.epoch_s:.3g} s an epoch" if found.epoch_s is not None else "the time of an epoch is not known"
    lines = [f"{found.workload}: {found.epochs} epochs, {epoch}"]
    if found.reached_s is not None:
        lines.append(f"measured:  {found.reached_s:.4g} s to the target, with this seed")
    lines.append(_projected(found.projection) if found.projection is not None else f"no projection: {found.reason}")
    lines.append(f"run:       {found.run}")
    return "\n  ".join(lines)


def _projected(found: Projection) -> str:
    time, steady = found.time_s, "" if found.is_steady else "; not steady: the last epoch took another time than the second"
    ends = f" ({time.low:.4g} to {time.high:.4g} s)" if time.low is not None and time.high is not None else ""
    return f"projected: {time.value:.4g} s{ends} to the target, at the {found.epochs:.3g} epochs of {found.runs} reference runs{steady}"


def _plain(found: QuickLook) -> dict[str, object]:
    return {**asdict(found), "run": str(found.run)}
