"""Faults that the rules of suite.compliance.rules.arithmetic find, by rule."""

from typing import Any

from reference_impls.contract import BF16_MIXED, TF32
from suite.compliance.rules.trained import ARITHMETIC
from tests.faults.edits.fault import Edit, Fault, both, in_turn, recomputed
from tests.faults.edits.log_edits import remove_event, request_also, set_event, set_everywhere
from tests.faults.edits.rank_log_edits import set_of_rank


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
