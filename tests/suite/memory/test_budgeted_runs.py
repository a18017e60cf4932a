"""Real runs in a memory budget: the command trains by the schedule, and what it trains is what the
workload trains."""

from pathlib import Path

import pytest

from suite.bundle.reader import Bundle
from suite.memory.run_budget import LEFT_FREE
from suite.metrics.memory_figures import planned_recomputation
from tests.conftest import Run, environment_of


def train(suite: Run, digits: Path, output: Path, more: str = "") -> Bundle:
    suite.done(
        "run --division open --device auto --workload lenet --framework pytorch --threads 1"
        f" --data digits={digits} --epochs 2 --baseload 0 --output {output} {more}",
        SUITE_HOME=str(environment_of("pytorch").interpreter.parents[3]),
    )
    suite.done(f"check {output}")
    return Bundle(output)


@pytest.mark.proof
@pytest.mark.pytorch
def test_a_run_in_a_budget_complies_and_has_the_same_losses(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    free, kept = (
        train(suite, digits, tmp_path / "free"),
        train(suite, digits, tmp_path / "kept", "--memory-budget 450MB"),
    )
    counts = kept.log().value("recomputation")
    assert list(kept.steps_frame()["loss"]) == list(free.steps_frame()["loss"])
    assert counts["backwards"] == len(kept.steps_frame()) * counts["blocks"]


@pytest.mark.proof
@pytest.mark.pytorch
def test_a_run_with_activations_on_storage_complies_and_has_the_same_losses(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    """The budget is what the plan leaves of a roomy one, less half of what LeNet-5 can spare."""
    free = train(suite, digits, tmp_path / "free")
    roomy = train(suite, digits, tmp_path / "roomy", "--memory-budget 4GB")
    spill = tmp_path / "spill"
    spill.mkdir()
    plan = planned_recomputation(roomy)
    assert plan is not None
    tight = round((plan.planned_bytes - 14_000) / (1 - LEFT_FREE))
    more = f"--memory-budget {tight}B --spill {spill}"
    kept = train(suite, digits, tmp_path / "kept", more)
    counts, plan = kept.log().value("recomputation"), planned_recomputation(kept)
    assert list(kept.steps_frame()["loss"]) == list(free.steps_frame()["loss"])
    assert (
        plan is not None
        and str(plan.spill_folder).endswith(f"/{spill.name}")
        and counts["spilled_bytes"] > plan.planned_spill_bytes > 0
    )
    assert 0 < counts["storage_s"] < counts["passes_s"]
    assert list(spill.iterdir()) == []
