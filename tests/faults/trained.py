"""Faults that the rules of suite.compliance.rules.trained find, by check."""

from collections.abc import Iterator
from typing import Any

from reference_impls.contract import BF16_MIXED, TF32
from reference_impls.structure import STRUCTURES
from suite.catalog.divisions import Division
from suite.compliance.rules.trained import (
    ARITHMETIC,
    BY_FIRST_RANK,
    DECLARED,
    EVERY_EPOCH,
    MAX_LENGTH,
    OF_RANKS,
    OF_RANKS_EVERY_EPOCH,
    ONCE,
)
from suite.compliance.wording import value_text
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Edit, Fault, both, edit, in_turn, recomputed, sealed
from tests.faults.edits.log_edits import remove_event, request_also, set_event, set_everywhere
from tests.faults.edits.rank_log_edits import remove_of_all, remove_of_rank, set_of_rank


@edit
def _lose_parameters(bundle: EditableBundle, value: object) -> None:
    bundle.event("parameters")["value"] = value


_TO_OPEN = set_everywhere("division", Division.OPEN.value)


def _open_faults() -> Iterator[Fault]:
    for key in DECLARED:
        yield from both(f"an open run without {key}", in_turn(_TO_OPEN, remove_event(key)))
        for value in ("", None, 5, " x", "x" * (MAX_LENGTH + 1), "a\nb"):
            yield from both(
                f"an open run with {key} = {value_text(value)[:40]}",
                in_turn(_TO_OPEN, set_event(key, value=value)),
            )
    for value in (None, 0, "many"):
        yield from both(
            f"an open run with {value!r} parameters", in_turn(_TO_OPEN, _lose_parameters(value))
        )


def _value(product: object, convolution: object, overflows: object = False) -> dict[str, Any]:
    return {
        "product_bits": product,
        "convolution_bits": convolution,
        "overflows": overflows,
        "settings": {},
    }


def _claims(precision: str) -> Edit:
    return in_turn(request_also("precision", precision), set_event("precision", value=precision))


FAULTS: dict[str, tuple[Fault, ...]] = {
    "open-declares": tuple(_open_faults()),
    "own-loop-logged": (
        *(
            fault
            for key in (*ONCE, *BY_FIRST_RANK)
            for fault in both(f"no {key}", remove_event(key))
        ),
        *(
            fault
            for key in EVERY_EPOCH
            for fault in both(f"no {key} of epoch 2", remove_event(key, 1))
        ),
        recomputed("no learning rates of rank 1", remove_of_rank(1, "learning_rates"), ranks=2),
        recomputed(
            "rank 1's digests of epoch 2 left out of an open run",
            in_turn(_TO_OPEN, remove_of_rank(1, "state_digests", 1)),
            ranks=2,
        ),
        *(
            recomputed(f"no {key} of two ranks", remove_of_all(key), ranks=2)
            for key in (*OF_RANKS, *OF_RANKS_EVERY_EPOCH)
        ),
    ),
    "closed-trained": (
        *both(
            "a softmax regression in the closed division",
            set_event("model_trained", value="softmax_regression"),
        ),
        *both("Adam in the closed division", set_event("optimizer_used", value="adam")),
        *both("bfloat16 where float32 was requested", set_event("precision", value="bf16-mixed")),
    ),
    "parameter-count": (
        *(
            sealed(f"parameters {value!r}", set_event("parameters", value=value))
            for value in (61_705, 500, None, "61706")
        ),
        sealed("parameters not logged", remove_event("parameters")),
    ),
    "layers-as-built": (
        *both(
            "a dropout of 0.2",
            set_event(
                "model_layers",
                value={"layers": 5, "sha256": STRUCTURES["lenet5"], "dropout": 0.2},
            ),
        ),
        *both(
            "another model's layers",
            set_event(
                "model_layers",
                value={"layers": 9, "sha256": STRUCTURES["vgg11"], "dropout": 0.0},
            ),
        ),
        recomputed("layers without a digest", set_event("model_layers", value="LeNet-5")),
    ),
    "arithmetic-as-requested": (
        *both("TF32 in a run that requests float32", set_event(ARITHMETIC, value=_value(10, 10))),
        *both(
            "convolutions in bfloat16 in a run that requests float32",
            set_event(ARITHMETIC, value=_value(23, 7)),
        ),
        *both(
            "products that overflow as float16 does",
            set_event(ARITHMETIC, value=_value(23, 23, True)),
        ),
        *both(
            "float32 in a run that requests TF32",
            in_turn(_claims(TF32), set_event(ARITHMETIC, value=_value(23, 23))),
        ),
        *both(
            "float16 in a run that requests TF32",
            in_turn(_claims(TF32), set_event(ARITHMETIC, value=_value(10, 10, True))),
        ),
        *both(
            "TF32 in a run that requests bfloat16",
            in_turn(_claims(BF16_MIXED), set_event(ARITHMETIC, value=_value(10, 10))),
        ),
        *both("bits as text", set_event(ARITHMETIC, value=_value("23", 23))),
        *both(
            "bits of one kind only",
            set_event(ARITHMETIC, value={"product_bits": 23, "overflows": False}),
        ),
        *both(
            "a GPU's run without the event",
            in_turn(remove_event(ARITHMETIC), set_everywhere("accelerator", "cuda")),
        ),
        recomputed("TF32 on rank 1", set_of_rank(1, ARITHMETIC, _value(10, 10)), ranks=2),
    ),
}
