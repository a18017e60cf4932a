"""Chainer: our loop and its own Trainer. Started by benchmarks/speed/chainer.py."""

import itertools
import tempfile
from collections.abc import Callable
from functools import partial

import chainer
import chainer.links as L
import numpy as np
from chainer import training
from chainer.iterators import SerialIterator

from benchmarks.workers import turns
from benchmarks.workers.turns import Contest, Options
from reference_impls.chainer.implementation import ChainerImplementation
from reference_impls.chainer.models import MODELS
from reference_impls.contract import Batch
from reference_impls.data.pipelines import open_pipeline


def trainer(
    model: chainer.Chain, images: np.ndarray, labels: np.ndarray, options: Options
) -> Callable[[], None]:
    """Chainer's own loop over arrays in memory."""
    classifier = L.Classifier(model)
    classifier.compute_accuracy = False
    optimizer = chainer.optimizers.MomentumSGD(lr=0.01, momentum=0.9).setup(classifier)
    examples = chainer.datasets.TupleDataset(images, labels.astype(np.int32))

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            updater = training.StandardUpdater(
                SerialIterator(examples, options.batch_size), optimizer
            )
            training.Trainer(updater, (options.steps, "iteration"), out=folder).run()

    return run


def lenet(options: Options) -> Contest:
    """The first mini-batches of an epoch: ours from MNIST's files, Chainer's from an already
    normalised array."""
    request = turns.mnist(options)
    implementation = ChainerImplementation(
        MODELS["lenet5"](10), request.optimizer, chainer.get_device("@numpy")
    )
    whole = next(
        iter(
            open_pipeline(
                request._replace(global_batch_size=options.steps * options.batch_size)
            ).training(1)
        )
    )
    theirs = trainer(MODELS["lenet5"](10), whole.images, whole.labels, options)
    return Contest(
        lambda: turns.steps_of(implementation, open_pipeline(request).training(1), options.steps),
        theirs,
        options.steps,
    )


def model(name: str, side: int, classes: int, options: Options) -> Contest:
    """A training step on a mini-batch in memory: ours, and the Trainer's on the same one."""
    images, labels = turns.pictures(options, side, classes)
    implementation = ChainerImplementation(
        MODELS[name](classes), turns.mnist(options).optimizer, chainer.get_device("@numpy")
    )
    theirs = trainer(MODELS[name](classes), images, labels, options)
    return Contest(
        lambda: turns.steps_of(
            implementation, itertools.repeat(Batch(images, labels)), options.steps
        ),
        theirs,
        options.steps,
    )


CASES = {
    "lenet": lenet,
    **{name: partial(model, *case) for name, case in turns.MODELS.items()},
}

if __name__ == "__main__":
    turns.main(CASES)
