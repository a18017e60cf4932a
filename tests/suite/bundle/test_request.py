"""The request of a bundle is hostile input: each value has its type and its limits."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reference_impls.contract import Request, request_to_dict
from suite.bundle.request import Unreadable, read_request
from tests.builders import Scenario, make_request

NAMES = "workload data.name start.checkpoint old_task.name recomputation.schedule"
COUNTS = (
    "epochs eval_every_epochs global_batch_size steps parallel.ranks data.train_samples"
    " data.eval_samples data.classes data.side old_task.train_samples old_task.eval_samples"
    " old_task.classes old_task.side recomputation.budget_bytes recomputation.planned_bytes"
)
NAME, PATTERNS = "n" * 200, ["p"] * 100
LIMITS: list[tuple[str, Any, Any]] = [
    *((name, NAME, NAME + "n") for name in NAMES.split()),
    *((name, 1, 0) for name in COUNTS.split()),
    ("division", "open", "opens"),
    ("seed", 0, -1),
    ("seed", 2**63 - 1, 2**63),
    ("accumulation", 2, 0),
    ("target_accuracy", None, "0.9"),
    ("drop_cache_every_epoch", True, 1),
    ("optimizer.base_learning_rate", -1, float("inf")),
    ("optimizer.momentum", 0.5, float("nan")),
    ("optimizer.weight_decay", 0, "0"),
    ("preprocessing.mean", [], 0.5),
    ("parallel.ranks", 4096, 4097),
    ("parallel.normalisation", "synchronised", "synchronized"),
    ("parallel.wire", "bfloat16", "bfloat"),
    ("parallel.shares", "speed", "fast"),
    ("precision", "fp16-mixed", "fp16"),
    ("timing", "asynchronous", "synchronised\n"),
    ("start.fresh", PATTERNS, [*PATTERNS, "p"]),
    ("trains.parameters", [NAME], [NAME + "n"]),
    ("trains.statistics", "frozen", "thawed"),
    ("recomputation.planned_spill_bytes", 0, -1),
    ("recomputation.factor_without_spill", None, "1"),
    ("recomputation.blocks", [[0, 1]], [[0]]),
    ("recomputation.actions", [["keep", 0, [1]], ["free", 2]], [["free", 0], ["free", "0"]]),
    ("recomputation.actions", [["keep", 0, [1, 2]]], [["keep", 0, []]]),
    ("recomputation.actions", [["keep", 0]], [["keep", 0, [1], [2]]]),
]


@pytest.fixture
def requested(tmp_path: Path) -> dict[str, Any]:
    """A request that has every part."""
    values = request_to_dict(make_request(tmp_path, Scenario()))
    values["start"] = {"checkpoint": "c", "path": "p", "fresh": []}
    values["trains"] = {"parameters": [], "statistics": "updated"}
    values["old_task"] = dict(values["data"])
    planned = ("budget_bytes", "planned_bytes", "planned_factor")
    values["recomputation"] = {**dict.fromkeys(planned, 1), "schedule": "s", "blocks": []}
    values["recomputation"]["actions"] = [["free", 0]]
    return values


def read(requested: dict[str, Any], name: str, value: Any) -> Request:
    part, _, key = name.rpartition(".")
    changed = (
        {**requested, part: {**requested[part], key: value}} if part else {**requested, key: value}
    )
    run: Any = SimpleNamespace(request=changed)
    return read_request(run, "run.json")


@pytest.mark.parametrize(("name", "last", "wrong"), LIMITS)
def test_a_value_within_its_limit_is_read_and_the_next_one_is_not(
    name: str, last: Any, wrong: Any, requested: dict[str, Any]
) -> None:
    read(requested, name, last)
    with pytest.raises(Unreadable, match=f"^run.json: {name}"):
        read(requested, name, wrong)
