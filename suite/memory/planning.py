"""Whether training fits a budget of memory, what takes the memory, and the schedule of
recomputation that makes it fit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from suite.errors import SuiteError
from suite.memory.chain import WORD_BYTES, Chain, Times, network_chain, scale_chain, updated_at_once
from suite.memory.network import Network
from suite.memory.optimal import SLOTS, PlannedSchedule, fastest_schedule, least_bytes
from suite.memory.resident import Resident
from suite.memory.schedule import simulate_schedule
from suite.memory.schedulers import keep_all
from suite.memory.sizes import write_size
from suite.memory.spilling import spilled_schedule

STATE_WORDS = {"sgd": 0, "sgd-momentum": 1, "adam": 2}
"""Words of optimizer state per weight."""

IMAGE_STEP = 8
MAX_IMAGE = 65_536
"""Pixels per side; three channels of one such picture take 51 GB."""


@dataclass(frozen=True)
class Workplace:
    """What is planned: a network, the size of its pictures, the optimizer, the framework's resident
    size and what the data pipeline keeps.

    ``times`` are measured ones of this picture size; without them a schedule's times are estimated.
    """

    network: Network
    image: int
    optimizer: str
    framework: Resident
    pipeline_bytes: int = 0
    times: Times | None = None

    @property
    def fixed_bytes(self) -> int:
        """Framework, data pipeline, weights, running statistics and optimizer state: what no
        schedule changes."""
        words = self.network.parameters * (1 + STATE_WORDS[self.optimizer]) + self.network.buffers
        return self.framework.size_bytes + self.pipeline_bytes + words * WORD_BYTES


@dataclass(frozen=True)
class PlanOptions:
    """The command's options that remedies name; ``left_free`` is the share of a budget that the
    plan does not use.

    ``spills``: activations are to be on storage where a budget asks for it, and nothing is to be
    recomputed.
    """

    batch: str = "--batch-size"
    budget: str = "--budget"
    left_free: float = 0.0
    spills: bool = False

    def named(self, least_bytes: int) -> str:
        """A budget in which this much fits."""
        return write_size(least_bytes * 1.01 / (1 - self.left_free)).replace(" ", "")


OF_PLAN = PlanOptions()


@dataclass(frozen=True)
class MemoryPlan:
    """A plan for one mini-batch size. ``peak_bytes`` is the highest memory without recomputation,
    everything included.

    ``activation_bytes`` is what all blocks keep for the backward pass, ``transient_bytes`` what the
    highest moment needs beyond it. ``schedule`` is the fastest that fits, with each weight updated
    as soon as its gradient is there, and ``stored`` the one that writes the fewest activations to
    storage and recomputes none; None if none does. ``largest_batch_size`` and ``largest_image`` fit
    without either; None if not even the smallest does.
    """

    workplace: Workplace
    batch: int
    budget_bytes: int
    blocks: Chain
    weight_bytes: int
    buffer_bytes: int
    gradient_bytes: int
    state_bytes: int
    activation_bytes: int
    transient_bytes: int
    peak_bytes: int
    schedule: PlannedSchedule | None
    stored: PlannedSchedule | None
    largest_batch_size: int | None
    largest_image: int | None

    @property
    def fits(self) -> bool:
        """Whether ordinary training fits."""
        return self.peak_bytes <= self.budget_bytes

    @property
    def planned_bytes(self) -> int | None:
        """Highest memory under the schedule, everything included."""
        if self.schedule is None:
            return None
        return self.workplace.fixed_bytes + self.schedule.cost.peak_bytes


def plan_memory(
    workplace: Workplace, batch: int, budget_bytes: int, options: PlanOptions = OF_PLAN
) -> MemoryPlan:
    """The plan. Raises SuiteError, with the nearest thing that works, for batch 0, an unknown
    optimizer and a budget that nothing fits."""
    if batch < 1:
        raise SuiteError(f"A mini-batch of {batch} samples trains nothing", "the smallest is 1")
    network, image = workplace.network, workplace.image
    single = network_chain(network, image, image, 1, workplace.times)
    blocks = scale_chain(single, batch)
    free = budget_bytes - workplace.fixed_bytes
    ordinary = _ordinary(blocks)
    best = fastest_schedule(updated_at_once(blocks), free) if free > 0 else None
    stored = spilled_schedule(updated_at_once(blocks), free) if free > 0 else None
    if ordinary > free and (stored is None if options.spills else best is None and stored is None):
        _refuse(workplace, single, batch, budget_bytes, options)
    gradients = sum(block.gradient_bytes for block in blocks)
    kept = sum(block.kept_bytes for block in blocks) + blocks[0].input_bytes
    return MemoryPlan(
        workplace=workplace,
        batch=batch,
        budget_bytes=budget_bytes,
        blocks=blocks,
        weight_bytes=network.parameters * WORD_BYTES,
        buffer_bytes=network.buffers * WORD_BYTES,
        gradient_bytes=gradients,
        state_bytes=network.parameters * STATE_WORDS[workplace.optimizer] * WORD_BYTES,
        activation_bytes=kept,
        transient_bytes=max(0, ordinary - kept),
        peak_bytes=workplace.fixed_bytes + ordinary,
        schedule=best,
        stored=stored,
        largest_batch_size=_largest(  # a picture takes more than a byte
            lambda size: _ordinary(scale_chain(single, size)) <= free, 1, free, 1
        ),
        largest_image=_largest_image(network, image, batch, free),
    )


def _ordinary(blocks: Chain) -> int:
    return simulate_schedule(keep_all(len(blocks)), blocks).peak_bytes


def _largest_image(network: Network, image: int, batch: int, free: int) -> int | None:
    """The largest multiple of IMAGE_STEP that fits, or ``image``, where the network takes pictures
    of this size only; None if none does."""

    def fits(size: int) -> bool:
        return _ordinary(network_chain(network, size, size, batch)) <= free

    if not _is_taken(network, MAX_IMAGE):
        return image if fits(image) else None
    sizes = range(IMAGE_STEP, MAX_IMAGE + 1, IMAGE_STEP)
    least = next(size for size in sizes if _is_taken(network, size))
    return _largest(fits, least, MAX_IMAGE, IMAGE_STEP)


def _is_taken(network: Network, image: int) -> bool:
    """Whether pictures of this size are large enough for the network, or its only size."""
    try:
        network_chain(network, image, image, 1)
    except SuiteError:
        return False
    return True


def _largest(fits: Callable[[int], bool], low: int, high: int, step: int) -> int | None:
    """The largest multiple of ``step`` that fits, by bisection; None if ``low`` does not."""
    if not fits(low):
        return None
    first, last = low // step, high // step
    while first < last:
        middle = (first + last + 1) // 2
        first, last = (middle, last) if fits(middle * step) else (first, middle - 1)
    return first * step


def _refuse(
    workplace: Workplace, single: Chain, batch: int, budget_bytes: int, options: PlanOptions
) -> None:
    """Raise the sentence for a budget that no schedule fits."""
    solve = spilled_schedule if options.spills else partial(fastest_schedule, slots=SLOTS // 2)
    schedules = "even with all activations on storage" if options.spills else "with any schedule"
    title, fixed = workplace.network.title, workplace.fixed_bytes
    least_one = fixed + least_bytes(updated_at_once(single), solve)
    image = f"{workplace.image}x{workplace.image}"
    if budget_bytes < least_one:
        raise SuiteError(
            f"{title} does not train in {write_size(budget_bytes)} {schedules}: framework,"
            f" weights and optimizer state alone take {write_size(fixed)}; with mini-batches of one"
            f" image of {image} the training needs {write_size(least_one)} in all",
            f"give at least {options.budget} {options.named(least_one)}, or choose a smaller image"
            " or network",
        )
    batch_fits = _largest(
        lambda size: (
            solve(updated_at_once(scale_chain(single, size)), budget_bytes - fixed) is not None
        ),
        1,
        batch,
        1,
    )
    least = fixed + least_bytes(updated_at_once(scale_chain(single, batch)), solve)
    raise SuiteError(
        f"With mini-batches of {batch} images of {image}, {title} does not train in"
        f" {write_size(budget_bytes)} {schedules}: it needs at least {write_size(least)}",
        f"use {options.batch} {batch_fits}, or {options.budget} {options.named(least)}",
    )
