"""What `suite concurrent` and `suite concurrent tune` have in common: the options of both sides and
of the arrivals, and how they are read."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from suite.catalog.divisions import Division
from suite.catalog.frameworks import load_framework
from suite.cli.options import FRAMEWORK, Json
from suite.errors import SuiteError
from suite.execution.request import Accelerator, RunOptions
from suite.execution.resolve import resolve_options
from suite.experiments.before_runs import held_folder
from suite.extensions.concurrent.measuring.schedules import ScheduleKind
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals, of_trace
from suite.files.durable import refuse_output_folder
from suite.launch.child_environment import refuse_threads
from suite.launch.environments import find_environment
from suite.launch.turns import Side, usable_cpus

RUNS = Path("runs")


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """What measuring and tuning have in common."""

    train: Annotated[
        str | None, typer.Option(help="Workload that trains (`suite list workloads`).")
    ] = None
    infer: Annotated[str | None, typer.Option(help="Workload whose model runs inference.")] = None
    rate: Annotated[
        float,
        typer.Option(help="Images per second that arrive, whether or not inference keeps up."),
    ] = 100.0
    arrivals: Annotated[
        str, typer.Option(help="uniform, poisson, or a CSV file with the column arrival_s.")
    ] = "uniform"
    framework: Annotated[
        str, typer.Option(help="Framework of training and inference (`suite list frameworks`).")
    ] = FRAMEWORK
    accelerator: Annotated[
        Accelerator, typer.Option(help="Accelerator for training and inference.")
    ] = Accelerator.AUTO
    data: Annotated[
        str | None, typer.Option(help="Data set of the training, as in `suite run`.")
    ] = None
    infer_data: Annotated[
        str | None, typer.Option(help="Data set with the images for inference.")
    ] = None
    seed: Annotated[
        int, typer.Option(help="Seed of weights, sample order and Poisson arrivals.")
    ] = 1
    output: Annotated[
        Path | None,
        typer.Option(help="Folder of the records (default: in runs/, named after the time)."),
    ] = None
    json: Json = False

    def coming(self, duration_s: float) -> Arrivals:
        """The arrivals within ``duration_s``; raises SuiteError for impossible ones."""
        if self.arrivals in (ArrivalKind.UNIFORM.value, ArrivalKind.POISSON.value):
            return Arrivals(ArrivalKind(self.arrivals), self.rate, duration_s, self.seed)
        if not Path(self.arrivals).is_file():
            raise SuiteError(
                f"--arrivals {self.arrivals!r} is not uniform, poisson or an existing file."
            )
        if self.rate != ScenarioOptions.rate:
            raise SuiteError(f"{self.arrivals} says when images arrive; leave --rate out.")
        return of_trace(Path(self.arrivals), duration_s)

    def sides(self, sharing: "SharingOptions") -> tuple[Side, Side]:
        """Training and inference; raises SuiteError for unknown names and missing data."""
        if self.train is None or self.infer is None:
            raise SuiteError(
                "Two workloads are needed: give --train and --infer, such as `suite concurrent"
                " --train lenet --infer resnet18`."
            )
        for option, threads in (
            ("--threads", sharing.threads),
            ("--infer-threads", sharing.infer_threads),
        ):
            if threads is not None:
                refuse_threads(threads, option)
        training = self._side(
            self.train, self.data, sharing.threads, sharing.nice, numbers(sharing.cpus, "--cpus")
        )
        infer_cpus = numbers(sharing.infer_cpus, "--infer-cpus")
        return training, self._side(
            self.infer,
            self.infer_data,
            sharing.infer_threads or sharing.threads,
            sharing.infer_nice,
            infer_cpus,
        )

    def _side(
        self, workload: str, data: str | None, threads: int | None, nice: int, cpus: tuple[int, ...]
    ) -> Side:
        found = load_framework(self.framework)
        options = RunOptions(
            Division.OPEN,
            "auto",
            workload,
            self.framework,
            data=data,
            seed=self.seed,
            threads=threads,
            accelerator=self.accelerator,
        )
        return Side(
            resolve_options(options).training,
            f"{found.module}.implementation",
            find_environment(found).interpreter,
            nice,
            usable_cpus(cpus),
        )

    @contextmanager
    def place(self, name: str) -> Iterator[Path]:
        """The folder of the records, of this command alone; it is removed if nothing was written.

        Raises SuiteError for one with files or of another command, and where it cannot be made.
        """
        place = self.output or RUNS / time.strftime(f"{name}-%Y%m%dT%H%M%S")
        refuse_output_folder(place)
        new = [folder for folder in (place, place.parent) if not folder.exists()]
        try:
            with held_folder(place):
                refuse_output_folder(place)  # another command may have filled it meanwhile
                yield place
        finally:
            with suppress(OSError):
                for folder in new:
                    folder.rmdir()

    def report(self, line: str) -> None:
        """Print progress; with --json, standard output is the object alone."""
        if not self.json:
            typer.echo(line)


@dataclass(frozen=True, kw_only=True)
class SharingOptions:
    """How both sides share the machine."""

    schedule: Annotated[ScheduleKind, typer.Option(help="When training and inference may run.")] = (
        ScheduleKind.CONCURRENT
    )
    slice: Annotated[str, typer.Option("--slice", help="Period of --schedule sliced.")] = "100ms"
    share: Annotated[
        float, typer.Option(help="With --schedule sliced: fraction of each period for training.")
    ] = 0.5
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads of the training (default: the workload's, else one per usable core)."
        ),
    ] = None
    infer_threads: Annotated[
        int | None, typer.Option(help="Threads of the inference (default: those of the training).")
    ] = None
    nice: Annotated[
        int,
        typer.Option(
            min=-20, max=19, help="Priority (nice value) of the training; 19 is the lowest."
        ),
    ] = 0
    infer_nice: Annotated[
        int,
        typer.Option(
            min=-20, max=19, help="Priority (nice value) of the inference; below 0 needs root."
        ),
    ] = 0
    cpus: Annotated[str | None, typer.Option(help="CPUs of the training: 0,1 (default: all).")] = (
        None
    )
    infer_cpus: Annotated[str | None, typer.Option(help="CPUs of the inference.")] = None


def numbers(text: str | None, option: str) -> tuple[int, ...]:
    """Whole numbers with commas, each once; raises SuiteError, naming the option."""
    if text is None:
        return ()
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and len(word) < 10 for word in words):
        raise SuiteError(
            f"{option} {text!r} is not a list of whole numbers; write them with commas, such as"
            " 1,4,16."
        )
    return tuple(dict.fromkeys(map(int, words)))
