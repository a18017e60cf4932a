"""Precisions of products and convolutions: a column of the leaderboards, within which entries are
compared (reference_impls.arithmetic)."""

import enum

from reference_impls import contract


class Precision(str, enum.Enum):
    """float32 is the strict one, with TF32 off; in the others products are rounded to fewer bits,
    and weights and their update stay float32."""

    FLOAT32 = contract.FLOAT32
    TF32 = contract.TF32
    BF16_MIXED = contract.BF16_MIXED
    FP16_MIXED = contract.FP16_MIXED
