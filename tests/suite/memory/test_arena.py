"""The preload library for large arrays, and the network that is built without torchvision."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.files.json_file import read_json
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.memory.chain import Chain, network_chain, updated_at_once
from suite.memory.network import load_network, networks_folder
from suite.memory.optimal import PlannedSchedule, fastest_schedule
from suite.memory.schedule import Schedule, simulate_schedule
from suite.memory.schedulers import keep_all
from suite.memory.spilling import spilled_schedule
from tests.conftest import environment_of

pytestmark = pytest.mark.pytorch
ARENA = repository_root() / "reference_impls" / "pytorch" / "arena.c"

SAME = """
import json, sys, torch
from reference_impls.pytorch.from_table import network
from reference_impls.pytorch.trace import build, rows
table = json.load(sys.stdin)
own, torchvisions = network(table), build("torchvision:resnet50")
own.load_state_dict(torchvisions.state_dict())
images = torch.randn(2, 3, 64, 64)
print(json.dumps([torch.equal(own(images), torchvisions(images)), json.loads(json.dumps(rows(own))) == table]))
"""  # noqa: E501


@pytest.mark.proof
def test_a_network_built_from_its_table_is_torchvisions(tmp_path: Path) -> None:
    table = read_json(networks_folder() / "resnet50.json")["rows"]
    command = [str(environment_of("pytorch").interpreter), "-c", SAME]
    done = subprocess.run(
        command,
        cwd=repository_root(),
        env=child_environment(1),
        input=json.dumps(table),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, True]


@pytest.mark.proof
# so little that the first and largest block is spilled
@pytest.mark.parametrize(("solve", "part"), ((fastest_schedule, 0.6), (spilled_schedule, 0.55)))
def test_arrays_of_a_step_have_places_in_the_planned_memory_and_losses_are_the_same(
    solve: Callable[[Chain, int], PlannedSchedule | None], part: float, tmp_path: Path
) -> None:
    blocks = updated_at_once(network_chain(load_network("resnet18"), 160, 160, 8))
    found = solve(blocks, round(simulate_schedule(keep_all(len(blocks)), blocks).peak_bytes * part))
    assert found is not None
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path / "arena.so"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(ARENA), "-ldl", "-lpthread"],
        check=True,
    )
    with_arena, without = (
        steps(tmp_path, blocks, found.schedule, extra)
        for extra in ({"LD_PRELOAD": str(library)}, {})
    )
    assert [step["loss"] for step in with_arena] == [step["loss"] for step in without]
    assert with_arena[-1]["unplanned"] == 0
    assert (
        0 < with_arena[-1]["planned"] < 1.1 * (with_arena[-1]["live_peak"] - with_arena[-1]["live"])
    ), "hardly any gaps"
    assert with_arena[-1]["planned"] < 1.15 * found.cost.peak_bytes, (
        "what a block kept is freed when its backward pass has read it"
    )


def steps(
    tmp_path: Path, blocks: Chain, schedule: Schedule, extra: dict[str, str]
) -> list[dict[str, Any]]:
    """Five steps of ResNet-18."""
    rows = read_json(networks_folder() / "resnet18.json")["rows"]
    request = {
        "rows": rows,
        "image": [3, 160, 160],
        "batch": 8,
        "classes": 1000,
        "threads": 1,
        "seed": 1,
        "spill": str(tmp_path),
    }
    ranges = [[block.first, block.last] for block in blocks]
    path = tmp_path / "request.json"
    path.write_text(
        json.dumps(
            {**request, "blocks": ranges, "schedule": [step.as_list for step in schedule.steps]}
        ),
        encoding="utf-8",
    )
    command = [
        str(environment_of("pytorch").interpreter),
        "-m",
        "reference_impls.pytorch.memory_steps",
        str(path),
    ]
    variables = {**child_environment(1), **extra}
    done = subprocess.run(
        command,
        cwd=repository_root(),
        env=variables,
        input="\n" * 5,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()[1:]]
