"""Submissions: both timings of an entry in which the loop did not wait for the device."""

from collections.abc import Iterator, Mapping
from typing import Any

from reference_impls.contract import ASYNCHRONOUS, WAITING
from suite.catalog.frameworks import known_frameworks
from suite.compliance.rule import Violation
from suite.compliance.submission_rule import SubmissionContext, SubmissionRule
from suite.submission.entry_keys import split_key, timing_of

ORDER = 113  # after the entries

EPOCHS = 2
"""Of a run that shows how a step divides: the first epoch's caches are cold."""


def _split(context: SubmissionContext) -> Iterator[Violation]:
    entries = context.entries()
    shown = {
        (workload, framework, split_key(run.request))
        for (workload, framework, _), runs in entries.items()
        for run in runs
        if timing_of(run.request) == WAITING and _is_long_enough(run.request)
    }
    for (workload, framework, _), runs in entries.items():
        request = runs[0].request
        if timing_of(request) != ASYNCHRONOUS or framework not in known_frameworks():
            continue
        if (workload, framework, split_key(request)) not in shown:
            expected = (
                f"a run like this one in {WAITING} timing, of {EPOCHS} epochs or more, to show how"
                " a step divides"
            )
            yield Violation(
                runs[0].name, expected, f"none of {len(context.runs)} runs", _fix(request)
            )


def _is_long_enough(request: Mapping[str, Any]) -> bool:
    return request.get("steps") is None or request["steps"] >= _least_steps(request)


def _least_steps(request: Mapping[str, Any]) -> int:
    return EPOCHS * int(-(-request["data"]["train_samples"] // request["global_batch_size"]))


def _fix(request: Mapping[str, Any]) -> str:
    return (
        f"package a run with --timing {WAITING} and another --seed as well; --division open --steps"
        f" {_least_steps(request)} is enough"
    )


RULES = (
    SubmissionRule(
        id="submission-split",
        sentence=(
            "Beside an entry of one of the suite's frameworks in asynchronous timing there is a"
            f" run in synchronised timing, of {EPOCHS} epochs or more; the two may differ in"
            " division, --steps and seed."
        ),
        rationale=(
            "The score is of asynchronous timing, and only the other one shows how a step divides."
        ),
        check=_split,
    ),
)
