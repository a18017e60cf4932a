"""Faults that the rules of suite.compliance.rules.requested find, by check."""

from collections.abc import Iterator
from typing import Any

from tests.faults.edits.fault import Fault, both, in_turn, recomputed, sealed
from tests.faults.edits.file_edits import update_system
from tests.faults.edits.log_edits import (
    LOGGED,
    SYNCHRONISED_RESNET,
    remove_event,
    set_event,
    set_everywhere,
    set_request,
)
from tests.faults.edits.rank_log_edits import add_to_all_logs, remove_of_rank, set_of_rank


def _request_faults() -> Iterator[Fault]:
    for key, value in (
        ("seed", 77),
        ("global_batch_size", 64),
        ("opt_base_learning_rate", 0.01),
        ("train_samples", 30_000),
        ("parameters", 500),
    ):
        yield recomputed(f"rank 1's {key} = {value}", set_of_rank(1, key, value), ranks=2)
    yield recomputed(
        "rank 1's framework_version = '9'", set_of_rank(1, "framework_version", "9"), ranks=2
    )
    yield recomputed("rank 1's model not logged", remove_of_rank(1, "model"), ranks=2)


OTHER_VALUES: dict[str, Any] = {
    "workload": "resnet18",
    "division": "open",
    "organization": "globex",
    "platform": "orin",
    "framework": "tensorflow",
    "model": "lenet4",
    "data.name": "digits",
    "seed": 77,
    "global_batch_size": 64,
    "optimizer.name": "adam",
    "optimizer.base_learning_rate": 0.01,
    "optimizer.momentum": 0.5,
    "optimizer.weight_decay": 0.1,
    "optimizer.schedule": "constant",
    "initial_weights": "zeros",
    "parallel.collective": "native",
    "epochs": 5,
    "target_accuracy": 0.5,
    "data.train_samples": 50_000,
    "data.eval_samples": 5_000,
    "cache_cleared": True,
}
"""Another value for everything that the log repeats of the request."""


CHOOSES_RULES = ("division", "workload")
"""Changed in the request alone, these change which rules apply."""


def _logged_value_faults() -> Iterator[Fault]:
    """Every value that log and request share, changed in one of them, or not logged."""
    for name, value in OTHER_VALUES.items():
        if name not in CHOOSES_RULES:
            yield sealed(f"{name} in the request only", set_request(name, value))
        yield sealed(f"{LOGGED[name]} in the log only", set_event(LOGGED[name], value=value))
        yield sealed(f"{LOGGED[name]} not in the log", remove_event(LOGGED[name]))


FAULTS: dict[str, tuple[Fault, ...]] = {
    "log-agrees-with-request": tuple(_logged_value_faults()),
    "ranks-request": tuple(_request_faults()),
    "learning-rates": (
        *both(
            "twice the learning rates of epoch 1",
            set_event("learning_rates", value=[0.08, 0.072, 0.076]),
        ),
        recomputed("no learning rates of epoch 2", set_event("learning_rates", 1, value=[])),
        recomputed(
            "half of rank 1's learning rates",
            set_of_rank(1, "learning_rates", [0.02, 0.018, 0.019]),
            ranks=2,
        ),
        recomputed(
            "another base learning rate requested",
            set_everywhere("optimizer.base_learning_rate", 0.03),
        ),
    ),
    "normalisation-span": (
        recomputed("no span of ranks that synchronise", SYNCHRONISED_RESNET, ranks=2),
        recomputed(
            "the share's span of ranks that synchronise",
            in_turn(SYNCHRONISED_RESNET, add_to_all_logs("model_bn_span", [64, 64])),
            ranks=2,
        ),
        recomputed(
            "another span of rank 1",
            in_turn(SYNCHRONISED_RESNET, add_to_all_logs("model_bn_span", [128, 64])),
            ranks=2,
        ),
        recomputed(
            "a span of 100 samples",
            in_turn(SYNCHRONISED_RESNET, add_to_all_logs("model_bn_span", [100, 100])),
            ranks=2,
        ),
        recomputed(
            "the whole span of ranks that do not synchronise",
            add_to_all_logs("model_bn_span", [128, 128]),
            ranks=2,
        ),
        recomputed("a span of words", add_to_all_logs("model_bn_span", ["64", "64"]), ranks=2),
    ),
    "processor-agrees": (
        *both("one thread in the request only", set_request("threads", 1)),
        *both("16 threads in the log only", set_event("framework_threads", value=16)),
        *both("a GPU in the request only", set_request("accelerator", "cuda")),
        *both("the accelerator not logged", remove_event("accelerator")),
        *both(
            "a GPU on a Raspberry Pi 5",
            in_turn(
                set_everywhere("accelerator", "cuda"), set_everywhere("platform", "raspberry-pi-5")
            ),
        ),
    ),
    "accelerator-build": both(
        "a GPU, with PyTorch for processors",
        in_turn(
            set_everywhere("accelerator", "cuda"),
            update_system({"libraries": {"numpy": "2.0", "torch": "2.13.0+cpu"}}),
        ),
    ),
}
