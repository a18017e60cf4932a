"""Arithmetic is observed by its effect: the bits that products and convolutions keep tell the
precisions apart, whatever a framework says."""

from collections.abc import Callable

import numpy as np
import pytest

from reference_impls.arithmetic import Observed, observe, refuse_other, refuse_unsupported
from reference_impls.contract import (
    BF16_MIXED,
    FLOAT32,
    FP16_MIXED,
    PRECISIONS,
    TF32,
    ContractError,
    Request,
    request_from_dict,
    request_to_dict,
)
from reference_impls.precisions import is_as_requested
from suite.catalog.frameworks import load_frameworks
from tests.builders import Scenario, make_request

Numbers = np.ndarray
Rounding = Callable[[Numbers], Numbers]


def exact(numbers: Numbers) -> Numbers:
    return numbers


def to_bits(bits: int) -> Rounding:
    """To the nearest number with ``bits`` bits behind the leading one."""

    def rounded(numbers: Numbers) -> Numbers:
        mantissa, exponent = np.frexp(numbers.astype(np.float64))
        return np.ldexp(np.round(mantissa * 2.0 ** (bits + 1)) / 2.0 ** (bits + 1), exponent)

    return rounded


def cut(bits: int) -> Rounding:
    """As a tensor core may do it: what is left of the number without its last bits."""

    def truncated(numbers: Numbers) -> Numbers:
        mantissa, exponent = np.frexp(numbers.astype(np.float64))
        return np.ldexp(np.trunc(mantissa * 2.0 ** (bits + 1)) / 2.0 ** (bits + 1), exponent)

    return truncated


def to_float16(numbers: Numbers) -> Numbers:
    with np.errstate(over="ignore"):
        return numbers.astype(np.float16)


def product(rounding: Rounding) -> Callable[[Numbers, Numbers], Numbers]:
    def multiplied(one: Numbers, other: Numbers) -> Numbers:
        with np.errstate(invalid="ignore"):  # infinity times 0, where a number overflows
            return rounding(rounding(one).astype(np.float64) @ rounding(other).astype(np.float64))

    return multiplied


def convolution(rounding: Rounding, noise: float = 0.0) -> Callable[[Numbers, Numbers], Numbers]:
    """Of kernels of which only the middle is not zero; ``noise`` is a relative error, alternating
    in sign."""

    def convolved(images: Numbers, kernels: Numbers) -> Numbers:
        found = np.einsum(
            "nchw,oc->nohw",
            rounding(images).astype(np.float64),
            rounding(kernels[:, :, 1, 1]).astype(np.float64),
        )
        signs = np.where(np.arange(found.shape[-1]) % 2, 1, -1)
        return rounding(found * (1 + noise * signs))

    return convolved


@pytest.mark.parametrize(
    ("rounding", "bits", "overflows", "precision"),
    [
        (exact, 23, False, FLOAT32),
        (to_bits(10), 10, False, TF32),
        (cut(10), 10, False, TF32),
        (to_bits(7), 7, False, BF16_MIXED),
        (to_float16, 10, True, FP16_MIXED),
    ],
    ids=["float32", "tf32 rounded", "tf32 cut", "bfloat16", "float16"],
)
def test_every_arithmetic_is_told_by_its_bits(
    rounding: Rounding, bits: int, overflows: bool, precision: str
) -> None:
    found = observe(product(rounding), convolution(rounding))
    assert found == Observed(bits, bits, overflows)
    assert [name for name in PRECISIONS if is_as_requested(name, *found)] == [precision]


def test_fewer_bits_in_convolutions_alone_are_seen() -> None:
    found = observe(product(exact), convolution(to_bits(10)))
    assert found == Observed(23, 10, False)
    assert not is_as_requested(FLOAT32, *found) and is_as_requested(TF32, *found)


def test_rounding_inside_a_fast_convolution_is_still_float32() -> None:
    """Winograd's algorithm is off by a millionth of a number."""
    found = observe(product(exact), convolution(exact, noise=1e-6))
    assert 16 <= found.convolution_bits < 23 and is_as_requested(FLOAT32, *found)


def request(precision: str) -> Request:
    return make_request(None, Scenario())._replace(precision=precision)  # type: ignore[arg-type]


def test_a_device_with_fewer_bits_than_requested_is_refused_with_the_remedy() -> None:
    with pytest.raises(
        ContractError,
        match=(
            r"float32 was requested, and pytorch computes products with 10 bits .* switch reduced"
            r" precision off"
        ),
    ):
        refuse_other(request(FLOAT32), Observed(10, 10, False))


def test_a_device_that_lacks_the_precision_is_refused_with_the_remedy() -> None:
    with pytest.raises(
        ContractError,
        match=(
            r"tf32 was requested, and pytorch computes products with 23 bits .* request the"
            r" precision that it has"
        ),
    ):
        refuse_other(request(TF32), Observed(23, 23, False))
    with pytest.raises(ContractError, match="overflows as float16 does"):
        refuse_other(request(TF32), Observed(10, 10, True))


def test_an_implementation_refuses_what_it_does_not_compute_in() -> None:
    with pytest.raises(
        ContractError, match=r"pytorch computes in float32, tf32 and not in 'bf16-mixed'"
    ):
        refuse_unsupported(request(BF16_MIXED), (FLOAT32, TF32))


def test_a_request_of_float32_is_written_as_before_there_were_others() -> None:
    assert "precision" not in request_to_dict(request(FLOAT32))
    assert request_from_dict(request_to_dict(request(FLOAT32))).precision == FLOAT32
    assert request_from_dict(request_to_dict(request(TF32))).precision == TF32


def test_every_framework_computes_in_float32_unless_it_is_a_variant() -> None:
    assert {
        one.name: one.precisions[0].value
        for one in load_frameworks()
        if one.precisions[0].value != FLOAT32
    } == {"pytorch_bf16": BF16_MIXED}
