"""Faults that the rules of suite.compliance.rules.requests find, by check."""

from typing import Any

from reference_impls.contract import SPEED, SYNCHRONISED
from tests.faults.edits.fault import Fault, both, in_turn
from tests.faults.edits.log_edits import (
    SYNCHRONISED_RESNET,
    request_also,
    set_everywhere,
    set_request,
)

REFUSED: dict[str, dict[str, Any]] = {
    "closed-hyperparameters": {
        "optimizer.momentum": 0.8,
        "optimizer.weight_decay": 0.01,
        "optimizer.schedule": "constant",
        "optimizer.name": "adam",
        "initial_weights": "zeros",
        "preprocessing.mean": [0.0],
        "preprocessing.std": [1.0],
        "preprocessing.augmentation": "crop_flip",
    },
    "closed-length": {"epochs": 20, "target_accuracy": 0.9, "eval_every_epochs": 2},
    "closed-tuning-range": {"global_batch_size": 256, "optimizer.base_learning_rate": 1.0},
    "closed-data": {"data.name": "digits", "data.synthetic": True, "data.verified": False},
    "closed-model": {"model": "lenet4"},
    "closed-arithmetic": {"framework": "pytorch_bf16"},
    "closed-collective": {"parallel.collective": "mpi"},
    "closed-wire": {"parallel.wire": "float16"},
    "data-read": {"batches": "synthetic", "drop_cache_every_epoch": True},
}
"""Values that are not allowed, by the rule that refuses them."""


def _refused(rule: str) -> tuple[Fault, ...]:
    """Each of the rule's refused values, in request and log alike."""
    return tuple(
        fault
        for name, value in REFUSED[rule].items()
        for fault in both(f"{name} = {value!r} everywhere", set_everywhere(name, value))
    )


FAULTS: dict[str, tuple[Fault, ...]] = {
    "data-read": _refused("data-read"),
    "closed-data": _refused("closed-data"),
    "closed-model": _refused("closed-model"),
    "closed-length": _refused("closed-length"),
    "closed-hyperparameters": (
        *_refused("closed-hyperparameters"),
        *both("smaller pictures", request_also("data.side", 20)),
    ),
    "closed-tuning-range": _refused("closed-tuning-range"),
    "closed-characterisation": both(
        "another batch size without a target",
        in_turn(set_everywhere("workload", "mobilenetv3"), set_everywhere("global_batch_size", 32)),
    ),
    "closed-arithmetic": _refused("closed-arithmetic"),
    "closed-collective": (
        *_refused("closed-collective"),
        *both("gradients that nobody sums", set_everywhere("parallel.collective", "none"), ranks=2),
        *both(
            "gradients summed by another library",
            set_everywhere("parallel.collective", "gloo"),
            ranks=2,
        ),
    ),
    "closed-wire": (
        *_refused("closed-wire"),
        *both("gradients sent as bfloat16", set_everywhere("parallel.wire", "bfloat16"), ranks=2),
    ),
    "closed-shares": both(
        "shares by the ranks' speeds", request_also("parallel.shares", SPEED), ranks=2
    ),
    "closed-accumulation": both("two mini-batches an update", request_also("accumulation", 2)),
    "normalisation-synchronisable": (
        *both(
            "LeNet-5, which has no batch normalisation, synchronised",
            set_everywhere("parallel.normalisation", SYNCHRONISED),
            ranks=2,
        ),
        *both(
            "one rank that synchronises",
            SYNCHRONISED_RESNET,
        ),
        *both(
            "native sums, synchronised",
            in_turn(SYNCHRONISED_RESNET, set_everywhere("parallel.collective", "native")),
            ranks=2,
        ),
    ),
    "closed-samples-per-rank": (
        *both(
            "ResNet-18 with 15 samples a rank",
            in_turn(set_request("workload", "resnet18"), set_everywhere("global_batch_size", 31)),
            ranks=2,
        ),
    ),
}
