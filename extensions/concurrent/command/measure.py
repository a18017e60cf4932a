"""`suite concurrent`, `suite concurrent tune` and `suite concurrent show`: training beside
inference, each alone as a baseline."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from suite.bundle import layout
from suite.bundle.manifest import refuse_inside_run
from suite.catalog.frameworks import load_framework
from suite.cli.durations import parse_duration
from suite.cli.json_output import JsonFormat, print_json
from suite.cli.options import Json, with_options
from suite.errors import SuiteError
from suite.extensions.concurrent.command.options import ScenarioOptions, SharingOptions, numbers
from suite.extensions.concurrent.command.tune import tune_command
from suite.extensions.concurrent.measuring.experiment import Plan, measure
from suite.extensions.concurrent.measuring.schedules import ScheduleKind, make
from suite.extensions.concurrent.record.batching import BatchRule
from suite.extensions.concurrent.record.calculated import InferenceFigures
from suite.extensions.concurrent.record.results import (
    BatchResult,
    Results,
    as_dict,
    close,
    read_results,
)
from suite.files.durable import output_errors
from suite.files.json_file import write_json
from suite.launch.environments import find_environment
from suite.machine.system import Software, describe_system
from suite.metrics.linear_fit import FittedValue

FORMAT = JsonFormat(
    "concurrent",
    "suite concurrent",
    {
        "folder": "folder of the records",
        "setting": "arrivals, schedule, threads and priorities of training and inference together",
        "training_alone": (
            "steps; samples_per_s and steps_per_s (each a value with its interval, or null)"
        ),
        "batches": (
            "list: batch size, inference alone, inference and training at the same time,"
            " interference"
        ),
    },
)

FIGURES_FORMAT = JsonFormat(
    "concurrent-figures",
    "suite concurrent figures",
    {"figures": "paths of the figures; each caption is in the .txt file of the same name"},
)

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Measure training and inference at the same time: latency, queue, throughput, and how much"
        " each slows the other."
    ),
)
app.command(name="tune")(tune_command)


@app.callback(invoke_without_command=True)
@with_options
def concurrent(
    context: typer.Context,
    scenario: ScenarioOptions,
    sharing: SharingOptions,
    infer_batch: Annotated[
        str, typer.Option(help="Batch sizes of the inference to measure, such as 1,4,16.")
    ] = "1,4,16,64,256",
    duration: Annotated[
        str,
        typer.Option(
            help=(
                "Length of each measurement of training and inference together, such as 30s or"
                " 10m. A baseline takes a quarter of this time."
            )
        ),
    ] = "10m",
    deadline: Annotated[
        str | None,
        typer.Option(
            help=(
                "Longest time that an image waits for its batch to fill, such as 50ms (default:"
                " until the batch is full)."
            )
        ),
    ] = None,
) -> None:
    """Measure training beside inference at one or several batch sizes, with each of them alone as a
    baseline."""
    if context.invoked_subcommand is not None:
        sources = map(context.get_parameter_source, context.params)
        if any(source is not None and source.name == "COMMANDLINE" for source in sources):
            raise SuiteError(
                f"Options come after the subcommand: `suite concurrent {context.invoked_subcommand}"
                " --train …`."
            )
        return
    batches, coming = (
        numbers(infer_batch, "--infer-batch"),
        scenario.coming(parse_duration(duration, "--duration")),
    )
    deadline_ns = None if deadline is None else round(parse_duration(deadline, "--deadline") * 1e9)
    for size in batches:
        BatchRule(size, deadline_ns)
    slice_ns = round(parse_duration(sharing.slice, "--slice") * 1e9)
    make(sharing.schedule, round(coming.duration_s * 1e9), slice_ns, sharing.share)
    if (
        sharing.schedule is ScheduleKind.SLICED
        and slice_ns > parse_duration(duration, "--duration") * 1e9
    ):
        raise SuiteError(
            f"--slice {sharing.slice} is longer than a measurement of {duration}; use a shorter"
            " one, such as 100ms."
        )
    sides = scenario.sides(sharing)
    with scenario.place("concurrent") as place:
        plan = Plan(
            *sides, coming, batches, deadline_ns, sharing.schedule, slice_ns, sharing.share, place
        )
        measure(plan, scenario.report)
        _describe(plan, scenario.framework)
        _print(close(place), place, scenario.json)


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment.")],
    json: Json = False,
) -> None:
    """Compute an experiment's figures from its raw records again, and print them."""
    _print(read_results(folder), folder, json)


def _describe(plan: Plan, framework: str) -> None:
    """Write what the machine and the framework's environment are."""
    packages, data = (
        find_environment(load_framework(framework)).packages,
        Path(plan.train.request.data.directory),
    )
    version = next(
        (packages[name] for name in load_framework(framework).packages if name in packages), None
    )
    write_json(
        plan.output / layout.SYSTEM,
        describe_system(plan.train.request.platform, Software(framework, version, packages), data),
    )


