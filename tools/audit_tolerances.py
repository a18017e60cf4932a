"""Measures how far the losses of honest repetitions differ, for rules/audit/: ``python -m
tools.audit_tolerances WORKLOAD DATA RECORD``.

Every configuration of CONFIGURATIONS is trained in every framework, with one thread and two, and
once in float64. RECORD is a JSON file to which the losses are appended, so that an interrupted
measurement continues. ``--write`` turns the record into ``rules/audit/WORKLOAD.toml``.
"""

import argparse
import itertools
import json
import math
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reference_impls import contract
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import Workload, load_workload
from suite.datasets.locate import find_data_set
from suite.files.paths import repository_root
from suite.metrics.replayed_losses import loss_difference
from suite.verify.replaying import ALONE, replay_in_float64, replay_steps

Pair = tuple[str, str]

FRAMEWORKS = ("chainer", "pytorch", "tensorflow")
FLOAT64 = "float64"
SAFETY = 10.0
"""A tolerance is this many times the largest difference that was seen up to its step."""

BOUNDS = (2, 5, 10, 15, 20, 30)
"""Last steps of the ranges that have one tolerance each; 30 is the largest number of steps that was
measured."""

BOUNDS_OF = {"resnet18": (2, 3, 4, 5, 7, 10)}
"""Where the differences grow so fast that a range would hide the steps that decide: with batch
normalisation, a hundredfold from step 2 to step 5."""

# (batch size, learning rate or None for the workload's, seeds, steps)
CONFIGURATIONS = {
    "lenet": (
        (128, 0.04, range(1, 11), 30),
        (16, None, range(1, 7), 30),
        (64, 0.02, range(1, 4), 30),
        (32, 0.01, range(1, 4), 30),
        (128, 0.1, range(1, 4), 30),
    ),
    "lenet-adapt": ((16, None, range(1, 5), 10),),
    "mobilenetv3-adapt": ((16, None, range(1, 3), 10),),
    "vgg11": ((32, None, range(1, 4), 10),),
    "resnet18": ((32, None, range(1, 3), 10), (16, None, range(1, 3), 10)),
}
WINDOWS = {"lenet": ("window_steps = 3750", "replays = 8")}
"""A whole epoch of the smallest mini-batches takes seconds."""
LEAST = 1e-4
"""Smallest tolerance. First losses differ by 1e-7; but a rounded sum that falls on the other side
of a ReLU's or a pooling's kink moves the next losses by up to 1e-4, in one of 25 trainings within
five steps. A wrong setting moves them by 1e-3 and more."""

EXACT = {"lenet": (("fake", "fake"), ("fake", FLOAT64))}
"""Pairs that were not measured: Python's own arithmetic is float64, and the same on every
processor."""

REPEATED_SEEDS = {"lenet": 2}
"""Seeds of a configuration that are trained with two threads, too; 1 if not named."""


def main() -> None:
    """Measure, or write the table."""
    parser = argparse.ArgumentParser(description="Measure the tolerances of `suite audit`.")
    parser.add_argument("workload")
    parser.add_argument("data", type=Path, help="the folder of its prepared data set")
    parser.add_argument("record", type=Path, help="JSON lines, appended to")
    parser.add_argument(
        "--write", action="store_true", help="write rules/audit/WORKLOAD.toml from the record"
    )
    arguments = parser.parse_args()
    workload = load_workload(arguments.workload)
    if arguments.write:
        write(workload, read(arguments.record))
        return
    measure(workload, arguments.data, arguments.record)


def measure(workload: Workload, data: Path, record: Path) -> None:
    """Train every configuration that the record does not have yet."""
    known = {key(entry) for entry in read(record)}
    for size, rate, seeds, steps in CONFIGURATIONS[workload.name]:
        for seed in seeds:
            request = requested(workload, data, size, rate, seed, steps)
            variants = [
                (name, threads)
                for name in FRAMEWORKS
                for threads in (
                    (1, 2) if seed < seeds.start + REPEATED_SEEDS.get(workload.name, 1) else (1,)
                )
            ]
            for name, threads in [*variants, (FLOAT64, 1)]:
                entry = {
                    "batch_size": size,
                    "rate": request.optimizer.base_learning_rate,
                    "seed": seed,
                    "variant": name,
                    "threads": threads,
                }
                if key(entry) not in known:
                    losses = (
                        replay_in_float64(request, load_framework("pytorch"))[0]
                        if name == FLOAT64
                        else replay_steps(
                            request._replace(threads=threads), load_framework(name)
                        ).losses
                    )
                    with record.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps({**entry, "losses": losses}) + "\n")


