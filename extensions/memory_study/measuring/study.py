"""The study of memory: Figure 1 of Kukreja et al. (PAISE 2019) planned, measured, and beside the
published values; and what fits on which board."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from suite.catalog.devices import load_devices
from suite.errors import SuiteError
from suite.extensions.memory_study.measuring.steps import measured_steps
from suite.extensions.memory_study.record.paper_tables import Published, published, terms
from suite.extensions.memory_study.record.study_file import (
    SCHEMA,
    Fit,
    Line,
    Measurement,
    MemoryStudy,
    Panel,
    Point,
)
from suite.memory.chain import WORD_BYTES, Chain, network_chain, scale_chain, updated_at_once
from suite.memory.network import Network, load_network
from suite.memory.optimal import PlannedSchedule, fastest_schedule, least_bytes
from suite.memory.planning import Workplace, plan_memory
from suite.memory.resident import Resident
from suite.memory.schedule import Schedule, simulate_schedule
from suite.memory.schedulers import keep_all, revolve_advances

TITLE = "Memory of training by network depth, mini-batch size and picture size"
OPTIMIZER = "sgd-momentum"
PANELS = (("1a", 224, 1), ("1b", 224, 8), ("1c", 500, 1), ("1d", 500, 8))
"""Name, image and mini-batch of each panel."""

BUDGETS = 10
"""Budgets along a planned line, from the least that a schedule fits to that of ordinary
training."""

MAX_FACTOR = 3.0
MEASURED_PARTS = (1.0, 0.75, 0.5)
"""Measured schedules: ordinary training, and the fastest ones that fit these parts of its
activations."""

FITS_BATCH, FITS_IMAGE = 8, 224
PUBLISHED_IN = {"1a": ("I", 1), "1b": ("III", 224), "1c": ("II", 500), "1d": ("III", 500)}
"""Table and row with the published memory of a panel's networks."""


@dataclass(frozen=True)
class Asked:
    """What is studied: the networks whose lines are planned, those that are measured, and the
    largest planned peak that is still measured."""

    planned: tuple[str, ...]
    measured: tuple[str, ...]
    budget_bytes: int
    largest_bytes: int
    steps: int


def make(
    asked: Asked, framework: Resident, cpu_model: str | None, report: Callable[[str], None]
) -> MemoryStudy:
    """Plan and measure. ``report`` gets a line for each panel. Raises SuiteError without PyTorch's
    environment, if anything is to be measured."""
    paper, panels = published(), []
    for name, image, batch in PANELS:
        report(f"Figure {name}: pictures of {image}x{image}, mini-batch of {batch}")
        panels.append(_panel(name, image, batch, asked, framework, paper))
    report("what fits on which board")
    fits = tuple(fit for known in asked.planned for fit in fits_of(known, framework))
    return MemoryStudy(
        schema=SCHEMA,
        title=TITLE,
        cpu_model=cpu_model,
        optimizer=OPTIMIZER,
        framework_bytes=framework.size_bytes,
        framework_source=framework.source,
        budget_bytes=asked.budget_bytes,
        fits_batch=FITS_BATCH,
        fits_image=FITS_IMAGE,
        panels=tuple(panels),
        fits=fits,
    )


def _panel(
    name: str, image: int, batch: int, asked: Asked, framework: Resident, paper: Published
) -> Panel:
    planned: list[Line] = []
    measured: list[Measurement] = []
    for known in asked.planned:
        where = Workplace(load_network(known), image, OPTIMIZER, framework)
        blocks = updated_at_once(network_chain(where.network, image, image, batch))
        planned.append(Line(known, tuple(line(where, blocks))))
        if known in asked.measured:
            measured += _measure_schedules(where, blocks, batch, asked)
    linear = tuple(
        Line(
            f"resnet{depth}", tuple(paper_line(load_network(f"resnet{depth}"), depth, image, batch))
        )
        for depth in paper.depths
    )
    return Panel(
        name, image, batch, tuple(planned), linear, tuple(_published(name, paper)), tuple(measured)
    )


def line(where: Workplace, blocks: Chain) -> Iterator[Point]:
    """The fastest schedule at budgets between the least one and ordinary training, everything
    included; smallest factor first."""
    ordinary, least = (
        simulate_schedule(keep_all(len(blocks)), blocks).peak_bytes,
        least_bytes(blocks),
    )
    seen = set()
    for number in range(BUDGETS):
        found = fastest_schedule(
            blocks, round(ordinary - (ordinary - least) * number / (BUDGETS - 1))
        )
        if found is not None and found.cost not in seen:
            seen.add(found.cost)
            yield Point(found.cost.recompute_factor, where.fixed_bytes + found.cost.peak_bytes)


