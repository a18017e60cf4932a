"""When evaluations and the run end: as the training loop ends them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_impls.contract import log_name
from suite.bundle.layout import RUN, STEPS
from suite.bundle.log import Log
from suite.compliance.editing import EditableBundle
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleCase, Fault, Rule, Violation
from suite.compliance.rules.course import EVALUATION, RUN_AGAIN

if TYPE_CHECKING:
    from suite.bundle.steps import StepRecords

from reference_impls.contract import SECONDS_PER_NS

SAME_MOMENT_S = 0.01
LEAST_SHARE = 0.9
CLOCK_S = 120.0


def _evaluations(case: BundleCase) -> Iterator[Violation]:
    """eval_start, eval_accuracy, eval_stop of one epoch, after its epoch_stop and before anything else."""
    due: list[tuple[str, int | None]] = []
    stopped: int | None = None
    for event in case.log.events:
        if event.key not in (*EVALUATION, "epoch_start", "epoch_stop", "run_stop"):
            continue
        if event.key == "eval_start" and not due:
            due = [("eval_accuracy", stopped), ("eval_stop", stopped)]
            expected: tuple[str, int | None] = ("eval_start", stopped)
        elif due:
            expected = due.pop(0)
        else:
            expected = (event.key, event.epoch) if event.key not in EVALUATION else ("no evaluation outside eval_start and eval_stop", None)
        stopped = event.epoch if event.key == "epoch_stop" else stopped
        if (event.key, event.epoch) != expected:
            yield Violation("log.txt", f"{expected[0]} of epoch {expected[1]}", f"{event.key} of epoch {event.epoch}", RUN_AGAIN, event.line)
            return


def _ends_as_asked(case: BundleCase) -> Iterator[Violation]:
    """At the target, at the last epoch or at the step limit, whatever comes first."""
    request, epochs = case.request, case.log.finished_epochs()
    target, stop = request.target_accuracy, case.log.first("run_stop")
    reached = [
        event for event in case.log.all("eval_accuracy") if target is not None and isinstance(event.value, int | float) and event.value >= target
    ]
    last = max(epochs, default=0)
    if reached and reached[0].epoch != last:
        yield Violation("log.txt", f"an end at epoch {reached[0].epoch}, which reached the target", f"{last} epochs", RUN_AGAIN, reached[0].line)
    limited = request.steps is not None and len(case.steps.first_rank) == request.steps
    if not reached and not limited and last < request.epochs:
        line = None if stop is None else stop.line
        yield Violation("log.txt", f"training until the target or epoch {request.epochs}", f"an end after epoch {last}", RUN_AGAIN, line)


def _epoch_ends(case: BundleCase) -> Iterator[Violation]:
    """Every rank by its own log and clock."""
    for rank, steps in case.steps.by_rank():
        if 0 <= rank < case.request.parallel.ranks:
            yield from _ends_of_rank(rank, case.bundle.log(rank), steps)


def _ends_of_rank(rank: int, log: Log, steps: "StepRecords") -> Iterator[Violation]:
    """epoch_stop is logged with the last step's end as its time, and counts the steps."""
    name = log_name(rank)
    for stop in log.all("epoch_stop"):
        inside = steps.epoch == stop.epoch
        if not inside.any() or stop.mono_ns is None:
            continue
        late_s = stop.mono_ns * SECONDS_PER_NS - float(steps.ends_s[inside].max())
        if abs(late_s) > SAME_MOMENT_S:
            yield Violation(name, f"epoch {stop.epoch} to end with its last step", f"{late_s:.3f} s after it", RUN_AGAIN, stop.line)
        if stop.metadata.get("steps") != int(inside.sum()):
            observed = f"{stop.metadata.get('steps')!r} in the log"[:200]
            yield Violation(name, f"the {int(inside.sum())} steps of epoch {stop.epoch} that {STEPS} has", observed, RUN_AGAIN, stop.line)


def _filled(case: BundleCase) -> Iterator[Violation]:
    stops = {event.epoch: event.mono_ns for event in case.log.all("epoch_stop")}
    for epoch, steps in case.steps.first_rank.by_epoch():
        stop_ns = stops.get(epoch)
        whole_s = 0.0 if stop_ns is None else (stop_ns - int(steps.start_ns[0])) * SECONDS_PER_NS
        parts_s = float(steps.parts_s.sum())
        if whole_s > 0 and parts_s < LEAST_SHARE * whole_s:
            observed = f"{parts_s:.2f} of {whole_s:.2f} s"
            yield Violation(
                STEPS, f"fetch, copy, compute and communication to fill epoch {epoch} to nine tenths", observed, "find out what took the rest"
            )


