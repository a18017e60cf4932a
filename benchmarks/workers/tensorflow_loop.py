"""TensorFlow: our loop and Keras's `fit`; our batch normalisation and Keras's; two precisions.
Started by benchmarks/speed/tensorflow.py."""

import itertools
from collections.abc import Callable
from functools import partial

import keras
import numpy as np
import tensorflow as tf

from benchmarks.workers import turns
from benchmarks.workers.turns import Contest, Options
from reference_impls.contract import BF16_MIXED, FLOAT32, Batch
from reference_impls.data.pipelines import open_pipeline
from reference_impls.tensorflow import layers
from reference_impls.tensorflow.arithmetic import set_arithmetic
from reference_impls.tensorflow.implementation import TensorFlowImplementation
from reference_impls.tensorflow.models import MODELS


def threads(options: Options) -> None:
    """Set the thread counts as our implementation does."""
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def fit(
    model: keras.Model, images: np.ndarray, labels: np.ndarray, options: Options
) -> Callable[[], None]:
    """Keras's own loop over arrays in memory, `steps` mini-batches of them."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(0.01, momentum=0.9), loss=loss)
    count = options.steps * options.batch_size
    images, labels = images[:count], labels[:count]
    return lambda: model.fit(
        images, labels, batch_size=options.batch_size, epochs=1, shuffle=True, verbose=0
    )


def lenet(options: Options) -> Contest:
    """The first mini-batches of an epoch: ours from MNIST's files, Keras's from an already
    normalised array."""
    threads(options)
    request = turns.mnist(options)
    implementation = TensorFlowImplementation(MODELS["lenet5"](10), request.optimizer, "cpu")
    whole = next(
        iter(
            open_pipeline(
                request._replace(global_batch_size=options.steps * options.batch_size),
                channels_last=True,
            ).training(1)
        )
    )
    theirs = fit(MODELS["lenet5"](10), whole.images, whole.labels, options)
    pipeline = open_pipeline(request, channels_last=True)
    return Contest(
        lambda: turns.steps_of(implementation, pipeline.training(1), options.steps),
        theirs,
        options.steps,
    )


def model(name: str, side: int, classes: int, options: Options) -> Contest:
    """A training step: ours on a mini-batch in memory, and `fit` over the same mini-batch
    repeated."""
    threads(options)
    images, labels = _channels_last(options, side, classes)
    implementation = TensorFlowImplementation(
        MODELS[name](classes), turns.mnist(options).optimizer, "cpu"
    )
    repeated = np.tile(images, (options.steps, 1, 1, 1)), np.tile(labels, options.steps)
    theirs = fit(MODELS[name](classes), *repeated, options)
    return Contest(
        lambda: turns.steps_of(
            implementation, itertools.repeat(Batch(images, labels)), options.steps
        ),
        theirs,
        options.steps,
    )


def stock(name: str, side: int, classes: int, options: Options) -> Contest:
    """The same loop, once with our batch normalisation and once with Keras's."""
    threads(options)
    batch = Batch(*_channels_last(options, side, classes))
    ours = TensorFlowImplementation(MODELS[name](classes), turns.mnist(options).optimizer, "cpu")
    kept, layers.BatchNormalization = layers.BatchNormalization, keras.layers.BatchNormalization
    theirs = TensorFlowImplementation(MODELS[name](classes), turns.mnist(options).optimizer, "cpu")
    layers.BatchNormalization = kept
    both = [
        partial(turns.steps_of, one, itertools.repeat(batch), options.steps)
        for one in (ours, theirs)
    ]
    return Contest(both[0], both[1], options.steps)


def bf16(name: str, side: int, classes: int, options: Options) -> Contest:
    """A training step in bf16-mixed and in float32."""
    threads(options)
    batch, settings = Batch(*_channels_last(options, side, classes)), turns.mnist(options).optimizer
    both = []
    for precision in (BF16_MIXED, FLOAT32):
        set_arithmetic(precision, "cpu")
        built = TensorFlowImplementation(MODELS[name](classes), settings, "cpu")
        both.append(partial(turns.steps_of, built, itertools.repeat(batch), options.steps))
    return Contest(both[0], both[1], options.steps)


def _channels_last(options: Options, side: int, classes: int) -> "tuple[np.ndarray, np.ndarray]":
    images, labels = turns.pictures(options, side, classes)
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1)), labels


CASES = {
    "lenet": lenet,
    **{name: partial(model, *case) for name, case in turns.MODELS.items()},
    "resnet18-stock": partial(stock, *turns.MODELS["resnet18"]),
    "mobilenetv3-stock": partial(stock, *turns.MODELS["mobilenetv3"]),
    "resnet18-bf16": partial(bf16, *turns.MODELS["resnet18"]),
    "vgg11-bf16": partial(bf16, *turns.MODELS["vgg11"]),
    "mobilenetv3-bf16": partial(bf16, *turns.MODELS["mobilenetv3"]),
}

if __name__ == "__main__":
    turns.main(CASES)
