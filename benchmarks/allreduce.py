"""Our exchange of gradients compared with PyTorch's DistributedDataParallel over Gloo: the same
ranks, model and mini-batches, in turns.

Seven ways take turns, the order rotating: no exchange (the cost of a step itself), ours overlapped
with the backward pass, ours after it, ours with gradients rounded to float16 and to bfloat16,
DistributedDataParallel, and the same with its hook for float16 (that for bfloat16 refuses Gloo). A
turn lasts as long as its slowest rank. Ratios are DistributedDataParallel / this way, so more than
1 means that this way is faster; float16 is compared with the hook. On one machine MPI sends through
shared memory and Gloo through the loopback; with hosts, every rank has a network namespace as its
host (needs root), so that all of the exchange crosses a network interface.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

from benchmarks.runner.benchmark import Benchmark, Ratio, Skipped, ratio_of
from benchmarks.runner.child import failure, output_of
from benchmarks.runner.command_line import run_alone
from benchmarks.runner.needs import framework_environment, mpirun
from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.execution.parallel import bucket_bytes
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import find_environment
from suite.launch.mpirun import all_reduce_variables, allow_root, find_mpirun, mpirun_command
from suite.launch.placement import Placement
from tests.namespaces import OVER_THE_WIRE, Cluster, joined_hosts

TIMEOUT_S = 1800.0
ALL, WITHOUT = "all", "no exchange"
FAST_MEGABITS, GOODPUT_S, GOODPUT_PORT = 4000.0, 2.0, 45_071
DDP = "DistributedDataParallel, Gloo"
OVERLAPPED = "ours, overlapped"
RIVALS = {
    OVERLAPPED: DDP,
    "ours, float16": "DistributedDataParallel, float16",
}
"""Ours, and DistributedDataParallel with the same numbers on the wire."""


@dataclass(frozen=True)
class Model:
    """A model with its mini-batch: samples of each rank, pixels of a side, steps of a turn, and
    bytes of its gradients."""

    title: str
    batch_size: int
    side: int
    steps: int
    gradient_bytes: int


MODELS = {
    "vgg11": Model("VGG-11", 4, 32, 5, 36_902_440),
    "lenet5": Model("LeNet-5", 32, 28, 40, 246_824),
    "resnet18": Model("ResNet-18", 8, 32, 2, 44_695_848),
}


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    ranks: Annotated[int, "ranks"] = 2
    where: Annotated[
        str, "machine (all ranks on this machine), hosts (a network namespace for each), or all"
    ] = ALL
    model: Annotated[str, f"{', '.join(MODELS)}, or all"] = ALL
    batch_size: Annotated[int | None, "samples of each rank (default: the model's)"] = None
    steps: Annotated[int | None, "steps of a turn (default: the model's)"] = None
    turns: Annotated[int, "turns of each way"] = 10
    megabits: Annotated[
        float | None, "Mbit/s of every host's link, by tc tbf (default: unshaped)"
    ] = None
    bucket_bytes: Annotated[
        int | None, "bytes of a bucket of our exchange (default: as in a run)"
    ] = None


def measure(settings: Settings) -> Iterator[Ratio | Skipped]:
    """Each model on one machine, then on hosts."""
    refuse_unknown(settings)
    for name, model in MODELS.items():
        if settings.model in (ALL, name) and settings.where in (ALL, "machine"):
            yield from ratios(
                settings,
                model,
                "one machine",
                on_this_machine(settings, rank_options(settings, name, model)),
            )
    try:
        for name, model in MODELS.items():
            if settings.model in (ALL, name) and settings.where in (ALL, "hosts"):
                output, goodput_bytes_s = on_hosts(
                    settings, rank_options(settings, name, model), model
                )
                where = (
                    "hosts" if settings.megabits is None else f"hosts, {settings.megabits:g} Mbit/s"
                )
                yield from ratios(settings, model, where, output)
                yield from shares_of_limit(settings, model, where, output, goodput_bytes_s)
    except pytest.skip.Exception as reason:  # the tests' hosts skip where they cannot be made
        yield Skipped("ranks on hosts", str(reason))


def refuse_unknown(settings: Settings) -> None:
    """Raises SuiteError for an unknown model or place."""
    for given, known in (
        (settings.model, (*MODELS, ALL)),
        (settings.where, ("machine", "hosts", ALL)),
    ):
        if given not in known:
            raise SuiteError(f"{given!r} is none of {', '.join(known)}.")


def rank_options(settings: Settings, name: str, model: Model) -> list[str]:
    """The command line of a rank."""
    chosen = {
        "model": name,
        "ranks": settings.ranks,
        "side": model.side,
        "batch-size": settings.batch_size or model.batch_size,
        "steps": settings.steps or model.steps,
        "turns": settings.turns,
        "bucket-bytes": settings.bucket_bytes or bucket_bytes(model.gradient_bytes),
    }
    return [
        word for option_name, value in chosen.items() for word in (f"--{option_name}", str(value))
    ]


def command(
    placement: Placement, options: Sequence[str], variables: Mapping[str, str], folder: Path
) -> list[str]:
    """The mpirun command that starts the ranks."""
    interpreter = find_environment(load_framework("pytorch")).interpreter
    return mpirun_command(
        find_mpirun(interpreter),
        placement,
        [str(interpreter), "-m", "benchmarks.workers.allreduce_rank", *options],
        variables,
        folder,
    )


def on_this_machine(settings: Settings, options: Sequence[str]) -> str:
    """The output of rank 0, all ranks on this machine."""
    variables = allow_root(child_environment(1))
    with tempfile.TemporaryDirectory() as folder:
        return output_of(
            command(Placement((), settings.ranks), options, variables, Path(folder)), variables
        )


def on_hosts(settings: Settings, options: Sequence[str], model: Model) -> tuple[str, float]:
    """The output of rank 0, every rank on its own host; and what TCP carries from the first host to
    the second, bytes/s, through the same link."""
    with (
        tempfile.TemporaryDirectory() as name,
        joined_hosts(settings.ranks, Path(name), by_ssh=False) as cluster,
    ):
        ring = all_reduce_variables(settings.ranks, 1, model.gradient_bytes)
        variables = allow_root(
            {**ring, **child_environment(1), **OVER_THE_WIRE, "GLOO_SOCKET_IFNAME": "eth0"}
        )
        placement = Placement(tuple(host.name for host in cluster.hosts), 1, str(cluster.agent))
        if settings.megabits is not None:
            for host in cluster.hosts:
                cluster.shape(host, settings.megabits)
        goodput_bytes_s = goodput(cluster, settings.megabits or FAST_MEGABITS)
        words, first = command(placement, options, variables, Path(name)), cluster.hosts[0]
        # a command on a host starts at the host's root folder
        enter = ("env", f"--chdir={repository_root()}")
        answer = cluster.run(first, *enter, *words, variables=variables, timeout_s=TIMEOUT_S)
        if answer.returncode != 0:
            raise SuiteError(failure(words, answer.returncode, answer.stderr or answer.stdout))
        print(
            f"{cluster.traffic(first).sent_bytes / 1e6:.0f} MB left the first host", file=sys.stderr
        )
        return answer.stdout, goodput_bytes_s


def goodput(cluster: Cluster, megabits: float) -> float:
    """What one TCP connection carries from the first host to the second in about two seconds,
    bytes/s."""
    first, second, size_bytes = *cluster.hosts[:2], int(megabits * 1e6 / 8 * GOODPUT_S)
    program = (
        "env",
        f"--chdir={repository_root()}",
        sys.executable,
        "-m",
        "benchmarks.workers.goodput",
    )
    receiver = cluster.start(second, *program, "receive", GOODPUT_PORT, size_bytes)
    assert receiver.stdout is not None
    receiver.stdout.readline()
    answer = cluster.run(
        first, *program, "send", second.address, GOODPUT_PORT, size_bytes, timeout_s=60
    )
    receiver.communicate(timeout=10)
    return float(answer.stdout)


def shares_of_limit(
    settings: Settings, model: Model, where: str, output: str, goodput_bytes_s: float
) -> Iterator[Ratio]:
    """The wire's limit over what each way's step takes beyond its forward pass, which hides no
    exchange.

    The limit is what a rank of n must send at least, 2 (n - 1) / n of the gradients, or half of
    that in 16 bits, at the rate of bare TCP.
    """
    found = _said(output)
    exact_s = 2 * (settings.ranks - 1) / settings.ranks * found["gradient_bytes"] / goodput_bytes_s
    subject = (
        f"{model.title}, {settings.ranks} ranks, {where}, {settings.batch_size or model.batch_size}"
        " samples each"
    )
    for way, times_s in found["step_s"].items():
        limit_s = exact_s / 2 if way.endswith("float16") else exact_s
        if way != WITHOUT:
            pairs = [
                (limit_s, time_s - forward_s)
                for time_s, forward_s in zip(times_s, found["forward_s"], strict=True)
            ]
            yield ratio_of(subject, "the wire's limit", f"step without forward pass, {way}", pairs)


def ratios(settings: Settings, model: Model, where: str, output: str) -> Iterator[Ratio]:
    """DistributedDataParallel's step time over each other way's, and how much of our step is
    waiting for the exchange."""
    step_s, exposed_s = (_said(output)[name] for name in ("step_s", "communication_s"))
    subject = (
        f"{model.title}, {settings.ranks} ranks, {where}, {settings.batch_size or model.batch_size}"
        " samples each"
    )
    for way, times_s in step_s.items():
        if way not in RIVALS.values():
            rival = RIVALS.get(way, DDP)
            yield ratio_of(subject, rival, way, list(zip(step_s[rival], times_s, strict=True)))
    for way in (way for way in step_s if way.startswith("ours")):
        yield ratio_of(
            subject,
            "exposed communication",
            f"step, {way}",
            list(zip(exposed_s[way], step_s[way], strict=True)),
        )


def _said(output: str) -> dict[str, Any]:
    """Rank 0's line; mpirun adds the ranks' exit codes."""
    found: dict[str, Any] = json.loads(
        next(line for line in output.splitlines() if line.startswith("{"))
    )
    return found


BENCHMARK = Benchmark(
    "How fast is a data-parallel step with our all-reduce over MPI compared with"
    " DistributedDataParallel over Gloo?",
    measure,
    Settings(),
    Settings(model="lenet5", turns=2, steps=2),
    full_s=200,
    quick_s=25,
    needs=(framework_environment("pytorch"), mpirun("pytorch")),
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
