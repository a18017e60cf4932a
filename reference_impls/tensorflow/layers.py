"""Keras layers that compute the same as the other frameworks', up to rounding."""

from typing import Any, Optional, Tuple

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from reference_impls.normalisation import Synchroniser

AXES = [0, 1, 2]
"""All axes of (samples, height, width, channels) but the channels'."""


class BatchNormalization(layers.BatchNormalization):
    """Batch normalisation whose running variance is the unbiased one, as PyTorch's and Chainer's;
    Keras keeps the biased one.

    ``momentum`` is Keras's: the share of the running statistics that is kept. Float32 takes
    TensorFlow's fused kernel, which gives the unbiased variance and is faster; it exists for no
    wider type, so float64 is written out. With a ``synchroniser``, training normalises over all
    ranks' samples; Keras's own ``synchronized`` needs a strategy that Keras 3 has not. Frozen, it
    uses its statistics in training, too, and keeps them.
    """

    synchroniser: Optional[Synchroniser] = None
    is_frozen = False

    def call(
        self, inputs: tf.Tensor, training: Optional[bool] = None, mask: Any = None
    ) -> tf.Tensor:
        """Images (samples, height, width, channels), normalised over all but the channels."""
        if not training or self.is_frozen:
            return super().call(inputs, training=False)
        if self.synchroniser is not None:
            outputs, mean, variance = _over_all_ranks(
                inputs, self.gamma, self.beta, self.epsilon, self.synchroniser
            )
        elif inputs.dtype == tf.float32:
            outputs, mean, variance, *_ = tf.raw_ops.FusedBatchNormV3(
                x=inputs,
                scale=self.gamma,
                offset=self.beta,
                mean=[],
                variance=[],
                epsilon=self.epsilon,
                is_training=True,
            )
        else:
            mean, biased = tf.nn.moments(inputs, AXES)
            outputs = tf.nn.batch_normalization(
                inputs, mean, biased, self.beta, self.gamma, self.epsilon
            )
            count = tf.cast(tf.size(inputs) // tf.size(mean), inputs.dtype)
            variance = biased * count / (count - 1)
        self.moving_mean.assign(self.moving_mean * self.momentum + mean * (1 - self.momentum))
        self.moving_variance.assign(
            self.moving_variance * self.momentum + variance * (1 - self.momentum)
        )
        return outputs


def synchronise(model: keras.Model, synchroniser: Synchroniser) -> None:
    """Let every batch normalisation of the model take its statistics over all ranks, in graphs that
    are traced from now on."""
    for layer in model.layers:
        if isinstance(layer, BatchNormalization):
            layer.synchroniser = synchroniser


def freeze_statistics(model: keras.Model) -> None:
    """Let every batch normalisation of the model use its statistics in training, too, in graphs
    that are traced from now on."""
    for layer in model.layers:
        if isinstance(layer, BatchNormalization):
            layer.is_frozen = True


def _over_all_ranks(
    inputs: tf.Tensor, gamma: Any, beta: Any, epsilon: float, synchroniser: Synchroniser
) -> Tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Outputs, mean and unbiased variance. TensorFlow runs its calls of Python, which are stateful,
    in the order of the graph's construction."""

    def moments(
        count: np.ndarray, mean: np.ndarray, variance: np.ndarray
    ) -> Tuple[np.ndarray, ...]:
        whole = synchroniser.moments(int(count), mean, variance)
        return (
            np.float64(whole.count),
            *(value.astype(mean.dtype) for value in (whole.mean, whole.variance, whole.unbiased)),
        )

    def corrections(
        count: np.ndarray, of_all: np.ndarray, sums: np.ndarray, products: np.ndarray
    ) -> Tuple[np.ndarray, ...]:
        constant, factor = synchroniser.corrections(int(count), float(of_all), sums, products)
        return constant.astype(sums.dtype), factor.astype(sums.dtype)

    dtype, count = inputs.dtype, tf.size(inputs) // tf.shape(inputs)[-1]
    of_all, *found = tf.numpy_function(
        moments, [count, *tf.nn.moments(inputs, AXES)], [tf.float64, dtype, dtype, dtype]
    )
    mean, variance, unbiased = (tf.ensure_shape(vector, inputs.shape[-1:]) for vector in found)
    scale = tf.math.rsqrt(variance + epsilon)

    @tf.custom_gradient
    def normalise(images: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor) -> Tuple[tf.Tensor, Any]:
        normalised = (images - mean) * scale

        def gradients(gradient: tf.Tensor) -> Tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            sums, products = (
                tf.reduce_sum(gradient, AXES),
                tf.reduce_sum(gradient * normalised, AXES),
            )
            found = tf.numpy_function(corrections, [count, of_all, sums, products], [dtype, dtype])
            constant, factor = (tf.ensure_shape(vector, inputs.shape[-1:]) for vector in found)
            return (gradient - constant - normalised * factor) * (weight * scale), products, sums

        return normalised * weight + bias, gradients

    return (
        normalise(inputs, tf.convert_to_tensor(gamma), tf.convert_to_tensor(beta)),
        mean,
        unbiased,
    )


class Normalization:
    """Makes a model's batch normalisations; ``momentum`` is PyTorch's, the weight of the new
    statistics."""

    def __init__(self, momentum: float, epsilon: float) -> None:
        self._momentum, self._epsilon = 1 - momentum, epsilon

    def __call__(self, x: keras.KerasTensor, name: str) -> keras.KerasTensor:
        """The layer ``name`` applied to ``x``."""
        # float32 where convolutions are in a 16-bit type
        dtype = keras.config.dtype_policy().variable_dtype
        return BatchNormalization(
            momentum=self._momentum, epsilon=self._epsilon, dtype=dtype, name=name
        )(x)


def convolution(
    x: keras.KerasTensor, filters: int, kernel: int, name: str, stride: int = 1, bias: bool = False
) -> keras.KerasTensor:
    """A convolution with equal padding on all sides."""
    x, padding = _padding(x, kernel, stride)
    return layers.Conv2D(
        filters, kernel, strides=stride, padding=padding, use_bias=bias, name=name
    )(x)


def depthwise(x: keras.KerasTensor, kernel: int, name: str, stride: int) -> keras.KerasTensor:
    """A depthwise convolution with equal padding on all sides."""
    x, padding = _padding(x, kernel, stride)
    return layers.DepthwiseConv2D(
        kernel, strides=stride, padding=padding, use_bias=False, name=name
    )(x)


def _padding(x: keras.KerasTensor, kernel: int, stride: int) -> Tuple[keras.KerasTensor, str]:
    """Keras's ``same`` where that pads all sides equally; with a stride of 2 it pads only right and
    below."""
    return (x, "same") if stride == 1 else (padded(x, kernel // 2), "valid")


def padded(x: keras.KerasTensor, size: int) -> keras.KerasTensor:
    """Zeros on all four sides."""
    return layers.ZeroPadding2D(size)(x) if size else x
