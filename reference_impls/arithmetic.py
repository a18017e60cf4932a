"""Arithmetic: how many bits of a number survive a framework's products and convolutions.

A framework's settings are only its word; what they do is observed: a number 1 + 2^-k comes out of a
product with 1 as it went in, or as 1 where the arithmetic has fewer than k bits. Python 3.6
grammar; NumPy.
"""

from typing import Any, Callable, Dict, NamedTuple

import numpy as np

from reference_impls.contract import FLOAT32, ContractError, Request
from reference_impls.precisions import MOST_BITS, is_as_requested

SIZE, SIDE = 64, 8
LARGE = 2.0**20
"""More than float16 can hold."""


class Observed(NamedTuple):
    """Bits that survive, and whether LARGE overflows in a product."""

    product_bits: int
    convolution_bits: int
    overflows: bool


def observe(multiply: Callable[[Any, Any], Any], convolve: Callable[[Any, Any], Any]) -> Observed:
    """Observe two functions of NumPy's float32 arrays that compute with a framework on its device.

    ``multiply`` is of two matrices (SIZE, SIZE). ``convolve`` is of images (samples, channels,
    height, width) with kernels (out, in, 3, 3), padded by one.
    """
    powers = np.arange(SIZE) % MOST_BITS + 1
    numbers = (1 + 2.0**-powers).astype(np.float32)
    identity = np.eye(SIZE, dtype=np.float32)
    product = np.diagonal(_array(multiply(np.diag(numbers), identity)))
    images, kernels = (
        np.zeros((1, SIZE, SIDE, SIDE), np.float32),
        np.zeros((SIZE, SIZE, 3, 3), np.float32),
    )
    images[...] = numbers[:, np.newaxis, np.newaxis]
    kernels[:, :, 1, 1] = identity
    pictures = _array(convolve(images, kernels))[0].reshape(SIZE, -1)
    overflows = not np.isfinite(_array(multiply(identity * np.float32(LARGE), identity))).all()
    return Observed(_bits(product[:, np.newaxis], powers), _bits(pictures, powers), overflows)


def _bits(found: Any, powers: Any) -> int:
    """The largest k up to which every 1 + 2^-k came out nearer to itself than to 1, by at least
    half of 2^-k."""
    is_kept = (
        np.abs(found - (1 + 2.0 ** -powers[:, np.newaxis])) < 2.0 ** -(powers[:, np.newaxis] + 1.0)
    ).all(axis=1)
    lost = [int(power) for power, kept in zip(powers, is_kept) if not kept]
    return min(lost) - 1 if lost else MOST_BITS


def _array(value: Any) -> Any:
    return np.asarray(value).astype(np.float64)


def log_value(observed: Observed, settings: Dict[str, Any]) -> Dict[str, Any]:
    """The value of the event ``arithmetic``."""
    return dict(observed._asdict(), settings=settings)


def refuse_unsupported(request: Request, supported: Any) -> None:
    """Raise ContractError for a precision that an implementation does not compute in."""
    if request.precision not in supported:
        known = ", ".join(supported)
        raise ContractError(
            "{} computes in {} and not in {!r}; use another --precision.".format(
                request.framework, known, request.precision
            )
        )


def refuse_other(request: Request, observed: Observed) -> None:
    """Raise ContractError where the device computes in another precision than was requested."""
    if is_as_requested(request.precision, *observed):
        return
    remedy = "request the precision that it has"
    if request.precision == FLOAT32:
        remedy = (
            "switch reduced precision off (NVIDIA_TF32_OVERRIDE=0,"
            " ONEDNN_DEFAULT_FPMATH_MODE=STRICT)"
        )
    raise ContractError(
        "{} was requested, and {} computes products with {} bits and convolutions with"
        " {}{}; {}.".format(
            request.precision,
            request.framework,
            observed.product_bits,
            observed.convolution_bits,
            ", and overflows as float16 does" if observed.overflows else "",
            remedy,
        )
    )