def requested(
    workload: Workload, data: Path, size: int, rate: float | None, seed: int, steps: int
) -> contract.Request:
    """The request of a run with these settings."""
    prepared = find_data_set(workload.data, data)
    optimizer = contract.Optimizer(**asdict(workload.optimizer))
    return contract.Request(
        contract.CONTRACT_VERSION,
        workload.name,
        workload.model,
        "",
        "open",
        "none",
        "generic",
        seed,
        workload.epochs,
        steps,
        workload.eval_every_epochs,
        None,
        size,
        optimizer._replace(base_learning_rate=rate or optimizer.base_learning_rate),
        workload.initial_weights,
        contract.DataSet(
            workload.data,
            str(prepared.directory),
            prepared.definition.layout,
            prepared.contents.classes,
            prepared.contents.train_samples,
            prepared.contents.eval_samples,
            prepared.contents.verified,
            prepared.is_synthetic,
            workload.preprocessing.side,
        ),
        contract.Preprocessing(
            list(workload.preprocessing.mean),
            list(workload.preprocessing.std),
            workload.preprocessing.augmentation,
        ),
        contract.Loading(0, 2),
        ALONE,
        "read",
        False,
        "cpu",
        1,
        None,
        "",
        start=workload.requested_start,
        trains=workload.requested_part,
    )


def key(entry: dict[str, Any]) -> tuple[Any, ...]:
    """What identifies a training."""
    return tuple(entry[name] for name in ("batch_size", "rate", "seed", "variant", "threads"))


def read(record: Path) -> list[dict[str, Any]]:
    """The trainings of a record."""
    return (
        [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        if record.exists()
        else []
    )


def largest(entries: list[dict[str, Any]]) -> dict[Pair, list[float]]:
    """Of every pair of variants, the largest difference up to each step, over all
    configurations."""
    by_configuration = defaultdict(list)
    for entry in entries:
        by_configuration[key(entry)[:3]].append(entry)
    found: dict[Pair, list[float]] = {}
    for same in by_configuration.values():
        for one, other in itertools.combinations(same, 2):
            first, last = sorted((one["variant"], other["variant"]))
            differences = [
                loss_difference(a, b) for a, b in zip(one["losses"], other["losses"], strict=True)
            ]
            so_far = found.get((first, last), [])
            found[first, last] = [
                max(pair) for pair in itertools.zip_longest(so_far, differences, fillvalue=0.0)
            ]
    return {
        pair: list(itertools.accumulate(differences, max)) for pair, differences in found.items()
    }


def between_machines(seen: dict[Pair, list[float]]) -> dict[Pair, list[float]]:
    """The same; but a framework differs from itself on another processor as it differs from other
    frameworks on this one: here it repeats itself."""
    return {
        pair: (
            [
                max(values)
                for values in zip(
                    *(
                        other
                        for name, other in seen.items()
                        if pair[0] in name and FLOAT64 not in name
                    ),
                    strict=True,
                )
            ]
            if pair[0] == pair[1]
            else differences
        )
        for pair, differences in seen.items()
    }


def write(workload: Workload, entries: list[dict[str, Any]]) -> None:
    """Write the tolerances of every pair."""
    seen = between_machines(largest(entries))
    measured = max(len(differences) for differences in seen.values())
    bounds = [bound for bound in BOUNDS_OF.get(workload.name, BOUNDS) if bound <= measured]
    lines = [
        (
            f"# Written by `python -m tools.audit_tolerances {workload.name} DATA RECORD --write`"
            f" from {len(entries)} trainings: {SAFETY:g} times the"
        ),
        (
            f"# largest difference up to the last step of each range, at least {LEAST:g}."
            " Differences of losses above 1 are relative."
        ),
        f'name = "{workload.name}"',
        f"last_steps = {bounds}",
        *WINDOWS.get(workload.name, ()),
    ]
    exact = {pair: [0.0] * measured for pair in EXACT.get(workload.name, ())}
    for pair, differences in sorted({**seen, **exact}.items()):
        tolerances = ", ".join(
            f"{rounded_up(max(LEAST, SAFETY * differences[bound - 1])):g}" for bound in bounds
        )
        lines += [
            "",
            "[[pairs]]",
            f"frameworks = {json.dumps(pair)}",
            f"tolerances = [{tolerances}]",
        ]
    path = repository_root() / "rules" / "audit" / f"{workload.name}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rounded_up(value: float) -> float:
    """To one digit."""
    unit = 10.0 ** math.floor(math.log10(value))
    return float(f"{math.ceil(round(value / unit, 6)) * unit:.0e}")


if __name__ == "__main__":
    main()
