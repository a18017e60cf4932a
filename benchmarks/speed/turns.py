"""Times two variants of the same work, alternating, and prints the ratio with its spread."""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from reference_impls.contract import CONTRACT_VERSION, DataSet, Loading, Optimizer, Parallel, Preprocessing, Request


class Contest(NamedTuple):
    """Two variants; each call processes the same number of mini-batches."""

    ours: Callable[[], None]
    theirs: Callable[[], None]
    steps: int


class Options(NamedTuple):
    """Command-line options."""

    data: str
    steps: int
    pairs: int
    batch_size: int
    threads: int


def main(cases: dict[str, Callable[[Options], Contest]]) -> None:
    """Time the chosen case."""
    parser = argparse.ArgumentParser(description="Our way beside the framework's own: theirs over ours, so more than 1 means ours is faster.")
    parser.add_argument("case", choices=sorted(cases))
    parser.add_argument("--data", default="", help="the folder of the case's data set (cases that read one)")
    parser.add_argument("--steps", type=int, default=20, help="mini-batches per turn")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--share-of", metavar="MMAC", type=float, help="instead of theirs: NumPy's SGEMM rate; million multiply-adds of a forward pass"
    )
    arguments = vars(parser.parse_args())
    name, mega_macs = arguments.pop("case"), arguments.pop("share_of")
    options = Options(**arguments)
    if mega_macs is None:
        compare(name, cases[name](options), options.pairs)
    else:
        share(name, cases[name](options), options, mega_macs)


def compare(name: str, contest: Contest, pairs: int) -> None:
    """Alternate in changing order; the first turn of each is warm-up and not counted."""
    contest.ours()
    contest.theirs()
    ratios, times_s = [], {"ours": [], "theirs": []}  # type: list, Dict[str, list]
    for pair in range(pairs):
        order = ("ours", "theirs") if pair % 2 == 0 else ("theirs", "ours")
        taken = {who: _time(getattr(contest, who)) for who in order}
        for who, value in taken.items():
            times_s[who].append(value / contest.steps)
        ratios.append(taken["theirs"] / taken["ours"])
    told = ", ".join(f"{who} {1e3 * statistics.median(times_s[who]):.2f} ms a mini-batch" for who in ("ours", "theirs"))
    print(f"{name}: theirs / ours {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}, {pairs} pairs); {told}")
    sys.stdout.flush()


def share(name: str, contest: Contest, options: Options, mega_macs: float) -> None:
    """Training rate over that of a large matrix product; a step counts as three forward passes, a multiply-add as two operations."""
    size = 2048
    left, right = (np.random.RandomState(seed).standard_normal((size, size)).astype(np.float32) for seed in (1, 2))
    contest.ours()
    left.dot(right)
    shares, rates = [], []
    for _ in range(options.pairs):
        product_s, steps_s = _time(lambda: left.dot(right)), _time(contest.ours)
        rates.append(2e-9 * size**3 / product_s)
        shares.append(6e-3 * mega_macs * options.batch_size * contest.steps / steps_s / rates[-1])
    print(
        f"{name}: {100 * statistics.median(shares):.1f} % ({100 * min(shares):.1f} to {100 * max(shares):.1f}) of SGEMM's "
        f"{statistics.median(rates):.0f} GFLOPS, {options.threads} threads, mini-batches of {options.batch_size}"
    )


def _time(work: Callable[[], None]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


def request_for(options: Options, model: str, data: DataSet, preprocessing: Preprocessing) -> Request:
    """A request for our pipeline and implementation."""
    return Request(
        contract_version=CONTRACT_VERSION, workload="benchmark", model=model, framework="", division="open", organization="none", platform="generic",
        seed=1, epochs=1, steps=None, eval_every_epochs=1, target_accuracy=None, global_batch_size=options.batch_size,
        optimizer=Optimizer("sgd", 0.01, 0.9, 0.0, "constant"), initial_weights="kaiming_normal", data=data, preprocessing=preprocessing,
        loading=Loading(0, 2),
        parallel=Parallel(1, 1, "none", 0, False), batches="read", drop_cache_every_epoch=False, accelerator="cpu", threads=options.threads,
        cache_cleared=None, output_directory="",
    )  # fmt: skip


def mnist(options: Options) -> Request:
    """LeNet-5 on the MNIST files in ``options.data``."""
    data = DataSet("mnist", options.data, "idx", 10, 60000, 10000, True, False)
    return request_for(options, "lenet5", data, Preprocessing([0.1307], [0.3081], "none"))


def photographs(options: Options, samples: int, classes: int) -> Request:
    """MobileNetV3-Large on the folders of pictures in ``options.data``."""
    data = DataSet("imagefolder", options.data, "imagefolder", classes, samples, 1, False, False)
    return request_for(options, "mobilenetv3_large", data, Preprocessing([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], "resized_crop"))


def pictures(options: Options, side: int, classes: int) -> "tuple[np.ndarray, np.ndarray]":
    """A mini-batch of noise, as costly as images: (samples, 3, side, side) and labels."""
    stream = np.random.RandomState(1)
    shape = (options.batch_size, 3, side, side)
    return stream.standard_normal(shape).astype(np.float32), stream.randint(0, classes, options.batch_size).astype(np.int64)


def steps_of(implementation: Any, batches: Any, count: int) -> None:
    """``count`` mini-batches through our implementation, as the loop does it."""
    iterator = iter(batches)
    for _ in range(count):
        implementation.step(implementation.to_device(next(iterator)), 0.01, 1.0)
