"""Schedules: forward counts, costs, and the programme for unequal blocks against all others."""

import random

import pytest

from suite.errors import SuiteError
from suite.memory import schedulers
from suite.memory.chain import Block, Chain, network_chain
from suite.memory.network import load_network
from suite.memory.optimal import (
    dynamic_programme,
    fastest_schedule,
    least_bytes,
    schedules_without_sizes,
)
from suite.memory.schedule import Action, Schedule, ScheduleStep, simulate_schedule
from tests.every_case import one_of_each, some

RESNETS = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152")


def equal(count: int) -> Chain:
    """Blocks of 1 byte and time 1 forward, nothing needed beyond inputs."""
    return tuple(Block(str(i), i, i, 1, 1, 1, 0, 1, 3, 0, 1.0, 1.0) for i in range(count))


def unequal(count: int, seed: int) -> Chain:
    """Blocks of random sizes and times that join."""
    draw = random.Random(seed)
    sizes = [draw.randint(1, 20) for _ in range(count + 1)]
    blocks = []
    for number in range(count):
        kept = sizes[number + 1] + draw.randint(0, 40)
        backward = kept + sizes[number] + sizes[number + 1]
        times = draw.uniform(1, 5), draw.uniform(1, 5)
        blocks.append(
            Block(
                str(number),
                number,
                number,
                sizes[number],
                sizes[number + 1],
                kept,
                0,
                sizes[number + 1],
                backward,
                draw.randint(0, 5),
                *times,
            )
        )
    return tuple(blocks)


@pytest.mark.parametrize(("count", "slots", "forwards"), [(10, 3, 25), (50, 5, 172), (152, 8, 553)])
def test_revolve_runs_as_often_as_checkpoint_schedules(
    count: int, slots: int, forwards: int
) -> None:
    """Counts of the package checkpoint-schedules 1.0.4."""
    assert schedulers.revolve(count, slots).forwards == forwards


