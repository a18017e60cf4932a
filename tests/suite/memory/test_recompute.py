"""Schedules in PyTorch: gradients, weights and statistics as in ordinary training, bit for bit."""

import json
import subprocess
from pathlib import Path

import pytest

from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.memory import schedulers
from suite.memory.chain import Chain, network_chain, updated_at_once
from suite.memory.network import Network, load_network, parse_operations
from suite.memory.optimal import dynamic_programme
from suite.memory.schedule import Action, Schedule, ScheduleStep, simulate_schedule
from suite.memory.spilling import spilled_schedule
from tests.conftest import environment_of

pytestmark = pytest.mark.pytorch

SCRIPT = """
import json, sys, hashlib, torch
from reference_impls.pytorch.at_once import UpdateAtOnce
from reference_impls.contract import Recomputation
from reference_impls.pytorch.recompute import ScheduledStep, blocks
from reference_impls.pytorch.spill import SpillFile
from reference_impls.pytorch.trace import build
from reference_impls.pytorch.trace import rows
request = json.load(sys.stdin)
torch.set_num_threads(1)
spill = SpillFile(Recomputation(1, 1, 1.0, "", [], [], request.get("folder")))
answers = {}
def model_of(kind):
    torch.manual_seed(3)
    if kind != "dropout":
        return build(kind)
    conv, norm = torch.nn.Conv2d, torch.nn.BatchNorm2d
    relu, dropout = torch.nn.ReLU(inplace=True), torch.nn.Dropout(0.5)
    parts = [torch.nn.Sequential(conv(3 if i == 0 else 8, 8, 3, padding=1), norm(8), relu, dropout) for i in range(6)]
    return torch.nn.Sequential(*parts, torch.nn.Flatten(), torch.nn.Linear(8 * 16 * 16, 10)).train()
if request.get("trace"):
    print(json.dumps(rows(model_of("dropout")))); sys.exit()
for name, schedule in request["schedules"].items():
    model = model_of(request["model"])
    torch.manual_seed(5)
    images = torch.randn(4, *request["image"]); labels = torch.tensor([1, 2, 3, 4])
    loss_of = lambda output: torch.nn.functional.cross_entropy(output, labels)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    losses, gradients = [], {}
    at_once = UpdateAtOnce(optimizer) if name.endswith("at once") else None
    if at_once is not None:
        at_once.seen = lambda parameter, gradient: gradients.update({parameter: gradient.clone()})
    for _ in range(2):
        optimizer.zero_grad()
        if schedule is None:
            loss = loss_of(model(images)); loss.backward(); losses.append(loss.item())
        else:
            losses.append(ScheduledStep(blocks(model, request["blocks"]), schedule, spill)(images, loss_of))
        optimizer.step()
    digest = hashlib.sha256()
    for value in [*(gradients.get(p, p.grad) for p in model.parameters()), *model.parameters(), *model.buffers()]:
        digest.update(value.detach().contiguous().numpy().tobytes())
    counted = [int(b) for n, b in model.named_buffers() if n.endswith("num_batches_tracked")]
    answers[name] = [losses, digest.hexdigest(), sorted(set(counted))]
print(json.dumps(answers))
"""  # noqa: E501


def ask(request: object, tmp_path: Path) -> dict[str, list[object]]:
    interpreter = environment_of("pytorch").interpreter
    done = subprocess.run(
        [str(interpreter), "-c", SCRIPT],
        cwd=repository_root(),
        env=child_environment(1),
        input=json.dumps(request),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, list[object]] = json.loads(done.stdout)
    return answer


def as_steps(schedule: Schedule) -> list[list[object]]:
    return [step.as_list for step in schedule.steps]


def every_kind(blocks: Chain) -> dict[str, list[list[object]]]:
    count = len(blocks)
    ordinary = schedulers.keep_all(count)
    tight = simulate_schedule(ordinary, blocks).peak_bytes
    found = next(
        each
        for part in (70, 80, 90, 95, 99)
        if (each := dynamic_programme(blocks, tight * part // 100, 200)) is not None
    )
    kinds = [
        ordinary,
        schedulers.segments(count, 3),
        schedulers.revolve(count, 1),
        schedulers.revolve(count, 3),
        found,
    ]
    steps = {schedule.name: as_steps(schedule) for schedule in kinds}
    steps["optimal, updated at once"] = as_steps(found)
    at_once = updated_at_once(blocks)
    top = simulate_schedule(ordinary, at_once).peak_bytes
    stored = [spilled_schedule(at_once, top * part // 100) for part in (50, 60, 70, 80, 90)]
    assert stored[-1] is not None
    steps |= {
        f"{each.schedule.name}, updated at once": as_steps(each.schedule)
        for each in stored
        if each is not None
    }
    for number in range(max(len(block.options) for block in blocks)):
        steps[f"{number + 1} outputs left out of each block"] = as_steps(
            leaving_out(blocks, number)
        )
    return steps


def leaving_out(blocks: Chain, number: int) -> Schedule:
    """Ordinary training, but each block is kept by its option of this number, or by its last
    one."""
    ways = [
        block.options[min(number, len(block.options) - 1)].positions if block.options else ()
        for block in blocks
    ]
    kept = [ScheduleStep(Action.KEEP, block, way) for block, way in enumerate(ways)]
    return Schedule(
        "left out",
        (*kept, *(ScheduleStep(Action.BACKWARD, block) for block in reversed(range(len(blocks))))),
    )


@pytest.mark.proof
@pytest.mark.parametrize(
    ("name", "model", "side"),
    [
        ("resnet18", "torchvision:resnet18", 64),
        ("workload-mobilenetv3", "own:mobilenetv3_large:203", 64),
    ],
)
def test_training_under_every_schedule_is_ordinary_training(
    name: str, model: str, side: int, tmp_path: Path
) -> None:
    blocks = network_chain(load_network(name), side, side, 4)
    schedules = {"ordinary": None, **every_kind(blocks)}
    ranges = [[block.first, block.last] for block in blocks]
    answers = ask(
        {"model": model, "image": [3, side, side], "blocks": ranges, "schedules": schedules},
        tmp_path,
    )
    assert len(answers) == len(schedules)
    assert len({json.dumps(answer) for answer in answers.values()}) == 1, answers
    assert answers["ordinary"][2] == [2], "every mini-batch is counted once"


@pytest.mark.proof
def test_dropout_draws_the_same_masks_again(tmp_path: Path) -> None:
    network = Network(
        "dropout", "dropout", "", (3, 16, 16), parse_operations(ask({"trace": True}, tmp_path))
    )  # type: ignore[arg-type]
    blocks = network_chain(network, 16, 16, 4)
    ranges = [[block.first, block.last] for block in blocks]
    schedules = {"ordinary": None, **every_kind(blocks)}
    answers = ask(
        {"model": "dropout", "image": [3, 16, 16], "blocks": ranges, "schedules": schedules},
        tmp_path,
    )
    assert len({json.dumps(answer) for answer in answers.values()}) == 1, answers
