"""Mini-batches through tf.data, with parallel fetching."""

from typing import Iterator

import tensorflow as tf

from reference_impls.contract import Batch, Loading
from reference_impls.data.pipelines import Batches


def fetch(batches: Batches, loading: Loading) -> Iterator[Batch]:
    """One thread per worker, each making whole mini-batches; tf.data keeps them in order and
    prefetches some."""
    held = [batches]

    def make(index: tf.Tensor) -> "tuple[tf.Tensor, tf.Tensor]":
        return tf.numpy_function(
            lambda number: tuple(held[0][int(number)]),
            [index],
            (tf.float32, tf.int64),
            stateful=False,
        )

    made = tf.data.Dataset.range(len(batches)).map(
        make, num_parallel_calls=loading.workers, deterministic=True
    )
    options = tf.data.Options()
    options.threading.private_threadpool_size = loading.workers  # the graphs' pool has one thread
    ahead = made.prefetch(loading.prefetch * loading.workers).with_options(options)
    try:
        for images, labels in ahead:
            yield Batch(images, labels)
    finally:
        held.clear()  # TensorFlow keeps the function, which would keep the reader's files mapped
