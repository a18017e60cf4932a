"""Chainer's device of an accelerator."""

from typing import Any

import chainer

from reference_impls.contract import ContractError


def device_of(accelerator: str) -> Any:
    """NumPy's arrays on a CPU, CuPy's on the first GPU; raises ContractError with the reason where
    CuPy or its libraries are missing."""
    if accelerator != "cuda":
        return chainer.get_device("@numpy")
    if chainer.backends.cuda.available:
        return chainer.get_device("@cupy:0")
    remedy = (
        "install NVIDIA's CUDA toolkit and type `suite env create chainer --force`, or use"
        " `--accelerator cpu`"
    )
    raise ContractError(
        "a CUDA device was requested and Chainer finds none ({}); {}.".format(_reason(), remedy)
    )


def _reason() -> str:
    """What Chainer says behind its hint on its installation."""
    try:
        chainer.backends.cuda.check_cuda_available()
    except RuntimeError as error:
        return str(error).partition(").")[2] or str(error)
    return "its reason is unknown"
