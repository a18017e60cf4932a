"""Precisions: what each computes in, and how many bits of a number its products keep. Standard
library only, Python 3.6 grammar.

==========
======================================================================================================
float32     products and convolutions of float32 numbers, 23 bits each; TF32 is off tf32        the
same, their operands rounded to 10 bits: tensor cores of NVIDIA's GPUs from Ampere on bf16-mixed
products and convolutions in bfloat16, 7 bits; weights, batch normalisation, loss and update in
float32 fp16-mixed  the same in float16, 10 bits; the loss is multiplied by LOSS_SCALE, and the
gradients are divided by it ==========
======================================================================================================
"""

from typing import NamedTuple

from reference_impls.contract import BF16_MIXED, FLOAT32, FP16_MIXED, TF32

LOSS_SCALE = 1024.0
"""Constant, so that a training state has no further value, and no update is left out; a power of
two, so that dividing by it is exact."""

MOST_BITS = 23
"""Of a float32 number, behind the leading one."""


class Band(NamedTuple):
    """Bits of a product that belong to a precision: rounding inside fast algorithms of convolution
    takes some."""

    lowest: int
    highest: int


BANDS = {
    FLOAT32: Band(16, MOST_BITS),
    TF32: Band(8, 15),
    BF16_MIXED: Band(5, 7),
    FP16_MIXED: Band(8, 15),
}


def is_as_requested(
    precision: str, product_bits: int, convolution_bits: int, overflows: bool
) -> bool:
    """Whether what was observed (reference_impls.arithmetic) belongs to the precision. A library
    may compute some products with more bits, never with fewer."""
    band = BANDS[precision]
    return band.lowest <= min(product_bits, convolution_bits) <= band.highest and overflows is (
        precision == FP16_MIXED
    )
