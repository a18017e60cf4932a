"""PyTorch's switches of precision and determinism, set explicitly; and what they do, observed on
the device."""

from contextlib import contextmanager
from typing import Any, Dict, Iterator

import numpy as np
import torch

from reference_impls.arithmetic import Observed, observe
from reference_impls.contract import BF16_MIXED, FLOAT32, FP16_MIXED, TF32

SUPPORTED = (FLOAT32, TF32, BF16_MIXED, FP16_MIXED)
_MIXED = {BF16_MIXED: torch.bfloat16, FP16_MIXED: torch.float16}


def set_arithmetic(precision: str) -> Dict[str, Any]:
    """Set every switch, and return them as they then are: TF32 where it is requested only, and
    algorithms of cuDNN that repeat."""
    is_tf32 = precision == TF32
    backends = torch.backends
    backends.cudnn.benchmark, backends.cudnn.deterministic = False, True
    if hasattr(backends, "fp32_precision"):  # from PyTorch 2.9 on; the older switches warn there
        # in 2.11 the first one leaves cuDNN's convolutions in TF32
        for each in (backends, backends.cuda.matmul, backends.cudnn.conv):
            each.fp32_precision = "tf32" if is_tf32 else "ieee"
        found = {
            "fp32_precision.matmul": backends.cuda.matmul.fp32_precision,
            "fp32_precision.conv": backends.cudnn.conv.fp32_precision,
        }
        found.update({"fp32_precision.mkldnn": backends.mkldnn.matmul.fp32_precision})
    else:
        backends.cuda.matmul.allow_tf32 = backends.cudnn.allow_tf32 = is_tf32
        found = {
            "matmul.allow_tf32": backends.cuda.matmul.allow_tf32,
            "cudnn.allow_tf32": backends.cudnn.allow_tf32,
        }
    for name in (
        "allow_fp16_reduced_precision_reduction",
        "allow_bf16_reduced_precision_reduction",
    ):
        if _has(backends.cuda.matmul, name):
            setattr(backends.cuda.matmul, name, False)
            found["matmul." + name] = getattr(backends.cuda.matmul, name)
    return dict(
        found,
        **{
            "cudnn.benchmark": backends.cudnn.benchmark,
            "cudnn.deterministic": backends.cudnn.deterministic,
        },
    )


def _has(switches: Any, name: str) -> bool:
    """Whether this version of PyTorch has the switch; 1.10, JetPack 4's, asserts that it does."""
    try:
        return hasattr(switches, name)
    except AssertionError:
        return False


@contextmanager
def mixed(precision: str, device: torch.device) -> Iterator[None]:
    """Inside, products and convolutions are in the precision's 16-bit type, if it has one
    (PyTorch's autocast)."""
    dtype = _MIXED.get(precision)  # type: Optional[torch.dtype]
    if dtype is None:
        yield
    else:
        with torch.autocast(device.type, dtype=dtype):
            yield


@torch.no_grad()
def observed(precision: str, device: torch.device) -> Observed:
    """What products and convolutions compute in with the switches as they are."""

    def on_device(array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(device)

    def on_host(tensor: torch.Tensor) -> np.ndarray:
        return tensor.float().cpu().numpy()

    with mixed(precision, device):
        return observe(
            lambda one, other: on_host(torch.mm(on_device(one), on_device(other))),
            lambda images, kernels: on_host(
                torch.nn.functional.conv2d(on_device(images), on_device(kernels), padding=1)
            ),
        )
