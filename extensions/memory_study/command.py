"""`suite memory plan|tables|framework|kept|study`: does training fit a board's memory, with which
schedule, at which price."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from suite.catalog.definitions import unknown_name
from suite.catalog.devices import load_devices
from suite.catalog.workloads import load_workloads
from suite.cli.json_output import JsonFormat, print_json, print_rows
from suite.cli.options import Json, say
from suite.errors import SuiteError
from suite.extensions.memory_study.measuring.halved import peak_in_bfloat16
from suite.extensions.memory_study.measuring.kept_parts import kept_parts
from suite.extensions.memory_study.measuring.study import Asked, make
from suite.extensions.memory_study.record.paper_tables import LIMIT, Cell, cells, published
from suite.extensions.memory_study.record.study_file import MEMORY_STUDY, MemoryStudy
from suite.files.durable import refuse_output_folder
from suite.files.shell_command import shell_command
from suite.machine.system import cpu_model
from suite.memory.chain import updated_at_once
from suite.memory.operation_times import known_times, measure_times
from suite.memory.optimal import PlannedSchedule
from suite.memory.planning import STATE_WORDS, MemoryPlan, Workplace, plan_memory
from suite.memory.resident import measure_resident, resident_size
from suite.memory.sizes import parse_size, write_size
from suite.memory.spilling import CARD_BYTES_PER_S, DISK_BYTES_PER_S, storage_s
from suite.memory.tracing import network_named

PLAN_FORMAT = JsonFormat(
    "memory-plan",
    "suite memory plan",
    {
        "network": "its name",
        "trains_more": (
            "whether the plan is for all layers although the workload trains a part of them, which"
            " takes less"
        ),
        "batch_size": "samples of a mini-batch",
        "image": "width and height of a picture",
        "optimizer": "sgd, sgd-momentum or adam",
        "budget_bytes": "memory that training may take",
        "framework_bytes": (
            "resident size of the framework's process before any weight is allocated"
        ),
        "framework_source": "source of that figure",
        "weight_bytes": "weights",
        "buffer_bytes": "running statistics",
        "gradient_bytes": "gradients of the weights",
        "state_bytes": "optimizer state",
        "activation_bytes": "what all blocks keep for the backward pass",
        "transient_bytes": "peak of activations and gradients, minus activation_bytes",
        "peak_bytes": "highest memory without recomputation, everything included",
        "planned_bytes": "highest memory under the schedule",
        "fits": "whether training fits without recomputation",
        "largest_batch_size": "largest mini-batch that fits without recomputation, or null",
        "largest_image": "largest picture that fits without recomputation, or null",
        "bfloat16": "planned_bytes if all activations were kept in bfloat16",
        "storage": (
            "schedule without recomputation that keeps the fewest activations on storage, or null;"
            " its keys are those of `schedule`, and planned_bytes"
        ),
        "blocks": (
            "list: sizes and times of each block of the chain, and the ways in which the block"
            " can keep less"
        ),
        "schedule": (
            "name, peak_bytes (activations and gradients only), time (in the unit of `blocks`),"
            " recompute_factor, spilled_bytes (written to storage in each training step), steps"
            " (action, block, operations that run again)"
        ),
    },
    optional=frozenset({"schedule"}),
    version=2,
)

TABLES_FORMAT = JsonFormat(
    "memory-tables",
    "suite memory tables",
    {
        "table": "I, II or III",
        "depth": "of the ResNet",
        "batch_size": "samples of a mini-batch",
        "image": "width and height of a picture",
        "published": "value in the paper, MiB (GiB in Table III)",
        "calculated": "value from the layers",
        "kept": "weights and what PyTorch keeps for the backward pass",
        "deviation": "calculated / published - 1",
    },
    is_list=True,
    version=2,
)

KEPT_FORMAT = JsonFormat(
    "memory-kept",
    "suite memory kept",
    {
        "name": "part of the network that is trained",
        "trained": "number of its parameters",
        "kept_bytes": "memory that autograd keeps for the backward pass",
        "weight_bytes": "part of kept_bytes that is weights, which are in memory anyway",
    },
    is_list=True,
)

FRAMEWORK_FORMAT = JsonFormat(
    "memory-framework",
    "suite memory framework",
    {
        "size_bytes": "resident size of PyTorch's process before any weight is allocated",
        "source": "source of that figure",
    },
)

TIMES_FORMAT = JsonFormat(
    "memory-times",
    "suite memory times",
    {
        "network": "its name",
        "batch_size": "samples of a mini-batch",
        "image": "width and height of a picture",
        "forward_s": "CPU time of a forward pass per picture, one thread",
        "backward_s": "CPU time of a backward pass per picture, one thread",
    },
)

STUDY_FORMAT = JsonFormat(
    "memory-study",
    "suite memory study",
    {
        "path": "folder of the study",
        "panels": "list: name, image, batch, lines (planned, paper, published), measured",
    },
)


BatchSize = Annotated[
    int, typer.Option("--batch-size", help="Samples of a mini-batch, as in `suite run`.")
]
Model = Annotated[
    str,
    typer.Argument(
        help="A stored network (resnet18, workload-lenet, …), or the name of a torchvision network."
    ),
]
Image = Annotated[
    int | None,
    typer.Option(help="Width and height of the pictures (default: the network's usual ones)."),
]
memory = typer.Typer(
    no_args_is_help=True,
    help="Plan the memory of training: does it fit, with which schedule, at which cost.",
)

STUDIED = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152")
BUDGET_HELP = (
    "Memory that training may take, such as 2GB (GB is 10^9 bytes), or the name of a device (memory"
    " of its smallest variant)."
)


@memory.command(name="plan")
def plan_command(
    model: Annotated[
        str,
        typer.Argument(
            help=(
                "A stored network (resnet18, workload-lenet, …), or the name of a torchvision"
                " network, which PyTorch then traces."
            )
        ),
    ],
    budget: Annotated[str, typer.Option(help=BUDGET_HELP)],
    batch: BatchSize = 8,
    image: Image = None,
    optimizer: Annotated[str, typer.Option(help="sgd, sgd-momentum or adam.")] = "sgd-momentum",
    json: Json = False,
) -> None:
    """Plan the memory of training a network: its parts, what fits a budget, and the schedule that
    makes it fit."""
    if optimizer not in STATE_WORDS:
        raise SuiteError(
            f"There is no optimizer {optimizer!r}", f"choose one of {', '.join(STATE_WORDS)}"
        )
    network = network_named(model)
    pixels = network.image[1] if image is None else image
    if pixels < 1:
        raise SuiteError(
            f"A picture of {pixels}x{pixels} has no pixels",
            f"{network.title} usually takes --image {network.image[1]}",
        )
    made = plan_memory(
        Workplace(network, pixels, optimizer, resident_size(), times=known_times(network, pixels)),
        batch,
        _budget(budget),
    )
    if json:
        print_json(PLAN_FORMAT, _as_dict(made))
    else:
        print("\n".join(_plan_lines(made)))


@memory.command()
def tables(json: Json = False) -> None:
    """Calculate Tables I to III of "Training on the edge" (Kukreja et al., 2019) and compare them
    with the published values."""
    found = cells()
    if json:
        print_rows(TABLES_FORMAT, [{**asdict(cell), "deviation": cell.deviation} for cell in found])
    else:
        print("\n".join(_table_lines(found)))


@memory.command()
def framework(json: Json = False) -> None:
    """Measure the resident size of PyTorch's environment on this machine; `suite memory plan` uses
    it from then on."""
    found = measure_resident()
    if json:
        print_json(FRAMEWORK_FORMAT, {"size_bytes": found.size_bytes, "source": found.source})
        return
    print(
        f"PyTorch's process takes {write_size(found.size_bytes)} before any weight of the network"
        f" is allocated ({found.source})."
    )


@memory.command()
def times(
    model: Model,
    batch: BatchSize = 8,
    image: Image = None,
    json: Json = False,
) -> None:
    """Measure CPU times of a network's operations on this machine; `suite memory plan` uses them
    from then on for pictures of this size."""
    network = network_named(model)
    pixels = network.image[1] if image is None else image
    found = measure_times(network, pixels, batch)
    forward, backward = sum(found.forward), sum(found.backward)
    if json:
        asked = {"network": network.name, "batch_size": batch, "image": pixels}
        print_json(TIMES_FORMAT, {**asked, "forward_s": forward, "backward_s": backward})
        return
    print(
        f"{network.title}, {batch} pictures of {pixels}x{pixels}, one thread: {forward:.3g} s"
        f" forward and {backward:.3g} s backward per picture."
    )


@memory.command()
def kept(
    model: Model,
    batch: BatchSize = 8,
    image: Image = None,
    json: Json = False,
) -> None:
    """Measure what PyTorch keeps for the backward pass when all layers are trained, biases only,
    the last stage, or the head."""
    network = network_named(model)
    pixels = network.image[1] if image is None else image
    found = kept_parts(network, pixels, batch)
    if json:
        print_rows(KEPT_FORMAT, [asdict(part) for part in found])
        return
    print(
        f"{network.title}, {batch} pictures of {pixels}x{pixels}, float32: kept for the backward"
        " pass"
    )
    print(f"  {'trained':26}{'parameters':>12}{'kept':>14}{'of it weights':>16}")
    for part in found:
        print(
            f"  {part.name:26}{part.trained:>12,}{part.kept_bytes / 2**20:>10.1f}"
            f" MiB{part.weight_bytes / 2**20:>12.1f} MiB"
        )


@memory.command()
def study(
    output: Annotated[
        Path, typer.Option(help="Folder of the study; `suite report` draws it.")
    ] = Path("memory-study"),
    networks: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            help="Networks to measure; the plan always covers all five ResNets.",
        ),
    ] = "resnet18,resnet50",
    budget: Annotated[
        str, typer.Option(help="Memory limit, drawn as a line in the figures.")
    ] = "2GB",
    measure_below: Annotated[
        str, typer.Option(help="Measure only schedules whose planned peak memory is at most this.")
    ] = "3GB",
    steps: Annotated[
        int, typer.Option(min=1, help="Measured steps of each schedule, after one warm-up step.")
    ] = 3,
    json: Json = False,
) -> None:
    """Plan and measure Figure 1 of Kukreja et al. (2019): peak memory and recompute factor."""
    refuse_output_folder(output)
    names = tuple(name.strip() for name in networks.split(",") if name.strip())
    unknown = [name for name in names if name not in STUDIED]
    if unknown:
        raise SuiteError(
            f"The study has no network {unknown[0]!r}",
            f"choose from {', '.join(STUDIED)}, or give --networks '' to measure none",
        )
    asked = Asked(STUDIED, names, parse_size(budget), parse_size(measure_below), steps)
    made = make(asked, resident_size(), cpu_model(), say)
    output.mkdir(parents=True, exist_ok=True)
    MEMORY_STUDY.write(output, asdict(made))
    if json:
        print_json(STUDY_FORMAT, {"path": output, "panels": made.panels})
    else:
        _show_study(made, output)


def _show_study(made: MemoryStudy, output: Path) -> None:
    if any(panel.measured for panel in made.panels):
        print("\n".join(_study_lines(made)))
    print(
        f"The study is in {output}\n"
        f"Draw it:   {shell_command('suite report', output)} --output site"
    )


def _study_lines(made: MemoryStudy) -> Iterator[str]:
    yield (
        f"{'':4} {'network':10} {'schedule':30} {'planned':>9} {'measured':>9} {'ratio':>6}"
        f" {'factor':>7} {'planned':>8}"
    )
    for panel in made.panels:
        for each in panel.measured:
            factor = "" if each.factor is None else f"{each.factor:.2f}"
            sizes = (
                f"{write_size(each.planned_bytes):>9} {write_size(each.measured_bytes):>9}"
                f" {each.measured_bytes / each.planned_bytes:>6.3f}"
            )
            yield (
                f"{panel.name:4} {each.network:10} {each.schedule:30} {sizes} {factor:>7}"
                f" {each.planned_factor:>8.2f}"
            )


def _budget(text: str) -> int:
    if text[:1].isdigit():
        return parse_size(text)
    devices = {device.name: device for device in load_devices() if device.memory is not None}
    if text not in devices:
        raise SuiteError(
            unknown_name(
                "known memory size for the device", text, sorted(devices), "`suite list devices`"
            )
        )
    memory = devices[text].memory
    return round(min(memory.sizes_gb if memory else ()) * 1e9)


def _trains_more(network: str) -> bool:
    """Whether the plan is for all layers of a workload that trains a part of them."""
    return network in {f"workload-{each.name}" for each in load_workloads() if each.trains}


def _plan_lines(made: MemoryPlan) -> Iterator[str]:
    where = made.workplace
    yield (
        f"{where.network.title}, {made.batch} pictures of {where.image}x{where.image},"
        f" {where.optimizer}, float32"
    )
    if _trains_more(where.network.name):
        yield "The plan trains all layers; the workload trains a part of them, which takes less."
    yield ""
    parts = (
        ("framework", where.framework.size_bytes, where.framework.source),
        ("weights", made.weight_bytes, f"{where.network.parameters:,} parameters"),
        ("running statistics", made.buffer_bytes, ""),
        ("optimizer state", made.state_bytes, where.optimizer),
        ("gradients of the weights", made.gradient_bytes, "grow while the backward pass proceeds"),
        ("activations", made.activation_bytes, "kept for the backward pass; listed by block below"),
    )
    yield from (f"  {name:26}{write_size(size):>9}  {note}".rstrip() for name, size, note in parts)
    yield f"  {'highest at once':26}{write_size(made.peak_bytes):>9}  without recomputation"
    yield ""
    yield from (f"    {block.name:24}{write_size(block.kept_bytes):>9}" for block in made.blocks)
    yield ""
    yield from _verdict(made)
    yield from _elsewhere_lines(made)


def _elsewhere_lines(made: MemoryPlan) -> Iterator[str]:
    """Activations in bfloat16 or on storage, without recomputation."""
    fixed, stored = made.workplace.fixed_bytes, made.stored
    halved = write_size(fixed + peak_in_bfloat16(updated_at_once(made.blocks)))
    yield ""
    yield (
        f"Without recomputation, with all activations in bfloat16, the peak would be {halved};"
        " the gradients would differ, and the suite does not train this way."
    )
    if made.fits:
        return
    if stored is None:
        yield "Without recomputation, training does not fit even with all activations on storage."
        return
    moved, card, disk = (
        stored.cost.spilled_bytes,
        *(
            storage_s(stored.cost.spilled_bytes, rate)
            for rate in (CARD_BYTES_PER_S, DISK_BYTES_PER_S)
        ),
    )
    yield (
        "With activations on storage, training fits (`suite run --spill DIR`):"
        f" {stored.schedule.name}, {write_size(fixed + stored.cost.peak_bytes)} of memory. Each "
        f"step writes {write_size(moved)} and reads them again. That takes {card:.3g} s on an SD"
        f" card of class 10 and {disk:.2g} s on an NVMe disk of 1 GB/s."
    )


def _verdict(made: MemoryPlan) -> Iterator[str]:
    budget = write_size(made.budget_bytes)
    if made.fits:
        yield f"Training fits into {budget} without recomputation."
    else:
        yield f"Training does not fit into {budget} without recomputation."
    if made.largest_batch_size is None:
        yield "Without recomputation not even one picture fits."
    else:
        yield (
            "Without recomputation the largest mini-batch that fits is"
            f" {made.largest_batch_size} at this picture size."
        )
    if made.largest_image is not None:
        yield (
            f"The largest picture at this mini-batch is {made.largest_image}x{made.largest_image}."
        )
    if not made.fits and made.schedule is None:
        yield "With recomputation, training does not fit either."
    if not made.fits and made.schedule is not None and made.planned_bytes is not None:
        cost, times = (
            made.schedule.cost,
            "estimated" if made.workplace.times is None else "measured",
        )
        yield (
            f"With recomputation, training fits: schedule {made.schedule.schedule.name} needs"
            f" {write_size(made.planned_bytes)}. Forward and backward passes take"
            f" {cost.recompute_factor:.2f} times as long as without recomputation (computed from"
            f" {times} times of the blocks). A step has {made.schedule.schedule.forwards} forward"
            f" runs of blocks instead of {len(made.blocks)}."
        )


def _as_dict(made: MemoryPlan) -> dict[str, object]:
    where = made.workplace
    values: dict[str, object] = {
        "network": where.network.name,
        "trains_more": _trains_more(where.network.name),
        "batch_size": made.batch,
        "image": where.image,
        "optimizer": where.optimizer,
        "budget_bytes": made.budget_bytes,
        "framework_bytes": where.framework.size_bytes,
        "framework_source": where.framework.source,
    }
    names = (
        "weight_bytes",
        "buffer_bytes",
        "gradient_bytes",
        "state_bytes",
        "activation_bytes",
        "transient_bytes",
        "peak_bytes",
        "planned_bytes",
    )
    values |= {
        name: getattr(made, name)
        for name in (*names, "fits", "largest_batch_size", "largest_image")
    }
    values["bfloat16"] = {
        "planned_bytes": where.fixed_bytes + peak_in_bfloat16(updated_at_once(made.blocks))
    }
    stored = made.stored
    values["storage"] = (
        None
        if stored is None
        else {**_schedule_dict(stored), "planned_bytes": where.fixed_bytes + stored.cost.peak_bytes}
    )
    values["blocks"] = [asdict(block) for block in made.blocks]
    if made.schedule is not None:
        values["schedule"] = _schedule_dict(made.schedule)
    return values


def _schedule_dict(found: PlannedSchedule) -> dict[str, object]:
    return {
        "name": found.schedule.name,
        **asdict(found.cost),
        "steps": [step.as_list for step in found.schedule.steps],
    }


def _table_lines(found: list[Cell]) -> Iterator[str]:
    for table in published().tables:
        own = [cell for cell in found if cell.table == table.name]
        yield f"Table {table.name}: {table.title}"
        yield (
            f"{table.varies:>7}  {'network':>10} {'published':>10} {'calculated':>10}"
            f" {'deviation':>9}  {'kept by PyTorch':>15}"
        )
        for cell in own:
            value = cell.batch_size if table.varies == "batch" else cell.image
            figures = (
                f"{cell.published:>10.2f} {cell.calculated:>10.2f} {cell.deviation:>+9.2%} "
                f" {cell.kept:>15.2f}"
            )
            yield f"{value:>7}  {'ResNet-' + str(cell.depth):>10} {figures}"
        yield ""
    worst = max(found, key=lambda cell: abs(cell.deviation))
    far = sum(abs(cell.deviation) > LIMIT for cell in found)
    yield (
        f"{len(found)} cells; {far} deviate by more than {LIMIT:.0%}. The largest deviation is"
        f" {worst.deviation:+.2%}."
    )
    yield (
        "Formula: 4 bytes [P + B (2 L - c)] for a mini-batch of B;"
        " extensions/memory_study/README.md explains P, L and c."
    )
    yield "Kept by PyTorch: the weights, and the tensors that autograd keeps for the backward pass."
