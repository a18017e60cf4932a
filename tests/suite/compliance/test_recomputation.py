"""Rules about recomputation: a run in a budget complies, and schedules are judged as they are
simulated."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reference_impls.contract import Recomputation
from suite.bundle.reader import Bundle
from suite.compliance.checker import check_bundle
from suite.compliance.rules.recomputation import schedule_problem
from suite.memory import schedulers
from suite.memory.schedule import Schedule
from suite.memory.spilling import spilled_schedule
from suite.metrics.summary import read_summary
from tests.faults.edits.fault import save_after
from tests.faults.edits.recomputation_edits import claim_budget
from tests.suite.memory.test_schedules import equal


def as_planned(schedule: Schedule, count: int) -> Recomputation:
    actions = [step.as_list for step in schedule.steps]
    return Recomputation(
        2, 1, 1.0, schedule.name, [[block, block] for block in range(count)], actions
    )


def test_a_run_in_its_budget_complies_and_has_figures(
    good_bundle_of: Callable[[int], Path],
) -> None:
    bundle = good_bundle_of(1)
    save_after(claim_budget(), recompute=True)(bundle)
    assert [
        finding
        for finding in check_bundle(bundle).findings
        if finding.check in ("recomputation-followed", "memory-as-planned")
    ] == []
    figures = read_summary(Bundle(bundle))["figures"]
    assert figures["recompute_factor"]["value"] == pytest.approx(0.8 / 0.6)
    assert figures["measured_memory_bytes"]["value"] == figures["planned_memory_bytes"]["value"] > 0
    assert figures["spilled_bytes"]["value"] == 0


def test_a_run_with_activations_on_storage_complies_and_counts_them(
    good_bundle_of: Callable[[int], Path],
) -> None:
    bundle = good_bundle_of(1)
    save_after(claim_budget(spill=True), recompute=True)(bundle)
    assert [
        finding
        for finding in check_bundle(bundle).findings
        if finding.check in ("recomputation-followed", "memory-as-planned")
    ] == []
    figures = read_summary(Bundle(bundle))["figures"]
    assert figures["recompute_factor"]["value"] == pytest.approx(0.8 / 0.6), (
        "storage costs time, as recomputation does"
    )
    assert figures["spilled_bytes"]["value"] > 0 and figures["spill_s"]["value"] > 0


@pytest.mark.parametrize("count", [1, 2, 10, 52])
def test_every_schedule_of_the_planner_is_possible(count: int) -> None:
    kinds = [
        schedulers.keep_all(count),
        *(schedulers.segments(count, parts) for parts in range(2, min(count, 6))),
    ]
    kinds += [schedulers.revolve(count, slots) for slots in range(1, count)]
    blocks = equal(count)
    kinds += [
        found.schedule
        for budget in range(3, 2 * count + 3)
        if (found := spilled_schedule(blocks, budget)) is not None
    ]
    assert [schedule_problem(as_planned(schedule, count)) for schedule in kinds] == [None] * len(
        kinds
    )


def test_schedules_that_cannot_run_are_found() -> None:
    good = as_planned(schedulers.revolve(6, 2), 6)
    for place in range(len(good.actions)):
        shortened = good._replace(actions=good.actions[:place] + good.actions[place + 1 :])
        assert schedule_problem(shortened) is not None, good.actions[place]