@pytest.mark.parametrize("count", one_of_each(range(10, 153), lambda count: count // 40))
def test_revolve_runs_as_often_as_the_closed_form(count: int) -> None:
    for slots in sorted({1, 2, 3, 5, 8, count // 3, count - 1}):
        schedule = schedulers.revolve(count, slots)
        assert schedule.forwards == schedulers.revolve_forwards(count, slots)
        simulate_schedule(schedule, equal(count))


@pytest.mark.parametrize("count", [10, 37, 152])
@pytest.mark.parametrize("slots", [1, 2, 5, 9])
def test_revolve_holds_no_more_checkpoints_than_slots(count: int, slots: int) -> None:
    held: set[int] = set()
    for step in schedulers.revolve(count, slots).steps:
        if step.action is Action.CHECKPOINT:
            held.add(step.block)
        if step.action is Action.BACKWARD:
            held.discard(step.block)
        assert len(held) <= slots


@pytest.mark.parametrize("count", [10, 52])
def test_every_schedule_runs_every_block_backward_once(count: int) -> None:
    for schedule in schedules_without_sizes(count):
        simulate_schedule(schedule, equal(count))
        assert [step.block for step in schedule.steps if step.action is Action.BACKWARD] == list(
            reversed(range(count))
        )


def test_ordinary_training_recomputes_nothing() -> None:
    assert simulate_schedule(schedulers.keep_all(20), equal(20)).recompute_factor == 1
    assert schedulers.revolve(20, 20) == schedulers.keep_all(20)


def test_segments_run_all_but_the_last_twice() -> None:
    assert schedulers.segments(10, 3).forwards == 10 + 6


@pytest.mark.parametrize(
    "steps",
    [
        [ScheduleStep(Action.BACKWARD, 1)],
        [ScheduleStep(Action.KEEP, 1)],
        [
            ScheduleStep(Action.SKIP, 0),
            ScheduleStep(Action.KEEP, 1),
            ScheduleStep(Action.BACKWARD, 1),
            ScheduleStep(Action.BACKWARD, 0),
        ],
        [
            ScheduleStep(Action.SKIP, 0),
            ScheduleStep(Action.KEEP, 1),
            ScheduleStep(Action.BACKWARD, 1),
            ScheduleStep(Action.RESTORE, 1),
        ],
        [
            ScheduleStep(Action.KEEP, 0),
            ScheduleStep(Action.KEEP, 1),
            ScheduleStep(Action.BACKWARD, 1),
        ],
    ],
)
def test_an_impossible_schedule_is_refused(steps: list[ScheduleStep]) -> None:
    with pytest.raises(SuiteError):
        simulate_schedule(Schedule("broken", tuple(steps)), equal(2))


@pytest.mark.parametrize("seed", range(6))
def test_the_programme_keeps_the_budget_and_beats_all_others(seed: int) -> None:
    """One slot per byte: nothing is rounded, so the programme alone is never slower than any other
    schedule that fits."""
    blocks = unequal(8, seed)
    top = simulate_schedule(schedulers.keep_all(8), blocks).peak_bytes
    for budget in range(top // 3, top + 1, 13):
        found = dynamic_programme(blocks, budget, slots=budget)
        others = [
            cost.time
            for cost in (simulate_schedule(other, blocks) for other in schedules_without_sizes(8))
            if cost.peak_bytes <= budget
        ]
        if found is None:
            assert not others
            continue
        cost = simulate_schedule(found, blocks)
        assert cost.peak_bytes <= budget
        assert cost.time <= min(others, default=cost.time) + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_the_programme_finds_the_best_of_all_schedules_of_its_kind(seed: int) -> None:
    blocks = unequal(5, seed)
    every = [
        (simulate_schedule(each, blocks))
        for each in (Schedule("", tuple(steps)) for steps in _every(0, 4))
    ]
    for budget in sorted({cost.peak_bytes for cost in every}):
        found = dynamic_programme(blocks, budget, slots=budget)
        assert found is not None
        assert simulate_schedule(found, blocks).time == pytest.approx(
            min(cost.time for cost in every if cost.peak_bytes <= budget)
        )


def _every(first: int, last: int) -> list[list[ScheduleStep]]:
    """Every nested schedule of blocks first to last: keep the first, or checkpoint at any later
    block."""
    if first == last:
        return [[ScheduleStep(Action.KEEP, first), ScheduleStep(Action.BACKWARD, first)]]
    found = [
        [ScheduleStep(Action.KEEP, first), *inner, ScheduleStep(Action.BACKWARD, first)]
        for inner in _every(first + 1, last)
    ]
    for far in range(first + 1, last + 1):
        run = [
            ScheduleStep(Action.CHECKPOINT, first),
            *(ScheduleStep(Action.SKIP, block) for block in range(first + 1, far)),
        ]
        found += [
            [*run, *later, ScheduleStep(Action.RESTORE, first), *again]
            for later in _every(far, last)
            for again in _every(first, far - 1)
        ]
    return found


@pytest.mark.parametrize("name", some(RESNETS))
def test_the_planner_is_never_worse_on_the_resnets(name: str) -> None:
    blocks = network_chain(load_network(name), 224, 224, 8)
    others = [simulate_schedule(each, blocks) for each in schedules_without_sizes(len(blocks))]
    top, least = (
        simulate_schedule(schedulers.keep_all(len(blocks)), blocks).peak_bytes,
        least_bytes(blocks),
    )
    for part in range(20):
        budget = least + (top - least) * part // 19
        found = fastest_schedule(blocks, budget)
        assert found is not None
        assert found.cost.peak_bytes <= budget
        assert found.cost.time <= min(
            (cost.time for cost in others if cost.peak_bytes <= budget), default=found.cost.time
        )


@pytest.mark.parametrize("name", RESNETS)
def test_each_way_to_keep_a_block_leaves_out_more_than_the_one_before(name: str) -> None:
    for block in network_chain(load_network(name), 224, 224, 8):
        kept = [block.kept_bytes, *(option.kept_bytes for option in block.options)]
        assert kept == sorted(kept, reverse=True)
        assert [option.time for option in block.options] == sorted(
            option.time for option in block.options
        )


def test_a_bottleneck_without_its_normalised_outputs_keeps_what_its_convolutions_wrote() -> None:
    block = next(
        each
        for each in network_chain(load_network("resnet50"), 224, 224, 1)
        if each.name == "layer1.1"
    )
    narrow, wide = 64 * 56 * 56 * 4, 256 * 56 * 56 * 4
    assert block.kept_bytes == 4 * narrow + 2 * wide, (
        "two convolutions' outputs, twice normalised, the last one, and the block's own"
    )
    assert block.options[1].kept_bytes == 2 * narrow + 2 * wide


def test_a_schedule_that_leaves_out_what_cannot_be_computed_again_is_refused() -> None:
    blocks = equal(2)
    steps = (
        ScheduleStep(Action.KEEP, 0, (0,)),
        ScheduleStep(Action.KEEP, 1),
        ScheduleStep(Action.BACKWARD, 1),
        ScheduleStep(Action.BACKWARD, 0),
    )
    with pytest.raises(SuiteError, match="drops outputs of 0"):
        simulate_schedule(Schedule("made up", steps), blocks)
