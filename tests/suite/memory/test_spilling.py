"""Activations on storage: the fewest bytes that a budget asks for, the file that takes them, and a
disk that fills."""

import json
import subprocess
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.execution.preflight import refuse_spill_folder
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.memory.chain import network_chain, updated_at_once
from suite.memory.network import load_network
from suite.memory.optimal import least_bytes
from suite.memory.schedule import (
    Action,
    Cost,
    Schedule,
    ScheduleStep,
    simulate_schedule,
    spill_bytes,
)
from suite.memory.schedulers import keep_all
from suite.memory.spilling import spilled_schedule
from tests.conftest import environment_of
from tests.suite.memory.test_recompute import as_steps
from tests.suite.memory.test_run_budget import planned, training
from tests.suite.memory.test_schedules import RESNETS, unequal

COUNT = 7


def moving(blocks: tuple[int, ...]) -> Schedule:
    """Ordinary training of COUNT blocks, these on storage between their passes."""
    forward = [
        [ScheduleStep(Action.KEEP, block), ScheduleStep(Action.SPILL, block)][
            : 1 + (block in blocks)
        ]
        for block in range(COUNT)
    ]
    backward = [
        [ScheduleStep(Action.FETCH, block), ScheduleStep(Action.BACKWARD, block)][
            block not in blocks :
        ]
        for block in reversed(range(COUNT))
    ]
    return Schedule("made up", tuple(step for steps in (*forward, *backward) for step in steps))


def every_choice() -> Iterator[tuple[int, ...]]:
    for size in range(COUNT):
        yield from combinations(range(COUNT - 1), size)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_choice_of_blocks_writes_fewer_bytes(seed: int) -> None:
    blocks = unequal(COUNT, seed)
    every: list[Cost] = [simulate_schedule(moving(choice), blocks) for choice in every_choice()]
    for budget in sorted({cost.peak_bytes for cost in every}):
        found = spilled_schedule(blocks, budget)
        assert found is not None
        assert found.cost.peak_bytes <= budget
        assert found.cost.spilled_bytes == min(
            cost.spilled_bytes for cost in every if cost.peak_bytes <= budget
        )
    assert spilled_schedule(blocks, min(cost.peak_bytes for cost in every) - 1) is None


@pytest.mark.parametrize("name", RESNETS)
def test_the_resnets_fit_at_twenty_budgets_and_recompute_nothing(name: str) -> None:
    blocks = updated_at_once(network_chain(load_network(name), 224, 224, 8))
    top, least = (
        simulate_schedule(keep_all(len(blocks)), blocks).peak_bytes,
        least_bytes(blocks, spilled_schedule),
    )
    written = []
    for part in range(20):
        budget = least + (top - least) * part // 19
        found = spilled_schedule(blocks, budget)
        assert (
            found is not None
            and found.cost.peak_bytes <= budget
            and found.cost.recompute_factor == 1
        )
        written.append(found.cost.spilled_bytes)
    assert written == sorted(written, reverse=True), "more memory, fewer bytes"
    assert (
        written[-1]
        == 0
        < written[0]
        < sum(spill_bytes(blocks, number) for number in range(len(blocks)))
    )


@pytest.mark.parametrize(
    "broken",
    [
        [ScheduleStep(Action.SPILL, 0)],
        [ScheduleStep(Action.KEEP, 0), ScheduleStep(Action.KEEP, 1), ScheduleStep(Action.SPILL, 0)],
        [
            ScheduleStep(Action.KEEP, 0),
            ScheduleStep(Action.SPILL, 0),
            ScheduleStep(Action.SPILL, 0),
        ],
        [ScheduleStep(Action.KEEP, 0), ScheduleStep(Action.KEEP, 1), ScheduleStep(Action.SPILL, 1)],
        [
            ScheduleStep(Action.KEEP, 0),
            ScheduleStep(Action.SPILL, 0),
            ScheduleStep(Action.KEEP, 1),
            ScheduleStep(Action.FETCH, 0),
        ],
        [
            ScheduleStep(Action.KEEP, 0),
            ScheduleStep(Action.SPILL, 0),
            ScheduleStep(Action.KEEP, 1),
            ScheduleStep(Action.BACKWARD, 1),
            ScheduleStep(Action.BACKWARD, 0),
        ],
    ],
    ids=[
        "not kept",
        "not the last",
        "twice",
        "the network's end",
        "before its turn",
        "backward on storage",
    ],
)
def test_impossible_steps_are_refused(broken: list[ScheduleStep]) -> None:
    with pytest.raises(SuiteError, match="without the data that this step reads"):
        simulate_schedule(Schedule("broken", tuple(broken)), unequal(2, 1))


