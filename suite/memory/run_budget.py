"""A run in a budget of memory: the schedule of recomputation for its network, mini-batch, data and
optimizer."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

from reference_impls import contract
from suite.catalog.frameworks import Framework
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.memory.chain import WORD_BYTES, Times, updated_at_once
from suite.memory.network import Network, load_network
from suite.memory.operation_times import known_times
from suite.memory.optimal import least_bytes
from suite.memory.planning import PlanOptions, Workplace, plan_memory
from suite.memory.resident import Resident
from suite.memory.sizes import write_size

LEFT_FREE = 0.05
"""Share of the budget for what is not planned: kernels' scratch memory and gaps between tensors."""

MAPPED_LAYOUTS = ("idx", "cifar10")
"""Data sets that the training process maps into its memory; pictures of others are read one by
one."""

BATCHES_AT_ONCE = 2
"""The mini-batch that is trained, and the next one while it is made."""

OF_RUN = PlanOptions("--batch-size", "--memory-budget", LEFT_FREE)
WITH_SPILL = replace(OF_RUN, spills=True)


@dataclass(frozen=True)
class Data:
    """What the data pipeline keeps in the training process, bytes: mapped files, and mini-batches
    beside the one that is trained."""

    mapped_bytes: int
    batch_bytes: int


def recomputation(
    training: contract.Request,
    framework: Framework,
    size: Resident,
    budget_bytes: int,
    times: Times | None = None,
    spill: Path | None = None,
) -> contract.Recomputation:
    """The fastest schedule for this run in this budget; with a folder ``spill``, the one that
    writes the fewest activations there.

    Raises SuiteError, with the nearest thing that works, for a budget that nothing fits, and for
    what follows no schedule: another framework, several ranks, 16-bit types, a part of a model, a
    model that is not the workload's own.
    """
    _refuse_others(training, framework)
    network = network_of(training)
    data = data_of(training, network)
    optimizer = "sgd-momentum" if training.optimizer.momentum else "sgd"
    where = Workplace(
        network, network.image[1], optimizer, size, data.mapped_bytes + data.batch_bytes, times
    )
    usable = int(budget_bytes * (1 - LEFT_FREE))
    _refuse_too_little(where, budget_bytes, usable)
    made = plan_memory(
        where, training.global_batch_size, usable, OF_RUN if spill is None else WITH_SPILL
    )
    found = made.schedule if spill is None else made.stored
    if found is None:
        least = where.fixed_bytes + least_bytes(updated_at_once(made.blocks))
        remedy = "" if made.stored is None else ", or --spill DIR for activations on storage"
        raise SuiteError(
            f"{network.title} with mini-batches of {made.batch} samples does not fit"
            f" {write_size(budget_bytes)} even with recomputation",
            f"use --memory-budget {OF_RUN.named(least)} or more{remedy}",
        )
    spills = spill is not None and found.cost.spilled_bytes > 0
    return contract.Recomputation(
        budget_bytes=budget_bytes,
        planned_bytes=where.fixed_bytes + max(found.cost.peak_bytes, copies_bytes(network)),
        planned_factor=found.cost.recompute_factor,
        schedule=found.schedule.name,
        blocks=[[block.first, block.last] for block in made.blocks],
        actions=[step.as_list for step in found.schedule.steps],
        spill_folder=str(spill) if spills else None,
        planned_spill_bytes=found.cost.spilled_bytes,
        factor_without_spill=(
            made.schedule.cost.recompute_factor if spills and made.schedule is not None else None
        ),
    )


def network_of(training: contract.Request) -> Network:
    """The stored network of the run's workload, its last layer for the classes of the run's
    data."""
    network = load_network(f"workload-{training.workload}")
    last = network.operations[-1]
    if last.kind != "linear" or last.channels == training.data.classes:
        return network
    own = replace(
        last,
        channels=training.data.classes,
        parameters=last.parameters // last.channels * training.data.classes,
    )
    return replace(network, operations=(*network.operations[:-1], own))


def measured_times(training: contract.Request) -> Times | None:
    """Measured times of the workload's network; its last layer may have other classes, which take
    next to no time."""
    network = load_network(f"workload-{training.workload}")
    return known_times(network, network.image[1])


def data_of(training: contract.Request, network: Network) -> Data:
    """What the pipeline keeps: a byte per pixel of a mapped data set, and float32 pictures with
    their bytes of one more mini-batch."""
    pixels = math.prod(network.image)
    samples = training.data.train_samples + training.data.eval_samples
    mapped = samples * pixels if training.data.layout in MAPPED_LAYOUTS else 0
    in_process = BATCHES_AT_ONCE - 1 if training.loading.workers == 0 else 0
    return Data(mapped, in_process * training.global_batch_size * pixels * (WORD_BYTES + 1))


def copies_bytes(network: Network) -> int:
    """The copies of weights, velocities and statistics that are made after an epoch, when no
    activations and gradients are left."""
    return (2 * network.parameters + network.buffers) * WORD_BYTES


def _refuse_others(training: contract.Request, framework: Framework) -> None:
    if framework.without_recomputation:
        raise SuiteError(
            f"{framework.title} takes no memory budget: {framework.without_recomputation}",
            "use --framework pytorch, or leave --memory-budget out",
        )
    if training.parallel.ranks > 1:
        raise SuiteError(
            "A memory budget is for one rank; leave --hostfile, --ranks-per-node and --nodes out."
        )
    if training.accelerator != "cpu":
        raise SuiteError(
            "A memory budget is planned for a CPU's memory, not for a GPU's; use --accelerator cpu,"
            " or leave --memory-budget out."
        )
    if training.trains is not None:
        raise SuiteError(
            "A memory budget is for training a whole model, and this workload trains a part of one;"
            " leave --memory-budget out."
        )
    if training.precision not in (contract.FLOAT32, contract.TF32):
        raise SuiteError(
            f"A memory budget is planned for float32, not for {training.precision}; leave"
            " --memory-budget or --precision out."
        )
    own = load_workload(training.workload).model
    if training.model != own:
        raise SuiteError(
            f"A memory budget is planned for the workload's model {own}, not for {training.model};"
            " leave --data out to train that model."
        )


def _refuse_too_little(where: Workplace, budget_bytes: int, usable: int) -> None:
    """Refuse a budget that not even weights, state and their copies after an epoch fit."""
    least = where.fixed_bytes + copies_bytes(where.network)
    if least > usable:
        raise SuiteError(
            f"{where.network.title} does not train in {write_size(budget_bytes)}: framework, data,"
            " weights, optimizer state and the copies made after an epoch take"
            f" {write_size(least)},"
            f" and the suite leaves {LEFT_FREE:.0%} of every budget free",
            f"use --memory-budget {OF_RUN.named(least)} or more",
        )
