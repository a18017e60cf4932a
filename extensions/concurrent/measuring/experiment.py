"""The measurements of `suite concurrent`: each side alone, then both beside each other at every
batch size.

The folder of an experiment: ``training-alone``, ``inference-alone-b<size>`` and ``beside-b<size>``,
one measurement each (suite.extensions.concurrent.record.records), ``beside.json``, which is
recomputed from them, and a manifest.
"""

import math
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from reference_impls import contract
from suite.errors import SuiteError
from suite.extensions.concurrent.measuring.schedules import Schedule, ScheduleKind, make
from suite.extensions.concurrent.measuring.window import Measured, infer, wait_window
from suite.extensions.concurrent.record.arrivals import (
    NS_PER_S,
    ArrivalKind,
    Arrivals,
    intended_ns,
)
from suite.extensions.concurrent.record.batching import BatchRule
from suite.extensions.concurrent.record.layout import beside, inference_alone, training_alone
from suite.extensions.concurrent.record.records import INFERENCE, TRAINING, Setting, write_recording
from suite.files.redaction import DATA, OUTPUT, machine_redactor
from suite.launch.process import says_out_of_memory
from suite.launch.turns import Child, ProcessEnded, Side, raised_priority, start_training

BASELINE_SHARE = 0.25
"""Length of each baseline, of the duration."""

KILLED = -9
RESERVE = 0.8
"""Of the highest rate that inference served alone: the rate that is proposed."""

