"""Times our training loop and another one in turns. Prints one JSON line: {"pairs": [[compared,
baseline], …]}.

Seconds per mini-batch of theirs and ours; with ``--share-of``, GFLOPS of our training and of
NumPy's SGEMM.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reference_impls.contract import (
    CONTRACT_VERSION,
    DataSet,
    Loading,
    Optimizer,
    Parallel,
    Preprocessing,
    Request,
)
from reference_impls.data.idx import read_header

SGEMM_SIZE = 2048
OPERATIONS_PER_MAC = 2
FORWARD_PASSES_PER_STEP = 3  # the backward pass costs two forward passes
Pairs = list[tuple[float, float]]
MODELS = {
    "resnet18": ("resnet18", 32, 10),
    "resnet50": ("resnet50", 32, 10),
    "vgg11": ("vgg11", 32, 10),
    "mobilenetv3": ("mobilenetv3_large", 224, 203),
}
"""Cases of one training step, by name: model, pixels of a side, classes."""


class Contest(NamedTuple):
    """Two ways of training; each call runs ``steps`` mini-batches."""

    ours: Callable[[], None]
    theirs: Callable[[], None]
    steps: int


class Options(NamedTuple):
    """The command line: ``data`` is the folder of the data set, empty for cases that read none;
    ``steps`` are mini-batches per turn."""

    data: str
    steps: int
    pairs: int
    batch_size: int
    threads: int


def main(cases: dict[str, Callable[[Options], Contest]]) -> None:
    """Time one case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=sorted(cases))
    parser.add_argument("--data", default="")
    for name in ("steps", "pairs", "batch-size", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--share-of", type=float, help="million multiply-adds of a forward pass")
    arguments = vars(parser.parse_args())
    name, mega_macs = arguments.pop("case"), arguments.pop("share_of")
    options = Options(**arguments)
    contest = cases[name](options)
    pairs = (
        compare(contest, options.pairs) if mega_macs is None else share(contest, options, mega_macs)
    )
    print(json.dumps({"pairs": pairs}), flush=True)


def compare(contest: Contest, count: int) -> Pairs:
    """Seconds per mini-batch (theirs, ours) in turns, the order alternating; a first turn of each
    warms caches and compilers up."""
    contest.ours()
    contest.theirs()
    pairs = []
    for pair in range(count):
        order = ("ours", "theirs") if pair % 2 == 0 else ("theirs", "ours")
        taken_s = {side: _time(getattr(contest, side)) / contest.steps for side in order}
        pairs.append((taken_s["theirs"], taken_s["ours"]))
    return pairs


def share(contest: Contest, options: Options, mega_macs: float) -> Pairs:
    """GFLOPS of our training and of a large matrix product in NumPy, in turns."""
    left, right = (
        np.random.RandomState(seed).standard_normal((SGEMM_SIZE, SGEMM_SIZE)).astype(np.float32)
        for seed in (1, 2)
    )
    training_gflop = (
        1e-3
        * mega_macs
        * OPERATIONS_PER_MAC
        * FORWARD_PASSES_PER_STEP
        * options.batch_size
        * contest.steps
    )
    product_gflop = 1e-9 * OPERATIONS_PER_MAC * SGEMM_SIZE**3
    contest.ours()
    left.dot(right)
    pairs = []
    for pair in range(options.pairs):
        work = {"product": lambda: left.dot(right), "training": contest.ours}
        taken_s = {name: _time(work[name]) for name in (work if pair % 2 == 0 else reversed(work))}
        pairs.append((training_gflop / taken_s["training"], product_gflop / taken_s["product"]))
    return pairs


def _time(work: Callable[[], None]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


def request_for(
    options: Options, model: str, data: DataSet, preprocessing: Preprocessing
) -> Request:
    """The request for our input pipeline and implementation."""
    return Request(
        contract_version=CONTRACT_VERSION,
        workload="benchmark",
        model=model,
        framework="",
        division="open",
        organization="none",
        platform="generic",
        seed=1,
        epochs=1,
        steps=None,
        eval_every_epochs=1,
        target_accuracy=None,
        global_batch_size=options.batch_size,
        optimizer=Optimizer("sgd", 0.01, 0.9, 0.0, "constant"),
        initial_weights="kaiming_normal",
        data=data,
        preprocessing=preprocessing,
        loading=Loading(0, 2),
        parallel=Parallel(1, 1, "none", 0, False),
        batches="read",
        drop_cache_every_epoch=False,
        accelerator="cpu",
        threads=options.threads,
        cache_cleared=None,
        output_directory="",
    )


def mnist(options: Options) -> Request:
    """LeNet-5 on the files in MNIST's layout in ``options.data``; without a folder, a request that
    nothing is read for."""
    train, evaluation = (
        (_idx_samples(options.data, part) for part in ("train", "t10k")) if options.data else (0, 0)
    )
    data = DataSet("mnist", options.data, "idx", 10, train, evaluation, True, False)
    return request_for(options, "lenet5", data, Preprocessing([0.1307], [0.3081], "none"))


def _idx_samples(folder: str, part: str) -> int:
    return read_header(str(Path(folder) / f"{part}-labels-idx1-ubyte")).shape[0]


def photographs(options: Options, samples: int, classes: int) -> Request:
    """MobileNetV3-Large on the folders of pictures in ``options.data``."""
    data = DataSet("imagefolder", options.data, "imagefolder", classes, samples, 1, False, False)
    return request_for(
        options,
        "mobilenetv3_large",
        data,
        Preprocessing([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], "resized_crop"),
    )


def pictures(options: Options, side: int, classes: int) -> "tuple[np.ndarray, np.ndarray]":
    """A mini-batch of noise, which takes as long as pictures: float32 (samples, 3, side, side) and
    int64 labels."""
    stream = np.random.RandomState(1)
    shape = (options.batch_size, 3, side, side)
    return stream.standard_normal(shape).astype(np.float32), stream.randint(
        0, classes, options.batch_size
    ).astype(np.int64)


def steps_of(implementation: Any, batches: Any, count: int) -> None:
    """Train ``count`` mini-batches with our implementation, as reference_impls/loop.py does."""
    iterator = iter(batches)
    for _ in range(count):
        implementation.step(implementation.to_device(next(iterator)), 0.01, 1.0)
