"""`suite concurrent`, `suite concurrent tune` and `suite concurrent show`: training beside inference, each alone as a baseline."""

import math
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from suite.bundle import layout
from suite.catalog.divisions import Division
from suite.catalog.frameworks import load_framework
from suite.cli.json_output import print_json
from suite.cli.options import Json, with_options
from suite.concurrent.arrivals import ArrivalKind, Arrivals, of_trace
from suite.concurrent.batching import BatchRule
from suite.concurrent.child import usable
from suite.concurrent.experiment import Plan, Side, measure, refuse_folder
from suite.concurrent.figures import InferenceFigures
from suite.concurrent.results import BatchResult, Results, as_dict, close, read_results
from suite.concurrent.schedules import ScheduleKind, make
from suite.concurrent.trials import tune_here
from suite.concurrent.tuning import Limits, Tuned
from suite.errors import SuiteError
from suite.execution.request import Accelerator, RunOptions
from suite.execution.resolve import resolve_options
from suite.experiments.trial_power import TrialPower, refuse_without_meter
from suite.files.durable import output_errors
from suite.files.json_file import write_json
from suite.launch.environments import find
from suite.machine.system import Software, describe
from suite.metrics.linear_fit import Interval

app = typer.Typer(no_args_is_help=True, help="Measure training beside inference: latency, queue, throughput, and what each side loses.")

UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
RUNS = Path("runs")


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """What measuring and tuning have in common."""

    train: Annotated[str | None, typer.Option(help="Workload that trains (`suite list workloads`).")] = None
    infer: Annotated[str | None, typer.Option(help="Workload whose model infers.")] = None
    rate: Annotated[float, typer.Option(help="Images per second that arrive, whether or not inference keeps up.")] = 100.0
    arrivals: Annotated[str, typer.Option(help="uniform, poisson, or a CSV file with the column arrival_s.")] = "uniform"
    framework: Annotated[str, typer.Option(help="Framework of both (`suite list frameworks`).")] = "pytorch"
    accelerator: Annotated[Accelerator, typer.Option(help="Where both run.")] = Accelerator.AUTO
    data: Annotated[str | None, typer.Option(help="Data set of the training, as in `suite run`.")] = None
    infer_data: Annotated[str | None, typer.Option(help="Data set whose pictures are inferred.")] = None
    seed: Annotated[int, typer.Option(help="Seed of weights, sample order and Poisson arrivals.")] = 1
    output: Annotated[Path | None, typer.Option(help="Folder of the records (default: in runs/, named after the time).")] = None
    json: Json = False

    def coming(self, duration_s: float) -> Arrivals:
        """The arrivals within ``duration_s``; raises SuiteError for impossible ones."""
        if self.arrivals in (ArrivalKind.UNIFORM.value, ArrivalKind.POISSON.value):
            return Arrivals(ArrivalKind(self.arrivals), self.rate, duration_s, self.seed)
        if not Path(self.arrivals).is_file():
            raise SuiteError(f"--arrivals {self.arrivals!r} is neither uniform nor poisson nor a file that exists.")
        return of_trace(Path(self.arrivals), duration_s)

    def sides(self, sharing: "SharingOptions") -> tuple[Side, Side]:
        """Training and inference; raises SuiteError for unknown names and missing data."""
        if self.train is None or self.infer is None:
            raise SuiteError("Two workloads are needed: give --train and --infer, such as `suite concurrent --train lenet --infer resnet18`.")
        training = self._side(self.train, self.data, sharing.threads, sharing.nice, _numbers(sharing.cpus, "--cpus"))
        infer_cpus = _numbers(sharing.infer_cpus, "--infer-cpus")
        return training, self._side(self.infer, self.infer_data, sharing.infer_threads or sharing.threads, sharing.infer_nice, infer_cpus)

    def _side(self, workload: str, data: str | None, threads: int | None, nice: int, cpus: tuple[int, ...]) -> Side:
        found = load_framework(self.framework)
        options = RunOptions(
            Division.OPEN, "auto", workload, self.framework, data=data, seed=self.seed, threads=threads, accelerator=self.accelerator
        )
        return Side(resolve_options(options).training, f"{found.module}.implementation", find(found).interpreter, nice, usable(cpus))

    def place(self, name: str) -> Path:
        """The folder of the records; raises SuiteError for one with files, and where it cannot be made."""
        place = self.output or RUNS / time.strftime(f"{name}-%Y%m%dT%H%M%S")
        refuse_folder(place)
        return place

    def report(self, line: str) -> None:
        """Print progress; with --json, standard output is the object alone."""
        if not self.json:
            typer.echo(line)


