"""A rank of benchmarks/allreduce.py: training steps without exchange, with ours and with PyTorch's own, alternating. Started by mpirun."""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from benchmarks.speed import turns
from reference_impls import communication
from reference_impls.communication import MpiWorld
from reference_impls.contract import Batch, Optimizer, Parallel
from reference_impls.pytorch.implementation import PyTorchImplementation
from reference_impls.pytorch.models import MODELS
from suite.execution.request import BUCKET_BYTES

Step = Callable[[], float]
WAYS = {
    "no exchange": None,
    "ours, overlapped": Parallel(0, 0, "mpi", BUCKET_BYTES, True),
    "ours, after the backward pass": Parallel(0, 0, "mpi", BUCKET_BYTES, False),
    "DistributedDataParallel, Gloo": Parallel(0, 0, "native", BUCKET_BYTES, True),
}
THEIRS = "DistributedDataParallel, Gloo"


def main() -> None:
    """Time every variant; rank 0 prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, kind in (("model", str), ("ranks", int), ("side", int), ("batch-size", int), ("steps", int), ("turns", int)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    world = communication.join(options.ranks)
    batch = Batch(*turns.pictures(turns.Options("", options.steps, options.turns, options.batch_size, 1), options.side, 10))
    steps = {name: _step(world, settings, options.model, batch) for name, settings in WAYS.items()}
    times_s: dict[str, list[float]] = {name: [] for name in WAYS}
    communication_s: dict[str, list[float]] = {name: [] for name in WAYS}
    for step in steps.values():
        step()
    for turn in range(options.turns):
        names = list(WAYS)[turn % len(WAYS) :] + list(WAYS)[: turn % len(WAYS)]
        for name in names:
            world.allgather(None)
            began_s = time.perf_counter()
            waited = sum(steps[name]() for _ in range(options.steps))
            times_s[name].append(max(world.allgather(time.perf_counter() - began_s)) / options.steps)
            communication_s[name].append(statistics.mean(world.allgather(waited)) / options.steps)
    if world.rank == 0:
        _show(options, times_s, communication_s)


def _step(world: MpiWorld, settings: "Parallel | None", model: str, batch: Batch) -> Step:
    """One training step; returns the exposed communication time of our all-reduce, s."""
    network = MODELS[model](10)
    implementation = PyTorchImplementation(network, Optimizer("sgd", 0.001, 0.9, 0.0, "constant"), "cpu")
    if settings is not None:
        implementation.join(world, settings)
    channels = next(network.parameters()).shape[1]  # LeNet-5 looks at grey pictures
    on_device = implementation.to_device(batch._replace(images=batch.images[:, :channels].copy()))
    return lambda: implementation.step(on_device, 0.001, 1.0 / world.size).communication_s


def _show(options: argparse.Namespace, times_s: "dict[str, list[float]]", communication_s: "dict[str, list[float]]") -> None:
    print(f"{options.model}, {options.ranks} ranks, {options.batch_size} samples each, {options.turns} turns of {options.steps} steps")
    for name, times in times_s.items():
        ratios = [theirs / ours for theirs, ours in zip(times_s[THEIRS], times, strict=True)]
        waited = f", {1e3 * statistics.median(communication_s[name]):.1f} ms of it waited" if name.startswith("ours") else ""
        spread = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        print(f"  {name:30} {1e3 * statistics.median(times):7.1f} ms a step{waited}; {THEIRS} / this {spread}")


if __name__ == "__main__":
    main()
