"""`suite concurrent tune`: the setting of training beside inference with the highest training rate,
or with the least energy."""

import math
import os
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from suite.cli.durations import parse_duration
from suite.cli.json_output import JsonFormat, print_json
from suite.cli.options import with_options
from suite.errors import SuiteError
from suite.extensions.concurrent.command.options import ScenarioOptions, SharingOptions, numbers
from suite.extensions.concurrent.measuring.experiment import Plan
from suite.extensions.concurrent.measuring.trial_modes import held_for_trials, modes_of
from suite.extensions.concurrent.measuring.trial_power import TrialPower, refuse_without_meter
from suite.extensions.concurrent.measuring.trials import Choices, Instruments, Mode, tune_here
from suite.extensions.concurrent.measuring.tuning import Aim, Goal, Tuned
from suite.extensions.concurrent.record.batching import BatchRule
from suite.files.json_file import write_json
from suite.launch.child_environment import refuse_threads, usable_cores

FORMAT = JsonFormat(
    "concurrent-tune",
    "suite concurrent tune",
    {
        "folder": "folder of the records",
        "best": (
            "batch, schedule, train_threads, infer_threads, power_mode (null: mode not changed)"
        ),
        "minimised": "time or energy",
        "samples_per_s": "median training rate of the setting `best` in the final trials",
        "energy_j": "median energy of the machine per trained sample, or null",
        "trials": (
            "list: candidate, duration_s, samples_per_s (null: too few steps), p99_s (null:"
            " unfinished images), windows_within, power_w, energy_j"
        ),
    },
)

TUNING = "tuning.json"
SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class TuningOptions:
    """What tuning aims at, and what it chooses from."""

    p99: Annotated[
        str,
        typer.Option("--p99", help="Upper limit of the 99th percentile of latency, such as 300ms."),
    ]
    minimise: Annotated[
        Goal,
        typer.Option(
            help=(
                "What to minimise for each trained sample: time, or energy of the machine (needs "
                "a power meter)."
            )
        ),
    ] = Goal.TIME
    max_watts: Annotated[
        float | None,
        typer.Option(
            help="Upper limit of the machine's mean power; needs a power meter (`suite doctor`)."
        ),
    ] = None
    infer_batch: Annotated[str, typer.Option(help="Batch sizes to choose from.")] = "1,4,16,64"
    duration: Annotated[
        str,
        typer.Option(
            help=(
                "Length of each final measurement. The first measurement of a setting takes a"
                " quarter of this time."
            )
        ),
    ] = "60s"
    threads: Annotated[
        str | None,
        typer.Option(
            help="Numbers of threads to choose from (default: 1 and the number of usable cores)."
        ),
    ] = None
    power_modes: Annotated[
        str | None,
        typer.Option(
            help=(
                "Power modes to choose from, by name or id (`suite power list`; default: the"
                " mode that is set)."
            )
        ),
    ] = None

    def aim(self) -> Aim:
        """Limits and goal; raises SuiteError for limits that nothing keeps, and for a power that
        nothing measures."""
        limit_s = parse_duration(self.p99, "--p99")
        if limit_s <= 0:
            raise SuiteError(
                f"--p99 {self.p99} leaves no time for any image; give a limit above 0, such as"
                " 300ms."
            )
        if self.max_watts is not None and not 0 < self.max_watts < math.inf:
            raise SuiteError(
                f"--max-watts {self.max_watts:g} is not a possible limit; give a finite power"
                " above 0, such as 20."
            )
        aim = Aim(limit_s, self.max_watts, self.minimise)
        if aim.needs_power:
            refuse_without_meter(
                "--max-watts" if self.max_watts is not None else f"--minimise {Goal.ENERGY.value}"
            )
        return aim

    def choices(self) -> Choices:
        """Threads and power modes; raises SuiteError for those that this machine has not."""
        modes = (
            (Mode(),)
            if self.power_modes is None
            else modes_of([name.strip() for name in self.power_modes.split(",")])
        )
        cores = [mode.cores or usable_cores() for mode in modes]
        counts = numbers(self.threads, "--threads") or tuple(sorted({1, *cores}))
        for count in counts:
            refuse_threads(count, "--threads", max(cores))
        return Choices(counts, modes)


@with_options
def tune_command(scenario: ScenarioOptions, tuning: TuningOptions) -> None:
    """Choose inference batch, schedule, threads and power mode for the highest training rate, or
    the least energy, within limits."""
    batches, coming, aim = (
        numbers(tuning.infer_batch, "--infer-batch"),
        scenario.coming(parse_duration(tuning.duration, "--duration")),
        tuning.aim(),
    )
    for size in batches:
        BatchRule(size)
    choices, default = tuning.choices(), SharingOptions()
    sides = scenario.sides(default)
    slice_ns = round(parse_duration(default.slice, "--slice") * 1e9)
    with scenario.place("concurrent-tune") as place, ExitStack() as stack:
        plan = Plan(*sides, coming, batches, None, default.schedule, slice_ns, default.share, place)
        set_mode = None if choices.modes == (Mode(),) else stack.enter_context(held_for_trials())
        found = tune_here(
            plan,
            choices,
            aim,
            scenario.report,
            Instruments(TrialPower if aim.needs_power else None, set_mode),
        )
        record = _json_values(found, aim.goal)
        write_json(place / TUNING, {"schema": SCHEMA, **record})
    if scenario.json:
        print_json(FORMAT, {**record, "folder": os.fspath(place)})
    else:
        print("\n".join([*_lines(found), f"records: {place}"]))


def _lines(found: Tuned) -> list[str]:
    worst_s = max(trial.p99_s for trial in found.finals)
    energy = (
        "" if found.energy_j is None else f", {found.energy_j:.3g} J per sample (whole machine)"
    )
    return [
        f"chosen: {found.best}",
        (
            f"{found.samples_per_s:.1f} samples/s{energy}, 99th percentile at most"
            f" {worst_s * 1e3:.0f} ms"
        ),
    ]


def _json_values(found: Tuned, goal: Goal) -> dict[str, Any]:
    """JSON values: an infinite latency, of a queue that was left, is null."""
    trials = [{**asdict(trial), "energy_j": trial.energy_j} for trial in found.trials]
    values = {
        "best": asdict(found.best),
        "minimised": goal.value,
        "samples_per_s": found.samples_per_s,
        "energy_j": found.energy_j,
        "trials": trials,
    }
    return {name: _finite(value) for name, value in values.items()}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
