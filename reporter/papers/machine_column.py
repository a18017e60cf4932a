"""Tables 1 to 4 of the Jetson study: the suite's device profiles and workloads, and beside them the
machine and the models of one's own runs."""

from collections.abc import Callable, Mapping

from reporter.data.frames import Frames, Row, grouped, is_known, rows_of
from reporter.data.machine_names import machine_name
from reporter.data.machines import machines_of
from reporter.data.values import entries_of
from reporter.figures.for_papers import property_text
from reporter.figures.model import Missing, PaperFigure, Table
from reporter.papers import calculated
from suite.catalog.papers import Item
from suite.files.counted import counted

BYTES_PER_GB = 1e9
OWN = "machine of the runs"


def draw(item: Item, frames: Frames) -> PaperFigure | Missing:
    """The calculated table with a column of the runs' machine; of the power modes, with a row for
    each mode of the runs."""
    figure = calculated.draw(item)
    (panel,) = figure.panels
    assert isinstance(panel, Table)
    machines = {machine_name(entry) for entry in entries_of(frames).values()}
    if len(machines) != 1:
        return Missing(f"the runs come from {len(machines)} machines; give the runs of one machine")
    columns, rows = _WITH_RUNS[item.id](panel, frames)
    about = (
        f"{figure.about} The values of the {OWN} ({machines.pop()}) come from the records of"
        f" {counted(len(frames.runs), 'run')}; a cell is empty if no run recorded its value."
    )
    return PaperFigure((Table(columns, rows),), (), about, "")


_Drawn = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


def _specifications(panel: Table, frames: Frames) -> _Drawn:
    """Cores, clocks and memory of the machine, from a run's system.json."""
    run = next(iter(rows_of(frames.runs)))
    machine = machines_of(frames)[str(run["run_id"])]
    own = {
        "CPU cores": machine.cores,
        "CPU MHz": machine.cpu_mhz,
        "GPU MHz": machine.gpu_mhz,
        "RAM GB": machine.memory_size_bytes and f"{machine.memory_size_bytes / BYTES_PER_GB:.3g}",
        "memory MHz": machine.memory_mhz,
    }
    return (*panel.columns, OWN), tuple((*row, _text(own.get(row[0]))) for row in panel.rows)


def _models(panel: Table, frames: Frames) -> _Drawn:
    """Data set, parameters and mini-batches of the models that the runs trained."""
    own = {workload: _trained(entries) for workload, entries in _by_workload(frames).items()}
    return (*panel.columns, f"{OWN}: data, parameters, mini-batches"), tuple(
        (*row, own.get(calculated.WORKLOADS[row[0]], "")) for row in panel.rows
    )


def _trained(entries: list[Row]) -> str:
    parameters = sorted(
        {f"{int(entry['parameters']):,}" for entry in entries if is_known(entry["parameters"])}
    )
    batches = sorted({int(entry["batch_size"]) for entry in entries})
    return "; ".join(
        part
        for part in (
            property_text(entries[0], "data"),
            ", ".join(parameters),
            ", ".join(map(str, batches)),
        )
        if part
    )


def _trains(panel: Table, frames: Frames) -> _Drawn:
    """Which models the runs trained to the end."""
    own = _by_workload(frames)
    return (*panel.columns, OWN), tuple(
        (*row, "yes" if calculated.WORKLOADS[row[0]] in own else "not run") for row in panel.rows
    )


def _modes(panel: Table, frames: Frames) -> _Drawn:
    """The modes of the runs below the paper's: cores on line and clocks, as far as the kernel tells
    them."""
    found = {
        (one.cores, one.cpu_mhz, one.gpu_mhz, one.memory_mhz)
        for one in machines_of(frames).values()
    }
    own = tuple(
        (OWN, *map(_text, mode))
        for mode in sorted(found, key=lambda mode: tuple(value or 0 for value in mode))
    )
    return panel.columns, (*panel.rows, *own)


def _by_workload(frames: Frames) -> dict[str, list[Row]]:
    return grouped(entries_of(frames).values(), lambda entry: str(entry["workload"]))


def _text(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


_WITH_RUNS: Mapping[str, Callable[[Table, Frames], _Drawn]] = {
    "jetson-table-1": _specifications,
    "jetson-table-2": _models,
    "jetson-table-3": _trains,
    "jetson-table-4": _modes,
}
