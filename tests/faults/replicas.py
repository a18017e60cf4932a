"""Faults that the rules of suite.compliance.rules.replicas find, by rule."""

from reference_impls.contract import SYNCHRONISED
from suite.bundle.node_records import NODES
from suite.compliance.rules.ranks import COMPARED
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.file_edits import change_file
from tests.faults.edits.log_edits import set_event, set_everywhere, set_request
from tests.faults.edits.rank_log_edits import (
    add_to_all_logs,
    remove_of_rank,
    set_boot_of_rank,
    set_in_all_logs,
    set_of_rank,
)


def _first_boot_described(bundle: EditableBundle) -> None:
    """Describe the second node's boot as the first one's."""
    change_file(
        NODES, lambda values: values["nodes"][1]["system"].update(boot=bundle.system["boot"])
    )(bundle)


_SYNCHRONISED_RESNET = in_turn(
    set_request("workload", "resnet18"), set_everywhere("parallel.normalisation", SYNCHRONISED)
)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "ranks-admitted": (
        *(
            recomputed(
                f"other {kind} on rank 1",
                set_of_rank(1, "admission", {**dict.fromkeys(COMPARED, "0" * 64), kind: "1" * 64}),
                ranks=2,
            )
            for kind in COMPARED
        ),
        recomputed("no admission of rank 1", remove_of_rank(1, "admission"), ranks=2),
        recomputed("no admission of rank 0", remove_of_rank(0, "admission"), ranks=2),
        recomputed("no digests admitted", set_in_all_logs("admission", None), ranks=2),
    ),
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
    "nodes-machines": (
        recomputed(
            "one boot id on both nodes",
            in_turn(set_boot_of_rank(1, 0), _first_boot_described),
            ranks=2,
        ),
        recomputed(
            "one clock on both nodes",
            set_in_all_logs("clock_offsets_ns", [[0, 0], [622, 15_870]]),
            ranks=2,
        ),
    ),
    "normalisation-span": (
        recomputed("no span of ranks that synchronise", _SYNCHRONISED_RESNET, ranks=2),
        recomputed(
            "the share's span of ranks that synchronise",
            in_turn(_SYNCHRONISED_RESNET, add_to_all_logs("model_bn_span", [64, 64])),
            ranks=2,
        ),
        recomputed(
            "another span of rank 1",
            in_turn(_SYNCHRONISED_RESNET, add_to_all_logs("model_bn_span", [128, 64])),
            ranks=2,
        ),
        recomputed(
            "a span of 100 samples",
            in_turn(_SYNCHRONISED_RESNET, add_to_all_logs("model_bn_span", [100, 100])),
            ranks=2,
        ),
        recomputed(
            "the whole span of ranks that do not synchronise",
            add_to_all_logs("model_bn_span", [128, 128]),
            ranks=2,
        ),
        recomputed("a span of words", add_to_all_logs("model_bn_span", ["64", "64"]), ranks=2),
    ),
    "normalisation-synchronisable": (
        *both(
            "LeNet-5, which has no batch normalisation, synchronised",
            set_everywhere("parallel.normalisation", SYNCHRONISED),
            ranks=2,
        ),
        *both(
            "one rank that synchronises",
            in_turn(
                set_request("workload", "resnet18"),
                set_everywhere("parallel.normalisation", SYNCHRONISED),
            ),
        ),
        *both(
            "native sums, synchronised",
            in_turn(_SYNCHRONISED_RESNET, set_everywhere("parallel.collective", "native")),
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