@dataclass(frozen=True, kw_only=True)
class SharingOptions:
    """How both sides share the machine."""

    schedule: Annotated[ScheduleKind, typer.Option(help="Who may run when.")] = ScheduleKind.CONCURRENT
    slice: Annotated[str, typer.Option("--slice", help="Period of --schedule sliced.")] = "100ms"
    share: Annotated[float, typer.Option(help="The training's share of it.")] = 0.5
    threads: Annotated[int | None, typer.Option(help="Threads of the training (default: the workload's, else every usable core).")] = None
    infer_threads: Annotated[int | None, typer.Option(help="Threads of the inference (default: as the training's).")] = None
    nice: Annotated[int, typer.Option(min=-20, max=19, help="Priority of the training, 19 is the lowest.")] = 0
    infer_nice: Annotated[int, typer.Option(min=-20, max=19, help="Priority of the inference; below 0 needs root.")] = 0
    cpus: Annotated[str | None, typer.Option(help="CPUs of the training: 0,1 (default: all).")] = None
    infer_cpus: Annotated[str | None, typer.Option(help="CPUs of the inference.")] = None


@app.callback(invoke_without_command=True)
@with_options
def concurrent(
    context: typer.Context,
    scenario: ScenarioOptions,
    sharing: SharingOptions,
    infer_batch: Annotated[str, typer.Option(help="Batch sizes of the inference, each measured: 1,4,16.")] = "1,4,16,64,256",
    duration: Annotated[str, typer.Option(help="Length of each measurement of both: 30s, 10m. Baselines take a quarter of it.")] = "10m",
    deadline: Annotated[str | None, typer.Option(help="An image waits no longer than this for its batch: 50ms (default: until it is full).")] = None,
) -> None:
    """Measure training beside inference at one or several batch sizes, with each of them alone as a baseline."""
    if context.invoked_subcommand is not None:
        if scenario != ScenarioOptions() or sharing != SharingOptions():
            raise SuiteError(f"Options come after the subcommand: `suite concurrent {context.invoked_subcommand} --train …`.")
        return
    batches, coming = _numbers(infer_batch, "--infer-batch"), scenario.coming(seconds(duration, "--duration"))
    deadline_ns = None if deadline is None else round(seconds(deadline, "--deadline") * 1e9)
    for size in batches:
        BatchRule(size, deadline_ns)
    slice_ns = round(seconds(sharing.slice, "--slice") * 1e9)
    make(sharing.schedule, 1, slice_ns, sharing.share)
    sides = scenario.sides(sharing)
    place = scenario.place("concurrent")
    plan = Plan(*sides, coming, batches, deadline_ns, sharing.schedule, slice_ns, sharing.share, place)
    measure(plan, scenario.report)
    _describe(plan, scenario.framework)
    _print(close(place), place, scenario.json)


@app.command(name="tune")
@with_options
def tune_command(
    scenario: ScenarioOptions,
    p99: Annotated[str, typer.Option("--p99", help="Limit of the 99th percentile of latency: 300ms.")],
    max_watts: Annotated[float | None, typer.Option(help="Limit of the machine's mean power; needs a power meter (`suite doctor`).")] = None,
    infer_batch: Annotated[str, typer.Option(help="Batch sizes to choose from.")] = "1,4,16,64",
    duration: Annotated[str, typer.Option(help="Length of the final measurements; the first ones take a quarter of it.")] = "60s",
    threads: Annotated[str | None, typer.Option(help="Numbers of threads to choose from (default: 1 and every usable core).")] = None,
) -> None:
    """Choose inference batch, schedule and threads for the highest training rate within limits of latency and power."""
    batches, coming, limit_s = _numbers(infer_batch, "--infer-batch"), scenario.coming(seconds(duration, "--duration")), seconds(p99, "--p99")
    for size in batches:
        BatchRule(size)
    if limit_s <= 0:
        raise SuiteError(f"--p99 {p99} leaves no time for any image; give a limit above 0, such as 300ms.")
    if max_watts is not None:
        if not max_watts > 0:
            raise SuiteError(f"--max-watts {max_watts:g} is no limit of a machine that runs; give a power above 0, such as 20.")
        refuse_without_meter()
    counts = _numbers(threads, "--threads") or tuple(sorted({1, len(os.sched_getaffinity(0))}))
    if 0 in counts:
        raise SuiteError("--threads 0 computes nothing; the smallest number is 1.")
    default = SharingOptions()
    slice_ns = round(seconds(default.slice, "--slice") * 1e9)
    sides = scenario.sides(default)
    place = scenario.place("concurrent-tune")
    plan = Plan(*sides, coming, batches, None, default.schedule, slice_ns, default.share, place)
    found = tune_here(plan, counts, Limits(limit_s, max_watts), scenario.report, None if max_watts is None else TrialPower)
    if scenario.json:
        print_json("concurrent-tune", {**_tuned_dict(found), "folder": os.fspath(place)})
    else:
        worst_s = max(trial.p99_s for trial in found.finals)
        print(f"chosen: {found.best}\n{found.samples_per_s:.1f} samples/s, 99th percentile at most {worst_s * 1e3:.0f} ms\nrecords: {place}")


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment.")],
    json: Json = False,
) -> None:
    """Compute an experiment's figures from its raw records again, and print them."""
    _print(read_results(folder), folder, json)


def _describe(plan: Plan, framework: str) -> None:
    """Write what the machine and the framework's environment are."""
    packages, data = find(load_framework(framework)).packages, Path(plan.train.request.data.directory)
    version = next((packages[name] for name in load_framework(framework).packages if name in packages), None)
    write_json(plan.output / layout.SYSTEM, describe(plan.train.request.platform, Software(framework, version, packages), data))