def _record(case: BundleCase) -> Iterator[Violation]:
    """run.json tells of the run that the log tells of."""
    run, first = case.run, case.log.events[0] if case.log.events else None
    if run.exit_code != 0 or run.message is not None:
        observed = f"exit code {run.exit_code!r}, message {run.message!r}"[:200]
        yield Violation(RUN, "exit code 0 and no message for a finished run", observed, RUN_AGAIN)
    started_ms = run.started_time_ms
    if first is not None and not (isinstance(started_ms, int | float) and -CLOCK_S <= (first.time_ms - started_ms) / 1000 <= 3600 + CLOCK_S):
        observed = f"started_time_ms {started_ms!r}, first event {first.time_ms!r}"[:200]
        yield Violation(RUN, "a start in the hour before the log's first event", observed, "let the clock settle (NTP) before a run, or run again")


def _second_accuracy(bundle: EditableBundle) -> None:
    bundle.events.insert(bundle.events.index(bundle.event("run_stop")), _copy(bundle, "eval_accuracy", -1))


def _no_eval_start(bundle: EditableBundle) -> None:
    bundle.remove("eval_start", 1)


def _copy(bundle: EditableBundle, key: str, number: int) -> dict[str, object]:
    event = bundle.event(key, number)
    stop = bundle.event("run_stop")
    return dict(event, time_ms=stop["time_ms"], metadata=dict(event["metadata"], mono_ns=stop["metadata"]["mono_ns"]))


def _earlier_success(bundle: EditableBundle) -> None:
    event = bundle.event("eval_accuracy")
    event["value"], event["metadata"]["correct"] = 0.995, round(0.995 * bundle.request["data"]["eval_samples"])


def _gave_up(bundle: EditableBundle) -> None:
    for key in ("epoch_start", "epoch_stop", *EVALUATION):
        bundle.remove(key, -1)
    bundle.steps = bundle.steps[bundle.steps["epoch"] < bundle.steps["epoch"].max()].reset_index(drop=True)
    bundle.event("run_stop")["metadata"]["status"] = "aborted"


def _late_stop(bundle: EditableBundle) -> None:
    bundle.event("epoch_stop", 1)["metadata"]["mono_ns"] += 50_000_000


def _other_count(bundle: EditableBundle) -> None:
    bundle.event("epoch_stop", 1)["metadata"]["steps"] -= 1


def _less_compute(bundle: EditableBundle) -> None:
    bundle.steps["compute_s"] *= 0.5


def _failed(bundle: EditableBundle) -> None:
    bundle.run["exit_code"] = 1


def _other_run(bundle: EditableBundle) -> None:
    bundle.run["started_time_ms"] -= 7 * 86_400_000


RULES = (
    Rule(
        id="evaluations-in-order",
        sentence="An evaluation is eval_start, one eval_accuracy and eval_stop, right after its epoch.",
        rationale="Its time belongs to the run, and an accuracy belongs to one state of the model.",
        judges_bundle=_evaluations,
        faults=(Fault("another accuracy at the end", _second_accuracy), Fault("an evaluation without its start", _no_eval_start)),
    ),
    Rule(
        id="ends-as-asked",
        sentence="A run ends with the evaluation that reaches the target, else with its last epoch or its step limit.",
        rationale="An accuracy that was raised afterwards leaves epochs that would not have been trained, one that was lowered lacks some.",
        judges_bundle=_ends_as_asked,
        faults=(Fault("success an epoch earlier", _earlier_success), Fault("an epoch taken away everywhere", _gave_up)),
    ),
    Rule(
        id="epoch-ends",
        sentence="An epoch ends with its last step, to ten milliseconds, and the log counts the steps that the table has.",
        rationale="End to end is first fetch to last step; log and step records are two witnesses of it.",
        judges_bundle=_epoch_ends,
        faults=(Fault("an end 50 ms later", _late_stop), Fault("a step less in the log", _other_count)),
    ),
    Rule(
        id="epoch-filled",
        sentence="Fetch, copy, compute and communication fill nine tenths of an epoch or more.",
        rationale="What is left over is overhead that nobody explains, or parts that were made smaller.",
        severity=Severity.WARNING,
        judges_bundle=_filled,
        faults=(Fault("half the compute time", _less_compute),),
    ),
    Rule(
        id="run-record",
        sentence="run.json is the record of this run: its end and its start.",
        rationale="Logs and records of different runs do not belong in one bundle.",
        judges_bundle=_record,
        faults=(Fault("an exit code of 1", _failed), Fault("a start a week before", _other_run)),
    ),
)
