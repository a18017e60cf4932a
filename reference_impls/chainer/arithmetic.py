"""Chainer's switches of precision and determinism, set explicitly; and what they do, observed on
the device."""

from typing import Any, Dict

import chainer
import chainer.functions as F
import numpy as np

from reference_impls.arithmetic import Observed, observe
from reference_impls.contract import FLOAT32

SUPPORTED = (FLOAT32,)
"""Chainer has no switch for TF32; the harness switches it off for all of NVIDIA's libraries
(NVIDIA_TF32_OVERRIDE)."""


def set_arithmetic() -> Dict[str, Any]:
    """Set every switch, and return them as they then are. The type is left as it is: the probe
    computes in float64, too."""
    config = chainer.global_config
    config.cudnn_deterministic, config.autotune, config.cudnn_fast_batch_normalization = (
        True,
        False,
        False,
    )
    config.use_cudnn_tensor_core = "never"
    names = (
        "cudnn_deterministic",
        "autotune",
        "cudnn_fast_batch_normalization",
        "use_cudnn_tensor_core",
    )
    return dict({name: getattr(config, name) for name in names}, dtype=np.dtype(config.dtype).name)


def observed(device: Any) -> Observed:
    """What products and convolutions compute in with the switches as they are."""

    def on_host(variable: Any) -> np.ndarray:
        return chainer.backends.cuda.to_cpu(variable.array)

    with chainer.no_backprop_mode():
        return observe(
            lambda one, other: on_host(F.matmul(device.send(one), device.send(other))),
            lambda images, kernels: on_host(
                F.convolution_2d(device.send(images), device.send(kernels), pad=1)
            ),
        )
