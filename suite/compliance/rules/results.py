"""What a run reached."""

from collections.abc import Iterator

from suite.compliance.editing import EditableBundle
from suite.compliance.rule import CLOSED, BundleCase, Fault, Rule, Violation


def _accuracy(case: BundleCase) -> Iterator[Violation]:
    samples = case.request.data.eval_samples
    for event in case.log.all("eval_accuracy"):
        correct = event.metadata.get("correct")
        if not isinstance(correct, int) or not 0 <= correct <= samples or event.value != correct / samples:
            observed = f"{event.value!r} with {correct!r} correct"
            yield Violation(
                "log.txt", f"an accuracy of correct / {samples}", observed[:200], "run again with an implementation that logs both", event.line
            )


def _status(case: BundleCase) -> Iterator[Violation]:
    stop = case.log.first("run_stop")
    if stop is None:
        return
    target = case.request.target_accuracy
    reached = any(isinstance(event.value, int | float) and target is not None and event.value >= target for event in case.log.all("eval_accuracy"))
    expected = "success" if target is None or reached else "aborted"
    if stop.metadata.get("status") != expected:
        observed = repr(stop.metadata.get("status"))[:200]
        yield Violation("log.txt", f"status {expected!r}, as the evaluations say", observed, "run again: a status is not edited", stop.line)


def _target(case: BundleCase) -> Iterator[Violation]:
    values = [event.value for event in case.log.all("eval_accuracy") if isinstance(event.value, int | float)]
    target = case.workload.target_accuracy
    if target is not None and (not values or max(values) < target):
        best = f"{max(values):.4f}" if values else "no evaluation"
        yield Violation("log.txt", f"an accuracy of {target} or more", best, "try another seed or tune within the workload's ranges")


def _parameters(case: BundleCase) -> Iterator[Violation]:
    event = case.log.first("parameters")
    if event is None or event.value != case.workload.parameters:
        observed = "no such event" if event is None else repr(event.value)[:200]
        fix = "train the workload's model, or enter the open division"
        yield Violation("log.txt", f"parameters = {case.workload.parameters}", observed, fix, None if event is None else event.line)


def _rounded_up(bundle: EditableBundle) -> None:
    bundle.event("eval_accuracy")["value"] = 0.9999


def _aborted(bundle: EditableBundle) -> None:
    bundle.event("run_stop")["metadata"]["status"] = "aborted"


def _never_reached(bundle: EditableBundle) -> None:
    for event in bundle.events:
        if event["key"] == "eval_accuracy":
            event["metadata"]["correct"] = bundle.request["data"]["eval_samples"] // 2
            event["value"] = 0.5
    bundle.event("run_stop")["metadata"]["status"] = "aborted"


def _smaller(bundle: EditableBundle) -> None:
    bundle.event("parameters")["value"] = 500


RULES = (
    Rule(
        id="accuracy-counts",
        sentence="Every logged accuracy is the logged number of correct samples divided by the size of the evaluation set.",
        rationale="A rounded or invented accuracy shows.",
        judges_bundle=_accuracy,
        faults=(Fault("an accuracy rounded up", _rounded_up),),
    ),
    Rule(
        id="status-follows",
        sentence="The run's status is success when an evaluation reached the target, aborted when none did.",
        rationale="The status must follow from the evaluations.",
        judges_bundle=_status,
        faults=(Fault("aborted in spite of success", _aborted),),
    ),
    Rule(
        id="target-reached",
        sentence="A closed run reaches the workload's target accuracy.",
        rationale="Time to target is what the closed division compares; a fast run that learns nothing has no place in it.",
        divisions=CLOSED,
        judges_bundle=_target,
        faults=(Fault("a target never reached", _never_reached),),
    ),
    Rule(
        id="parameter-count",
        sentence="A closed run's model has the workload's number of parameters.",
        rationale="A smaller model would be faster.",
        divisions=CLOSED,
        judges_bundle=_parameters,
        faults=(Fault("a smaller model", _smaller),),
    ),
)