def test_a_run_names_the_folder_the_bytes_and_what_recomputing_would_cost(tmp_path: Path) -> None:
    request = training(tmp_path, "resnet18", "resnet18", 128)
    found = planned(request, "800MB", spill=tmp_path)
    assert (
        found.planned_factor == 1
        and found.planned_spill_bytes > 0
        and found.spill_folder == str(tmp_path)
    )
    assert found.factor_without_spill == planned(request, "800MB").planned_factor > 1
    assert planned(request, "4GB", spill=tmp_path).spill_folder is None, (
        "nothing is written where all fits"
    )


def test_the_budget_that_is_named_works(tmp_path: Path) -> None:
    request = training(tmp_path, "resnet18", "resnet18", 128)
    budget = "100MB"
    # what is always there does not fit; then the activations of one block do not
    for _ in range(2):
        with pytest.raises(SuiteError, match=r"--memory-budget [\d.]+[MG]B") as refusal:
            planned(request, budget, spill=tmp_path)
        budget = str(refusal.value).split("--memory-budget ")[1].split()[0].rstrip(".")
    assert planned(request, budget, spill=tmp_path).planned_spill_bytes > 0


def test_folders_that_activations_cannot_be_kept_in_are_refused(tmp_path: Path) -> None:
    found = planned(training(tmp_path, "resnet18", "resnet18", 128), "800MB", spill=tmp_path)
    refuse_spill_folder(found)
    nowhere, too_much = (
        found._replace(spill_folder=str(tmp_path / "none")),
        found._replace(planned_spill_bytes=2**62),
    )
    for plan, sentence in (
        (nowhere, "no folder"),
        (found._replace(spill_folder="/dev/shm"), "is in memory"),
        (too_much, "MB free, and a step writes"),
    ):
        with pytest.raises(
            SuiteError, match=f"{sentence}.*leave --spill out, which recomputes at a factor of 1"
        ):
            refuse_spill_folder(plan)
    with pytest.raises(SuiteError, match="larger --memory-budget"):
        refuse_spill_folder(nowhere._replace(factor_without_spill=None))


FULL_DISK = """
import json, resource, sys, torch
from reference_impls.contract import Recomputation
from reference_impls.pytorch.recompute import ScheduledStep, blocks
from reference_impls.pytorch.spill import SpillFile
from reference_impls.pytorch.trace import build
folder, ranges, schedule = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
plan = Recomputation(1, 1, 1.0, "", [], [], folder, 5_000_000, 1.25)
step = ScheduledStep(blocks(build("torchvision:resnet18"), ranges), schedule, SpillFile(plan))
step(torch.randn(4, 3, 64, 64), lambda output: output.sum())
"""


@pytest.mark.proof
@pytest.mark.pytorch
def test_a_disk_that_fills_says_what_else_works_and_leaves_no_file(tmp_path: Path) -> None:
    """The kernel refuses to write further than a limit, as it does on a full disk."""
    blocks = updated_at_once(network_chain(load_network("resnet18"), 64, 64, 4))
    stored = spilled_schedule(
        blocks, simulate_schedule(keep_all(len(blocks)), blocks).peak_bytes * 7 // 10
    )
    assert stored is not None and stored.cost.spilled_bytes > 1_000_000
    asked = json.dumps(
        [str(tmp_path), [[block.first, block.last] for block in blocks], as_steps(stored.schedule)]
    )
    command = [str(environment_of("pytorch").interpreter), "-c", FULL_DISK, asked]
    done = subprocess.run(
        command, cwd=repository_root(), env=child_environment(1), capture_output=True, text=True
    )
    last = done.stderr.splitlines()[-1]
    assert "is full: a step writes 5 MB of activations there; free that much" in last
    assert last.endswith("or leave --spill out, which recomputes at a factor of 1.25.")
    assert list(tmp_path.iterdir()) == []