INFERENCE_MODULE = "extensions.concurrent.programs.inference"
Report = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is measured. ``slice_ns`` and ``training_share`` are those of the schedule
    ``sliced``."""

    train: Side
    infer: Side
    arrivals: Arrivals
    batches: tuple[int, ...]
    deadline_ns: int | None
    schedule: ScheduleKind
    slice_ns: int
    training_share: float
    output: Path

    def rule(self, batch: int) -> BatchRule:
        """How images make up batches of this size."""
        return BatchRule(batch, self.deadline_ns)


def measure(plan: Plan, report: Report) -> None:
    """Take all measurements of the plan. Raises SuiteError for a batch that does not fit into
    memory, and for a rate that no batch size serves."""
    plan.arrivals.refuse_short(BASELINE_SHARE)
    refuse_slow_inference(plan, capacities(plan, report))
    short = replace(plan, arrivals=plan.arrivals.lasting(BASELINE_SHARE * plan.arrivals.duration_s))
    report(f"training alone, {short.arrivals.duration_s:g} s")
    _measure_training(short, training_alone(plan.output))
    for batch in plan.batches:
        report(f"inference alone, batch {batch}, {short.arrivals.duration_s:g} s")
        _measure_inference(short, batch, inference_alone(plan.output, batch))
        report(f"both, batch {batch}, {plan.arrivals.duration_s:g} s")
        measure_both(plan, batch, beside(plan.output, batch))


def capacities(plan: Plan, report: Report) -> dict[int, float]:
    """Images/s that inference serves alone, by batch size, from its warm-up."""
    found = {}
    for batch in plan.batches:
        found[batch] = capacity(plan, batch)
        report(
            f"batch {batch}: {batch / found[batch] * 1e3:.1f} ms, up to {found[batch]:.0f} images/s"
            " without training"
        )
    return found


def refuse_slow_inference(plan: Plan, found: dict[int, float]) -> None:
    """Raise SuiteError where no batch size serves the arrivals even alone."""
    best = max(found, key=lambda batch: found[batch])
    if found[best] < plan.arrivals.rate_per_s:
        slower = f"--rate {_rounded_down(RESERVE * found[best])}"
        if plan.arrivals.kind is ArrivalKind.TRACE:
            slower = "slower --arrivals"
        raise SuiteError(
            f"Even without training, inference of {plan.infer.request.workload} serves at most"
            f" {found[best]:.0f} images/s here (with batches of {best}), fewer than the"
            f" {plan.arrivals.rate_per_s:.15g} that arrive; use {slower} or a smaller model."
        )


def _rounded_down(rate: float) -> str:
    """Two digits, as one types them."""
    digits = 1 - math.floor(math.log10(rate))
    return f"{math.floor(rate * 10**digits) / 10**digits:.{max(0, digits)}f}"


def measure_both(
    plan: Plan,
    batch: int,
    folder: Path,
    during: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """One measurement of both sides; its records are written into ``folder``. The context
    ``during`` is open while images arrive."""
    schedule = make(
        plan.schedule,
        round(plan.arrivals.duration_s * NS_PER_S),
        plan.slice_ns,
        plan.training_share,
    )
    with ExitStack() as stack:
        training = stack.enter_context(start_training(plan.train, folder / TRAINING))
        inference = stack.enter_context(_start_inference(plan, batch, folder / INFERENCE))
        stack.enter_context(during())
        _take(plan, batch, folder, inference, training, schedule)


def _measure_inference(plan: Plan, batch: int, folder: Path) -> None:
    with _start_inference(plan, batch, folder / INFERENCE) as inference:
        _take(plan, batch, folder, inference, None, Schedule())


def _measure_training(plan: Plan, folder: Path) -> None:
    with start_training(plan.train, folder / TRAINING) as training:
        found = wait_window(round(plan.arrivals.duration_s * NS_PER_S), training)
    _write(plan, None, folder, found, 0, infers=False, trains=True)


def _take(
    plan: Plan,
    batch: int,
    folder: Path,
    inference: Child,
    training: Child | None,
    schedule: Schedule,
) -> None:
    window_ns = round(plan.arrivals.duration_s * NS_PER_S)
    with raised_priority() as nice:
        if training is not None:
            schedule.begin(training, inference)
        found = infer(
            intended_ns(plan.arrivals), plan.rule(batch), window_ns, inference, training, schedule
        )
    _write(plan, batch, folder, found, nice, infers=True, trains=training is not None)


def _start_inference(plan: Plan, batch: int, folder: Path) -> Child:
    request = plan.infer.request._replace(global_batch_size=batch)
    child = Child(plan.infer.program("inference", INFERENCE_MODULE, request, folder))
    child.wait_until_ready()
    return child


def capacity(plan: Plan, batch: int) -> float:
    """Images/s that inference serves alone with batches of this size, from its warm-up. Raises
    SuiteError, with a size that fits, for one that does not fit into memory."""
    try:
        return batch * NS_PER_S / warm_up_ns(plan, batch)
    except ProcessEnded as error:
        if not (error.exit_code == KILLED or says_out_of_memory(error.last_line)):
            raise
    fits = _largest_that_fits(plan, batch)
    remedy = f"{fits} does" if fits else "not even one image fits; choose a smaller model"
    raise SuiteError(
        f"An inference batch of {batch} does not fit into this machine's memory; {remedy}."
    )


def _largest_that_fits(plan: Plan, fails: int) -> int:
    """The first of the halves that fits; 0: none."""
    size = fails // 2
    while size:
        try:
            warm_up_ns(plan, size)
            return size
        except ProcessEnded:
            size //= 2
    return 0


def warm_up_ns(plan: Plan, batch: int) -> int:
    """The time of one batch, alone, from a process that is started for it; raises ProcessEnded
    where it cannot be computed."""
    with tempfile.TemporaryDirectory(prefix="concurrent-") as folder:
        request = plan.infer.request._replace(global_batch_size=batch)
        child = Child(
            plan.infer.program("inference", INFERENCE_MODULE, request, Path(folder) / "inference")
        )
        found = child.wait_until_ready()
        child.__exit__()
        return max(1, found)


def _tidy(folder: Path, data: Path) -> None:
    """Leave what a side's figures need: no name of a person or a folder, and not the training's own
    log, whose steps are in step_times.csv."""
    for name in (contract.log_name(0), contract.steps_name(0)):
        (folder / name).unlink(missing_ok=True)
    redactor = machine_redactor([(folder, OUTPUT), (data, f"{DATA}/{data.name}")])
    for path in (folder / contract.REQUEST_NAME, folder / "output.txt"):
        path.write_text(
            redactor.text(path.read_text(encoding="utf-8", errors="replace")), encoding="utf-8"
        )


def _write(
    plan: Plan,
    batch: int | None,
    folder: Path,
    found: Measured,
    nice: int,
    infers: bool,
    trains: bool,
) -> None:
    arrivals, deadline_ns = plan.arrivals, plan.deadline_ns
    setting = Setting(
        infers=plan.infer.request.workload if infers else None,
        trains=plan.train.request.workload if trains else None,
        kind=arrivals.kind.value,
        rate_per_s=arrivals.rate_per_s,
        duration_s=arrivals.duration_s,
        seed=arrivals.seed,
        batch=batch or 1,
        deadline_s=None if deadline_ns is None else deadline_ns / NS_PER_S,
        schedule=plan.schedule.value if infers and trains else "alone",
        threads_infer=plan.infer.request.threads,
        threads_train=plan.train.request.threads,
        start_ns=found.start_ns,
        window_ns=round(arrivals.duration_s * NS_PER_S),
        end_ns=found.end_ns,
        generator_nice=nice,
    )
    write_recording(folder, setting, found.rows, found.noticed_ns, arrivals.trace_s)
    for side, place, took_part in (
        (plan.train, folder / TRAINING, trains),
        (plan.infer, folder / INFERENCE, infers),
    ):
        if took_part:
            _tidy(place, Path(side.request.data.directory))
