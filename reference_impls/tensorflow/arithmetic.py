"""TensorFlow's switches of precision and determinism, set explicitly; and what they do, observed on
the device."""

from typing import Any, Dict

import keras
import numpy as np
import tensorflow as tf

from reference_impls.arithmetic import Observed, observe
from reference_impls.contract import BF16_MIXED, FLOAT32, TF32

SUPPORTED = (FLOAT32, TF32, BF16_MIXED)


def set_arithmetic(precision: str, accelerator: str) -> Dict[str, Any]:
    """Set every switch, before a model is built, and return them as they then are.

    On a GPU, operations repeat; on a CPU they do so without a switch, which would make tf.data and
    scattered sums slower.
    """
    is_deterministic = accelerator == "cuda"
    if is_deterministic:
        tf.config.experimental.enable_op_determinism()
    tf.config.experimental.enable_tensor_float_32_execution(precision == TF32)
    keras.config.set_dtype_policy(
        "mixed_bfloat16" if precision == BF16_MIXED else keras.config.floatx()
    )
    return {
        "tensor_float_32": tf.config.experimental.tensor_float_32_execution_enabled(),
        "dtype_policy": keras.config.dtype_policy().name,
        "op_determinism": is_deterministic,
    }


def observed(device: str) -> Observed:
    """What products and convolutions compute in with the switches as they are, in layers' type of
    computation."""
    dtype = keras.config.dtype_policy().compute_dtype

    def computed(operation: Any, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        with tf.device(device):
            return tf.cast(
                operation(tf.cast(one, dtype), tf.cast(other, dtype)), tf.float32
            ).numpy()

    def convolve(images: np.ndarray, kernels: np.ndarray) -> np.ndarray:
        found = computed(
            lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
            images.transpose(0, 2, 3, 1),
            kernels.transpose(2, 3, 1, 0),
        )
        return found.transpose(0, 3, 1, 2)

    return observe(lambda one, other: computed(tf.matmul, one, other), convolve)
