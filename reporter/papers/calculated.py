"""Tables and panels without runs: from the suite's device profiles, workloads and counts of
layers."""

from collections.abc import Callable, Mapping

from reporter.figures.model import Dot, Estimate, Keys, LegendEntry, PaperFigure, Plane, Table
from reporter.figures.scales import fitting_closely
from suite.catalog.data_sets import load_data_set
from suite.catalog.devices import Device, load_device, load_devices
from suite.catalog.papers import Item, PublishedTable
from suite.catalog.workloads import load_workload

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
        table = Table(item.table.columns, own_cells(item, item.table))
        return PaperFigure((table,), (), f"{item.title}: the suite's.", NO_ERROR_BARS)
    assert item.id == "trends-1", item.id
    return _trends()


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
    fitting = load_device(DEVICES[column]).fitting_workloads
    return "yes" if load_workload(WORKLOADS[row]) in fitting else "no"


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
    powers = [float(device.max_power_w or 0) for device in ordered]
    rates = [float(device.peak_gflops or 0) for device in ordered]
    dots = tuple(
        Dot(Estimate(power_w), Estimate(gflops), "c0" if device.gpu else "c1", key)
        for power_w, gflops, device, (key, _) in zip(powers, rates, ordered, keys, strict=True)
    )
    panel = Plane(
        "highest power, W",
        "upper bound of the rate, GFLOP/s",
        fitting_closely(powers),
        fitting_closely(rates),
        dots=dots,
        legend=(LegendEntry("c0", "with GPU", True), LegendEntry("c1", "without", True)),
    )
    about = (
        "Each dot is a device profile of the suite: the board's power limit, and a calculated upper"
        " bound of its arithmetic rate in the fastest precision used for training."
    )
    return PaperFigure((panel, Keys(keys)), (), about, NO_ERROR_BARS)
