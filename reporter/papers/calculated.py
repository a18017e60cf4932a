"""Tables and panels without runs: from the suite's device profiles, workloads and counts of
layers."""

from collections.abc import Callable, Mapping
from functools import cache

from reporter.papers.model import Dot, Estimate, Keys, Line, Lines, PaperFigure, Scatter, Table
from suite.catalog.data_sets import load_data_set
from suite.catalog.devices import Device, load_device, load_devices
from suite.catalog.papers import Item, PublishedTable
from suite.catalog.workloads import load_workload
from suite.memory.network import load_network
from suite.memory.paper_tables import LIMIT, Cell, Terms, cells, published, terms
from suite.memory.paper_tables import PublishedTable as MemoryTable
from suite.memory.schedulers import revolve_forwards

WORD_BYTES, GIB, MIB = 4, 2**30, 2**20
NO_ERROR_BARS = ""
DEVICES = {"Nano": "nano", "Xavier NX": "xavier-nx", "AGX Xavier": "agx-xavier", "AGX Orin": "orin"}
WORKLOADS = {
    "LeNet-5": "lenet",
    "MobileNetV3": "mobilenetv3",
    "ResNet-18": "resnet18",
    "ResNet-50": "resnet50",
    "VGG-11": "vgg11",
}
MODES = {"g": "MAXN"}
PANELS = {
    "memory-1a": (224, 1),
    "memory-1b": (224, 8),
    "memory-1c": (500, 1),
    "memory-1d": (500, 8),
}
"""Width of the pictures and mini-batch of each panel of the study's Figure 1."""

MEMORY_TABLES = {"memory-table-1": "I", "memory-table-2": "II", "memory-table-3": "III"}
MAX_FACTOR, STEPS = 3.0, 41
FEATURES: Mapping[str, Callable[[Device], object]] = {
    "CPU cores": lambda device: device.cpu and device.cpu.cores,
    "CPU MHz": lambda device: device.cpu and device.cpu.max_frequency_mhz,
    "CUDA cores": lambda device: device.gpu and device.gpu.cuda_cores,
    "tensor cores": lambda device: device.gpu and device.gpu.tensor_cores,
    "GPU MHz": lambda device: device.gpu and device.gpu.max_frequency_mhz,
    "RAM GB": lambda device: device.memory and ", ".join(map(str, device.memory.sizes_gb)),
    "memory MHz": lambda device: device.memory and device.memory.max_frequency_mhz,
    "power W": lambda device: None if device.max_power_w is None else f"{device.max_power_w:g}",
}


def draw(item: Item) -> PaperFigure:
    """The figure of an item from the suite's own catalogue and counts."""
    if item.table is not None:
        return _only(
            Table(item.table.columns, own_cells(item, item.table)), f"{item.title}: the suite's."
        )
    if item.id in PANELS:
        return _recomputation(*PANELS[item.id])
    return _trends() if item.id == "trends-1" else _memory_table(item)


