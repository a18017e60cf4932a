"""Keras layers that compute the same as the other frameworks', up to rounding."""

from typing import Any, Optional, Tuple

import keras
import tensorflow as tf
from keras import layers


class BatchNormalization(layers.BatchNormalization):
    """Batch normalisation whose running variance is the unbiased one, as PyTorch's and Chainer's; Keras keeps the biased one.

    ``momentum`` is Keras's: the share of the running statistics that is kept. Float32 takes TensorFlow's fused kernel, which gives the
    unbiased variance and is faster; it exists for no wider type, so float64 is written out.
    """

    def call(self, inputs: tf.Tensor, training: Optional[bool] = None, mask: Any = None) -> tf.Tensor:
        """Images (samples, height, width, channels), normalised over all but the channels."""
        if not training:
            return super().call(inputs, training=False)
        if inputs.dtype == tf.float32:
            outputs, mean, variance, *_ = tf.raw_ops.FusedBatchNormV3(
                x=inputs, scale=self.gamma, offset=self.beta, mean=[], variance=[], epsilon=self.epsilon, is_training=True
            )
        else:
            mean, biased = tf.nn.moments(inputs, axes=[0, 1, 2])
            outputs = tf.nn.batch_normalization(inputs, mean, biased, self.beta, self.gamma, self.epsilon)
            count = tf.cast(tf.size(inputs) // tf.size(mean), inputs.dtype)
            variance = biased * count / (count - 1)
        self.moving_mean.assign(self.moving_mean * self.momentum + mean * (1 - self.momentum))
        self.moving_variance.assign(self.moving_variance * self.momentum + variance * (1 - self.momentum))
        return outputs


class Normalization:
    """Makes a model's batch normalisations; ``momentum`` is PyTorch's, the weight of the new statistics."""

    def __init__(self, momentum: float, epsilon: float) -> None:
        self._momentum, self._epsilon = 1 - momentum, epsilon

    def __call__(self, x: keras.KerasTensor, name: str) -> keras.KerasTensor:
        """The layer ``name`` applied to ``x``."""
        return BatchNormalization(momentum=self._momentum, epsilon=self._epsilon, name=name)(x)


def convolution(x: keras.KerasTensor, filters: int, kernel: int, name: str, stride: int = 1, bias: bool = False) -> keras.KerasTensor:
    """A convolution with equal padding on all sides."""
    x, padding = _padding(x, kernel, stride)
    return layers.Conv2D(filters, kernel, strides=stride, padding=padding, use_bias=bias, name=name)(x)


def depthwise(x: keras.KerasTensor, kernel: int, name: str, stride: int) -> keras.KerasTensor:
    """A depthwise convolution with equal padding on all sides."""
    x, padding = _padding(x, kernel, stride)
    return layers.DepthwiseConv2D(kernel, strides=stride, padding=padding, use_bias=False, name=name)(x)


def _padding(x: keras.KerasTensor, kernel: int, stride: int) -> Tuple[keras.KerasTensor, str]:
    """Keras's ``same`` where that pads all sides equally; with a stride of 2 it pads only right and below."""
    return (x, "same") if stride == 1 else (padded(x, kernel // 2), "valid")


def padded(x: keras.KerasTensor, size: int) -> keras.KerasTensor:
    """Zeros on all four sides."""
    return layers.ZeroPadding2D(size)(x) if size else x
