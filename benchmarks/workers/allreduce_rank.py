"""A rank of benchmarks/allreduce.py: training steps without exchange, with ours and with PyTorch's,
in turns. Started by mpirun.

Rank 0 prints one JSON line: {"step_s": {way: [seconds per step of each turn]}, "steps_s": {way:
[[seconds of each step of a turn, at the rank that took longest]]}, "communication_s": {way:
[exposed seconds per step]}, "forward_s": [seconds of a forward pass in each turn],
"exchange_alone_s": [seconds of our exchange in each turn, while the ranks compute nothing],
"gradient_bytes": size of the gradients}.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

from benchmarks.workers import turns
from reference_impls import communication
from reference_impls.communication import Buckets, MpiWorld
from reference_impls.contract import BFLOAT16, FLOAT16, LOCAL, Batch, Optimizer, Parallel
from reference_impls.pytorch.exchange import distributed_data_parallel
from reference_impls.pytorch.implementation import PyTorchImplementation
from reference_impls.pytorch.models import MODELS

Step = Callable[[], float]
OURS = "ours, after the backward pass"


class Way(NamedTuple):
    """How gradients are exchanged: not at all, by ours with these settings, or by
    DistributedDataParallel, with this hook of its own."""

    ours: "Parallel | None" = None
    is_native: bool = False
    hook: "Callable[..., Any] | None" = None


def ways(bucket_bytes: int) -> "dict[str, Way]":
    """Every way to exchange gradients, by name."""
    return {
        "no exchange": Way(),
        "ours, overlapped": Way(Parallel(0, 0, "mpi", bucket_bytes, True)),
        OURS: Way(Parallel(0, 0, "mpi", bucket_bytes, False)),
        "DistributedDataParallel, Gloo": Way(is_native=True),
        "ours, float16": Way(Parallel(0, 0, "mpi", bucket_bytes, True, LOCAL, FLOAT16)),
        "DistributedDataParallel, float16": Way(None, True, default_hooks.fp16_compress_hook),
        "ours, bfloat16": Way(Parallel(0, 0, "mpi", bucket_bytes, True, LOCAL, BFLOAT16)),
    }


def main() -> None:
    """Time every way in turns; a turn lasts as long as its slowest rank."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, kind in (
        ("model", str),
        ("ranks", int),
        ("side", int),
        ("batch-size", int),
        ("steps", int),
        ("turns", int),
        ("bucket-bytes", int),
    ):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--only", nargs="+", help="names of ways; default: all")
    options = parser.parse_args()
    torch.set_num_threads(1)
    world = communication.join(options.ranks)
    batch = Batch(
        *turns.pictures(
            turns.Options("", options.steps, options.turns, options.batch_size, 1), options.side, 10
        )
    )
    steps = {
        name: _step(world, way, options.model, batch)
        for name, way in ways(options.bucket_bytes).items()
        if name in (options.only or [name])
    }
    times_s: dict[str, list[float]] = {name: [] for name in steps}
    each_s: dict[str, list[list[float]]] = {name: [] for name in steps}
    communication_s: dict[str, list[float]] = {name: [] for name in steps}
    forward_s: list[float] = []
    exchange_alone_s: list[float] = []
    network = MODELS[options.model](10)
    alone = _exchange(world, network, options.bucket_bytes)
    images = torch.from_numpy(batch.images[:, : next(network.parameters()).shape[1]].copy())
    for step in (
        *steps.values(),
        alone,
    ) * 2:  # DistributedDataParallel fills its buckets anew after
        step()
    for turn in range(options.turns):
        first = turn % len(steps)
        for name in [*steps][first:] + [*steps][:first]:
            world.allgather(None)
            own_s, exposed_s = [time.perf_counter()], 0.0
            for _ in range(options.steps):
                exposed_s += steps[name]()
                own_s.append(time.perf_counter())
            times_s[name].append(max(world.allgather(own_s[-1] - own_s[0])) / options.steps)
            of_ranks_s = zip(*world.allgather(np.diff(own_s).tolist()), strict=True)
            each_s[name].append([max(step_s) for step_s in of_ranks_s])
            communication_s[name].append(
                statistics.mean(world.allgather(exposed_s)) / options.steps
            )
        forward_s.append(_slowest_s(world, lambda: network(images)))
        exchange_alone_s.append(_slowest_s(world, alone))
    if world.rank == 0:
        size_bytes = sum(
            parameter.numel() * parameter.element_size() for parameter in network.parameters()
        )
        found = {
            "step_s": times_s,
            "steps_s": each_s,
            "communication_s": communication_s,
            "forward_s": forward_s,
            "exchange_alone_s": exchange_alone_s,
            "gradient_bytes": size_bytes,
        }
        print(json.dumps(found), flush=True)


def _slowest_s(world: MpiWorld, work: Callable[[], object]) -> float:
    """The seconds that all ranks' work takes, begun together."""
    world.allgather(None)
    began_s = time.perf_counter()
    work()
    return max(world.allgather(time.perf_counter() - began_s))


def _exchange(world: MpiWorld, network: torch.nn.Module, bucket_bytes: int) -> Step:
    """Our exchange of a network's gradients without anything else; it returns the seconds of
    waiting."""
    sizes = [parameter.numel() for parameter in network.parameters()]
    settings = ways(bucket_bytes)[OURS].ours
    assert settings is not None
    buckets = Buckets(world, sizes, np.float32, settings)

    def exchange() -> float:
        for bucket in range(len(buckets.arrays)):
            buckets.start(bucket)
        return buckets.finish()

    return exchange


def _step(world: MpiWorld, way: Way, model: str, batch: Batch) -> Step:
    """One training step of a separate model; it returns the seconds of exposed communication."""
    network = MODELS[model](10)
    trained = _native(world, network, way) if way.is_native else network
    implementation = PyTorchImplementation(
        trained, Optimizer("sgd", 0.001, 0.9, 0.0, "constant"), "cpu"
    )
    if way.ours is not None:
        implementation.join(world, way.ours)
    channels = next(network.parameters()).shape[1]  # LeNet-5 takes grey pictures
    on_device = implementation.to_device(batch._replace(images=batch.images[:, :channels].copy()))
    return lambda: implementation.step(on_device, 0.001, 1.0 / world.size).communication_s


def _native(world: MpiWorld, network: torch.nn.Module, way: Way) -> torch.nn.Module:
    """DistributedDataParallel as in a run; the first starts its process group."""
    if torch.distributed.is_initialized():
        wrapped: Any = torch.nn.parallel.DistributedDataParallel(network, broadcast_buffers=False)
    else:
        wrapped = distributed_data_parallel(world, network)
    if way.hook is not None:
        wrapped.register_comm_hook(None, way.hook)
    return wrapped


if __name__ == "__main__":
    main()