def _tuned_dict(found: Tuned) -> dict[str, object]:
    return {"best": _plain(asdict(found.best)), "samples_per_s": found.samples_per_s, "trials": [_plain(asdict(trial)) for trial in found.trials]}


def _plain(value: Any) -> Any:
    """JSON values: an infinite latency, of a queue that was left, is null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


@app.command()
def figures(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment.")],
    output: Annotated[Path, typer.Option(help="Folder of the figures; must not be the experiment's, which is sealed.")],
    format_: Annotated[str, typer.Option("--format", help="svg, pdf or png.")] = "svg",
) -> None:
    """Draw latency by image, latency over time and training throughput (figures 1a, 1b and 1c of the study) with their captions."""
    from reporter.papers.beside import FIGURES  # start-up: NumPy, and what draws
    from reporter.papers.render import render  # optional: [figures]
    from reporter.papers.style import FORMATS, Look  # optional: [figures]

    if format_ not in FORMATS:
        raise SuiteError(f"{format_!r} is no format of figures; choose {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    if output.resolve().is_relative_to(folder.resolve()):
        raise SuiteError(f"{output} is in the experiment's folder, which is sealed; choose another --output.")
    drawn = {number: (title, draw(folder)) for number, (title, draw) in FIGURES.items()}
    with output_errors(output):
        output.mkdir(parents=True, exist_ok=True)
        for number, (title, figure) in drawn.items():
            place = output / f"concurrent-{number}.{format_}"
            place.write_bytes(render(figure, title, Look(), format_))
            place.with_suffix(".txt").write_text(f"{title}. {figure.about} Error bars: {figure.error_bars}.\n", encoding="utf-8")
            print(place)


def seconds(text: str, option: str) -> float:
    """A duration such as 250ms, 30s, 10m or 1h in seconds; raises SuiteError, naming the option."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise SuiteError(f"{option} {text!r} is not a duration; write a number and its unit, such as 250ms, 30s or 10m.")
    return float(found[1]) * UNITS[found[2]]


def _numbers(text: str | None, option: str) -> tuple[int, ...]:
    if text is None:
        return ()
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and len(word) < 10 for word in words):
        raise SuiteError(f"{option} {text!r} is not a list of whole numbers; write them with commas, such as 1,4,16.")
    return tuple(dict.fromkeys(map(int, words)))


def _print(found: Results, place: Path, json: bool) -> None:
    if json:
        print_json("concurrent", {**as_dict(found), "folder": os.fspath(place)})
    else:
        print("\n".join([*_lines(found), f"records: {place}"]))


def _lines(found: Results) -> Iterator[str]:
    setting = found.setting
    yield (
        f"{setting.trains} trains beside {setting.infers}, {setting.rate_per_s:g} images/s ({setting.kind}), {setting.duration_s:g} s each, "
        f"schedule {setting.schedule}"
    )
    yield f"training alone: {_with_interval(found.training_alone.samples_per_s, 1, 1)} samples/s"
    yield ""
    yield (
        f"{'batch':>5} {'queue':>9} {'mean ms':>20} {'p99 ms':>20} {'queueing':>9} {'execution':>9} {'model ms':>9} {'training/s':>20} "
        f"{'of alone':>9} {'exec. x':>8}"
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
        (_value(figures.queueing_s, 1e3), 9),
        (_value(figures.execution_s, 1e3), 9),
        (f"{figures.prediction.latency_s * 1e3:.1f}" if figures.prediction else "-", 9),
        (_with_interval(result.training.samples_per_s, 1, 1), 20),
        (_value(lost.training, 1, 2), 9),
        (_value(lost.execution, 1, 2), 8),
    )
    return " ".join(f"{text:>{width}}" for text, width in cells)


def _notes(figures: InferenceFigures) -> Iterator[str]:
    mean_s, p99_s, max_s = figures.lateness_s
    yield f"the generator was late by {mean_s * 1e3:.2f} ms on average, 99th percentile {p99_s * 1e3:.2f} ms, at most {max_s * 1e3:.1f} ms"
    if figures.arrival_gap_s is not None:
        yield f"latency falls by {figures.arrival_gap_s * 1e3:.3f} ms from one image of a batch to the next"
    stability = figures.stability
    if stability.growth is not None:
        growth = stability.growth
        yield f"queue {stability.state.value}: it keeps {growth.value:.2%} of the arriving images ({growth.low:.2%} to {growth.high:.2%})"
    elif stability.reason:
        yield f"queue {stability.state.value}: {stability.reason}"
    yield from figures.notes


def _with_interval(found: Interval | None, scale: float, digits: int) -> str:
    if found is None or not math.isfinite(found.value):
        return "-"
    return f"{found.value * scale:.{digits}f} ({found.low * scale:.{digits}f}-{found.high * scale:.{digits}f})"


def _value(found: Interval | None, scale: float, digits: int = 1) -> str:
    return "-" if found is None else f"{found.value * scale:.{digits}f}"