@app.command()
def figures(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment.")],
    output: Annotated[
        Path,
        typer.Option(help="Folder for the figures, outside the experiment's sealed folder."),
    ],
    format_: Annotated[str, typer.Option("--format", help="svg, pdf or png.")] = "svg",
    json: Json = False,
) -> None:
    """Draw latency by image, latency over time and training throughput (figures 1a, 1b and 1c of
    the study) with their captions."""
    from reporter.papers.render import render_figure  # optional: [figures]
    from reporter.papers.style import FORMATS, PaperLook  # optional: [figures]
    from suite.extensions.concurrent.figures.panels import FIGURES  # start-up: NumPy, what draws

    if format_ not in FORMATS:
        raise SuiteError(
            f"{format_!r} is not a figure format; choose {', '.join(FORMATS[:-1])} or "
            f"{FORMATS[-1]}."
        )
    if output.resolve().is_relative_to(folder.resolve()):
        raise SuiteError(
            f"{output} is in the experiment's folder, which is sealed; choose another --output."
        )
    refuse_inside_run(output / f"concurrent.{format_}")
    drawn = {number: (title, draw(folder)) for number, (title, draw) in FIGURES.items()}
    places = {number: output / f"concurrent-{number}.{format_}" for number in drawn}
    with output_errors(output):
        output.mkdir(parents=True, exist_ok=True)
        for number, place in places.items():
            title, figure = drawn[number]
            place.write_bytes(render_figure(figure, title, PaperLook(), format_))
            place.with_suffix(".txt").write_text(
                f"{title}. {figure.about} Error bars: {figure.error_bars}.\n", encoding="utf-8"
            )
    if json:
        print_json(FIGURES_FORMAT, {"figures": list(places.values())})
    else:
        print(*places.values(), sep="\n")


def _print(found: Results, place: Path, json: bool) -> None:
    if json:
        print_json(FORMAT, {**as_dict(found), "folder": os.fspath(place)})
    else:
        print("\n".join([*_lines(found), f"records: {place}"]))


def _lines(found: Results) -> Iterator[str]:
    setting = found.setting
    yield (
        f"{setting.trains} trains beside {setting.infers}, {setting.rate_per_s:g} images/s"
        f" ({setting.kind}), {setting.duration_s:g} s each, schedule {setting.schedule}"
    )
    yield f"training alone: {_with_interval(found.training_alone.samples_per_s, 1, 1)} samples/s"
    yield ""
    yield (
        f"{'batch':>5} {'queue':>9} {'mean ms':>20} {'p99 ms':>20} {'queueing':>9} {'execution':>9}"
        f" {'model ms':>9} {'training/s':>20} {'of alone':>9} {'exec. x':>8}"
    )
    for result in found.batches:
        yield _row(result)
    yield ""
    for result in found.batches:
        yield from (f"batch {result.batch}: {note}" for note in _notes(result.beside))


def _row(result: BatchResult) -> str:
    figures, lost = result.beside, result.interference
    cells = (
        (f"{result.batch}", 5),
        (figures.stability.state.value, 9),
        (_with_interval(figures.latency_s, 1e3, 1), 20),
        (_with_interval(figures.p99_s, 1e3, 1), 20),
        (_value(None if figures.unfinished else figures.queueing_s, 1e3), 9),
        (_value(figures.execution_s, 1e3), 9),
        (f"{figures.prediction.latency_s * 1e3:.1f}" if figures.prediction else "-", 9),
        (_with_interval(result.training.samples_per_s, 1, 1), 20),
        (_value(lost.training, 1, 2), 9),
        (_value(lost.execution, 1, 2), 8),
    )
    return " ".join(f"{text:>{width}}" for text, width in cells)


def _notes(figures: InferenceFigures) -> Iterator[str]:
    mean_s, p99_s, max_s = figures.lateness_s
    yield (
        f"lateness of the image generator: mean {mean_s * 1e3:.2f} ms, 99th percentile"
        f" {p99_s * 1e3:.2f} ms, maximum {max_s * 1e3:.1f} ms"
    )
    if figures.arrival_gap_s is not None:
        yield (
            "within a batch, each image arrives later and waits less: its latency is"
            f" {figures.arrival_gap_s * 1e3:.3f} ms lower than the previous image's"
        )
    stability = figures.stability
    if stability.growth is not None:
        growth = stability.growth
        yield (
            f"queue {stability.state.value}: it grows by {growth.value:.2%} of the arriving"
            f" images (95 % interval {growth.low:.2%} to {growth.high:.2%})"
        )
    elif stability.reason:
        yield f"queue {stability.state.value}: {stability.reason}"
    yield from figures.notes


def _with_interval(found: FittedValue | None, scale: float, digits: int) -> str:
    if found is None or not math.isfinite(found.value):
        return "-"
    return (
        f"{found.value * scale:.{digits}f}"
        f" ({found.low * scale:.{digits}f}-{found.high * scale:.{digits}f})"
    )


def _value(found: FittedValue | None, scale: float, digits: int = 1) -> str:
    return "-" if found is None else f"{found.value * scale:.{digits}f}"