def paper_line(network: Network, depth: int, image: int, batch: int) -> Iterator[Point]:
    """The paper's model, smallest factor first: ``depth`` equal layers share the network's
    activations, and Revolve keeps some of them.

    Memory is that of the weights, each once, and of the kept layers. The factor is Revolve's
    forward runs to other layers and the backward runs, over the 2 ``depth`` runs without
    recomputation: so ResNet-152 fits 2 GB from 1.6 on, as the paper says.
    """
    counted = terms(network, image)
    layer = batch * (2 * counted.outputs - counted.left_out) / depth
    for slots in range(depth, 0, -1):
        factor = max(1.0, (revolve_advances(depth, slots) + depth) / (2 * depth))
        if factor <= MAX_FACTOR:
            yield Point(factor, WORD_BYTES * (network.parameters + slots * layer))


def _published(name: str, paper: Published) -> Iterator[Line]:
    title, value = PUBLISHED_IN[name]
    table = next(each for each in paper.tables if each.name == title)
    row = table.cells[table.values.index(value)]
    for depth, cell in zip(paper.depths, row, strict=True):
        yield Line(f"resnet{depth}", (Point(1.0, cell * table.unit_bytes),))


def _measure_schedules(
    where: Workplace, blocks: Chain, batch: int, asked: Asked
) -> Iterator[Measurement]:
    """Each schedule in a process of its own; the first one is ordinary training, which gives the
    factors."""
    ordinary_s = None
    for schedule, cost in _schedules(blocks):
        planned_bytes = where.fixed_bytes + cost.cost.peak_bytes
        if planned_bytes > asked.largest_bytes:
            continue
        answers = measured_steps(
            where.network.name, where.image, batch, blocks, schedule, asked.steps
        )
        seconds = statistics.median(answer.cpu_s for answer in answers)
        if cost.cost.recompute_factor == 1:
            ordinary_s = seconds
        yield Measurement(
            network=where.network.name,
            schedule=schedule.name,
            planned_factor=cost.cost.recompute_factor,
            planned_bytes=planned_bytes,
            factor=None if ordinary_s is None else seconds / ordinary_s,
            measured_bytes=max(answer.peak_bytes for answer in answers),
            steps=len(answers),
        )


def _schedules(blocks: Chain) -> Iterator[tuple[Schedule, PlannedSchedule]]:
    ordinary = simulate_schedule(keep_all(len(blocks)), blocks).peak_bytes
    seen = set()
    for part in MEASURED_PARTS:
        found = fastest_schedule(blocks, round(ordinary * part))
        if found is not None and found.schedule.steps not in seen:
            seen.add(found.schedule.steps)
            yield found.schedule, found


def fits_of(known: str, framework: Resident) -> Iterator[Fit]:
    """Whether a network trains in each memory that a board of rules/devices has, at FITS_BATCH
    pictures of FITS_IMAGE."""
    where = Workplace(load_network(known), FITS_IMAGE, OPTIMIZER, framework)
    for memory_gb, devices in sorted(_memories().items()):
        budget = round(memory_gb * 1e9)
        try:
            made = plan_memory(where, FITS_BATCH, budget)
            factor = None if made.schedule is None else made.schedule.cost.recompute_factor
            yield Fit(memory_gb, devices, known, made.largest_batch_size, factor)
        except SuiteError:  # not with any schedule
            yield Fit(memory_gb, devices, known, _largest_batch(where, budget), None)


def _memories() -> dict[float, tuple[str, ...]]:
    found: dict[float, tuple[str, ...]] = {}
    for device in load_devices():
        for size in device.memory.sizes_gb if device.memory is not None else ():
            found[float(size)] = (*found.get(float(size), ()), device.name)
    return found


def _largest_batch(where: Workplace, budget_bytes: int) -> int | None:
    """The largest mini-batch below FITS_BATCH that fits without recomputation."""
    single = network_chain(where.network, where.image, where.image, 1)
    free = budget_bytes - where.fixed_bytes
    sizes: Sequence[int] = [
        size
        for size in range(1, FITS_BATCH)
        if simulate_schedule(keep_all(len(single)), scale_chain(single, size)).peak_bytes <= free
    ]
    return max(sizes, default=None)