def own_cells(item: Item, table: PublishedTable) -> tuple[tuple[str, ...], ...]:
    """The rows of a published table with the suite's cells."""
    cell = _CELLS[item.id]
    return tuple(
        (row[0], *(_text(cell(row[0], column)) for column in table.columns[1:]))
        for row in table.rows
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _feature(row: str, column: str) -> object:
    return FEATURES[row](load_device(DEVICES[column]))


def _workload(row: str, column: str) -> object:
    workload = load_workload(WORKLOADS[row])
    samples = load_data_set(workload.data).train_samples
    found = {
        "data set": workload.data,
        "parameters": workload.parameters,
        "training samples": samples,
        "mini-batch": workload.batch_size,
    }
    return found[column]


def _is_trained(row: str, column: str) -> object:
    return "yes" if WORKLOADS[row] in load_device(DEVICES[column]).closed_workloads else "no"


def _mode(row: str, column: str) -> object:
    mode = next(
        mode for mode in load_device("agx-xavier").power_modes if mode.name == MODES.get(row, row)
    )
    names = {
        "CPU cores": "cpu_cores",
        "CPU MHz": "cpu_frequency_mhz",
        "GPU MHz": "gpu_frequency_mhz",
        "RAM MHz": "memory_frequency_mhz",
    }
    return getattr(mode, names[column])


_CELLS: Mapping[str, Callable[[str, str], object]] = {
    "jetson-table-1": _feature,
    "jetson-table-2": _workload,
    "jetson-table-3": _is_trained,
    "jetson-table-4": _mode,
}


def memory_cells(item: Item) -> list[Cell]:
    """The cells of a table of the memory study, published and calculated; empty for another
    item."""
    return [cell for cell in _memory_cells() if cell.table == MEMORY_TABLES.get(item.id)]


def memory_table(item: Item) -> MemoryTable:
    """The published table of an item of the memory study."""
    return next(table for table in published().tables if table.name == MEMORY_TABLES[item.id])


@cache
def _memory_cells() -> list[Cell]:
    return cells()


def _memory_table(item: Item) -> PaperFigure:
    found, depths = memory_cells(item), published().depths
    by_batch = len({cell.batch for cell in found}) > 1
    rows: dict[int, list[Cell]] = {}
    for cell in found:
        rows.setdefault(cell.batch if by_batch else cell.image, []).append(cell)
    lines = []
    for value, of_row in sorted(rows.items()):
        ordered = sorted(of_row, key=lambda cell: depths.index(cell.depth))
        lines.append((f"{value}", *(f"{cell.calculated:.2f}" for cell in ordered)))
    unit = "GiB" if item.id == "memory-table-3" else "MiB"
    columns = ("mini-batch" if by_batch else "picture", *(f"ResNet-{depth}" for depth in depths))
    worst = max(abs(cell.deviation) for cell in found)
    return _only(
        Table(columns, tuple(lines)),
        f"{item.title}, {unit}. Largest deviation from the published cells: {worst:.2%} (limit"
        f" {LIMIT:.0%}).",
    )


def memory_bytes(depth: int, image: int, batch: int, factor: float) -> float:
    """Least memory of the homogeneous chain of a ResNet whose time is at most ``factor`` times that
    without recomputation.

    Weights as in the study's tables, activations of all layers shared out evenly over ``depth``; a
    forward pass takes as long as a backward pass.
    """
    counted = _terms(depth, image)
    activations = batch * (2 * counted.outputs - counted.left_out) * WORD_BYTES / depth
    slots = next(
        (
            slots
            for slots in range(1, depth)
            if revolve_forwards(depth, slots) + depth <= 2 * factor * depth
        ),
        depth,
    )
    return counted.parameters * WORD_BYTES + slots * activations


@cache
def _terms(depth: int, image: int) -> Terms:
    return terms(load_network(f"resnet{depth}"), image)


def highest_gib(image: int, batch: int, factor: float = 1.0) -> float:
    """The highest memory of the study's networks, GiB."""
    return max(memory_bytes(depth, image, batch, factor) for depth in published().depths) / GIB


def least_factor(image: int, batch: int, limit_gib: float = 2.0) -> float:
    """The least recompute factor, to a hundredth, at which all of the study's networks fit;
    infinite above MAX_FACTOR."""
    factors = (1 + step / 100 for step in range(round((MAX_FACTOR - 1) * 100) + 1))
    return next(
        (factor for factor in factors if highest_gib(image, batch, factor) <= limit_gib),
        float("inf"),
    )


def _recomputation(image: int, batch: int) -> PaperFigure:
    factors = [1 + (MAX_FACTOR - 1) * step / (STEPS - 1) for step in range(STEPS)]
    lines = tuple(
        Line(
            f"ResNet-{depth}",
            style,
            tuple(
                (factor, Estimate(memory_bytes(depth, image, batch, factor) / MIB))
                for factor in factors
            ),
        )
        for style, depth in enumerate(published().depths)
    )
    limit = ((1.0, 2048.0), (MAX_FACTOR, 2048.0))
    about = (
        "Weights and activations of homogeneous chains of the networks' depth, with Revolve's"
        " schedules. Thin line: 2 GiB."
    )
    return _only(Lines("recompute factor", "memory, MiB", lines, reference=limit), about)


def _trends() -> PaperFigure:
    known = [
        device
        for device in load_devices()
        if device.max_power_w is not None and device.peak_gflops is not None
    ]
    ordered = sorted(known, key=lambda device: (device.max_power_w, device.name))
    keys = tuple(
        (chr(ord("a") + index), device.short_title or device.title)
        for index, device in enumerate(ordered)
    )
    dots = tuple(
        Dot(
            Estimate(float(device.max_power_w or 0)),
            Estimate(float(device.peak_gflops or 0)),
            0 if device.gpu else 1,
            key,
        )
        for device, (key, _) in zip(ordered, keys, strict=True)
    )
    legend = ((0, "with GPU"), (1, "without"))
    panel = Scatter("highest power, W", "bound of the rate, GFLOP/s", dots, legend, has_front=False)
    about = (
        "The suite's device profiles: the board's power limit, and a bound of its arithmetic rate"
        " in any precision that trains (calculated)."
    )
    return PaperFigure((panel, Keys(keys)), (), about, NO_ERROR_BARS)


def _only(panel: Table | Lines, about: str) -> PaperFigure:
    return PaperFigure((panel,), (), about, NO_ERROR_BARS)
