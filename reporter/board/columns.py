"""The leaderboard's columns: their figures, number formats, and the text of empty cells."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from reporter.data.entry_scores import MEASURED_J, SCORE_J, SCORE_S
from reporter.data.frames import Row, is_known
from reporter.data.quantities import SCALES, quantity, quantity_with_spread
from reporter.data.text import significant
from reporter.data.words import property_name

NOT_DEFINED = "not computed by the version of the suite that made these runs"


@dataclass(frozen=True)
class Column:
    """A figure as a column of a leaderboard. A cell shows value * ``factor`` in ``unit``, with
    ``places`` decimals or, if None, 3 significant digits.

    ``better``: -1 if less is better, 1 if more is, 0 if neither. ``is_energy``: values of
    different instruments do not compare and are not put in one order. ``file_name``: its name in
    data files if the page shows another unit.
    """

    figure: str
    heading: str
    unit: str
    about: str
    factor: float = 1.0
    places: int | None = None
    better: int = -1
    is_energy: bool = False
    file_name: str = ""

    @property
    def exported(self) -> str:
        """The column's name in data files."""
        return self.file_name or self.figure

    def write(self, value: float) -> str:
        """The value as it is shown."""
        scaled = value * self.factor
        return significant(scaled) if self.places is None else f"{scaled:.{self.places}f}"


SCORE_COLUMNS = (
    Column(
        SCORE_S,
        "expected time",
        "s",
        "time to train as many epochs as the reference point needs to reach the target (or the"
        " entry, if it needs significantly more); with its 95 % interval",
    ),
    Column(
        SCORE_J,
        "expected energy",
        "J",
        "energy of training to the target, computed for the same number of epochs as the expected"
        " time; with its 95 % interval",
        is_energy=True,
    ),
    Column(
        MEASURED_J,
        "measured energy to target",
        "J",
        "measured from run_start to the evaluation that reaches the target accuracy; with its 95 %"
        " interval",
        is_energy=True,
    ),
)
"""Figures of entries that no single run has."""

RUN_COLUMNS = (
    Column(
        "time_to_target_s",
        "measured time to target",
        "s",
        "measured from run_start to the evaluation that reaches the target accuracy",
    ),
    Column(
        "time_to_epoch_s",
        "time per epoch",
        "s",
        "from the first fetch to the last step of an epoch; mean of epochs 2 to last",
    ),
    Column(
        "initialisation_s",
        "initialisation",
        "s",
        "init_start to run_start: building, compiling, tuning, and an adaptation's first evaluation"
        " of its old task; not part of any other time",
    ),
    Column(
        "first_epoch_s",
        "epoch 1",
        "s",
        "first fetch to last step of epoch 1; caches are cold if emptied before the run",
    ),
    Column(
        "best_accuracy",
        "accuracy",
        "%",
        "highest accuracy of all evaluations",
        100.0,
        2,
        1,
        file_name="best_accuracy_percent",
    ),
    Column(
        "old_task_accuracy_lost",
        "accuracy lost",
        "points",
        "adaptation: accuracy on the old task before training minus accuracy after it, in"
        " percentage points; not ranked",
        100.0,
        1,
        file_name="old_task_accuracy_lost_points",
    ),
    Column(
        "epochs_to_target",
        "epochs to target",
        "",
        "epochs until the evaluation that reaches the target accuracy",
        1.0,
        1,
    ),
    Column(
        "samples_per_s",
        "throughput",
        "samples/s",
        "training samples per second, epochs 2 to last",
        1.0,
        None,
        1,
    ),
    Column(
        "fetch_stall_share",
        "fetch stall",
        "% of epoch",
        "share of an epoch's time in which training waits for the next mini-batch; epochs 2 to"
        " last",
        100.0,
        1,
        file_name="fetch_stall_share_percent_of_epoch",
    ),
    Column(
        "energy_per_epoch_j",
        "energy per epoch",
        "J",
        "mean of epochs 2 to last; the column “energy” names the sensor",
        is_energy=True,
    ),
    Column("energy_j", "energy of the run", "J", "run_start to run_stop", is_energy=True),
    Column(
        "mean_power_w",
        "power",
        "W",
        "energy per epoch / time per epoch",
        is_energy=True,
    ),
    Column(
        "foreign_cpu_share",
        "other programs",
        "% of CPU",
        "CPU time of other programs during the run, as a share of all cores' time; on several"
        " nodes, the largest",
        100.0,
        1,
        file_name="foreign_cpu_share_percent",
    ),
    Column(
        "peak_memory_bytes",
        "peak memory",
        "MiB",
        "peak memory of the training processes; shared pages count once; without the GPU driver's"
        " allocations; on several nodes, of the first",
        2.0**-20,
        0,
        file_name="peak_memory_mib",
    ),
    Column(
        "recompute_factor",
        "recompute factor",
        "",
        "time of the forward and backward passes / their time without recomputation; only for runs"
        " with a memory budget",
        1.0,
        2,
    ),
)

FIGURE_COLUMNS = (*SCORE_COLUMNS, *RUN_COLUMNS)


@dataclass(frozen=True)
class Facet:
    """A property in which rows can differ: a column and a filter."""

    name: str
    is_number: bool = False

    @property
    def heading(self) -> str:
        """What the column is called."""
        return property_name(self.name)


NUMBERS = (
    "parameters",
    "nodes",
    "ranks",
    "threads",
    "workers",
    "prefetch",
    "batch_size",
    "accumulation",
    "learning_rate",
)
PROVENANCE = "provenance"
"""Facet that tells who else stands behind an entry: see `provenance_of`."""
FACETS = tuple(
    Facet(name, name in NUMBERS)
    for name in (
        "device",
        "framework",
        "framework_version",
        "model_trained",
        "parameters",
        "optimizer_used",
        "precision",
        "implementation",
        "cpu_model",
        "gpu",
        "node_machines",
        "power_mode",
        "storage_medium",
        "nodes",
        "ranks",
        "collective",
        "isolation",
        "normalisation",
        "shares",
        "recomputation",
        "accelerator",
        "timing",
        "threads",
        "workers",
        "prefetch",
        "batch_size",
        "accumulation",
        "learning_rate",
        "organization",
        "availability",
        "nonce_kind",
        "energy",
        "launches",
        PROVENANCE,
    )
)

OTHER_FIGURES = {
    "fetch_stall_s": "fetch stall per epoch",
    "copy_s": "host-to-device copy",
    "compute_s": "compute",
    "communication_s": "communication",
    "overhead_s": "overhead",
    "worker_start_s": "start-up of the data-loading processes",
    "compute_share": "share of an epoch spent computing",
    "accelerator_utilisation": "accelerator utilisation",
    "baseload_share": "baseload (idle power × time), as a share of the energy",
    "branch_mispredict_ratio": "mispredicted branches, share",
    "clock_steps": "jumps of the wall clock",
    "communication_share": "share of an epoch spent communicating",
    "counter_running_ratio": "share of the time in which the counters ran",
    "cpu_frequency_hz": "CPU clock",
    "cpu_migrations": "moves to another core",
    "cpu_pressure_ratio": "share of the time in which a task waited for a CPU",
    "cpu_utilisation": "CPU utilisation",
    "cpu_utilisation_max": "highest CPU utilisation",
    "exchange_span_s": "gradient exchange per update",
    "wire_limit_s": "shortest gradient exchange that the links allow",
    "wire_limit_share": "shortest possible / measured gradient exchange",
    "wire_bytes_per_step": "data sent by all nodes in a step",
    "disk_read_bytes_per_s": "read from the disk",
    "disk_read_ops_per_s": "reads of the disk",
    "disk_write_bytes_per_s": "written to the disk",
    "disk_write_ops_per_s": "writes to the disk",
    "gpu_frequency_hz": "GPU clock",
    "gpu_utilisation": "GPU utilisation",
    "gpu_utilisation_max": "highest GPU utilisation",
    "implementation_read_bytes_per_s": "read by the implementation",
    "implementation_written_bytes_per_s": "written by the implementation",
    "io_pressure_ratio": "share of the time in which a task waited for the disk",
    "l1d_load_miss_ratio": "share of loads that miss the L1 data cache",
    "l1d_miss_ratio": "share of accesses that miss the L1 data cache",
    "major_faults": "page faults that read the disk",
    "memory_controller_frequency_hz": "memory clock",
    "memory_pressure_ratio": "share of the time in which a task waited for memory",
    "memory_used_max_bytes": "highest memory use of the machine",
    "page_cache_end_ratio": "share of the data that is cached at the end",
    "page_cache_start_ratio": "share of the data that is cached at the start",
    "peak_process_rss_bytes": "peak resident set of the largest process",
    "resident_sum_max_bytes": "peak sum of the processes' resident sets",
    "straggler_ratio": "time of the slowest rank / mean time of all ranks",
    "swap_used_max_bytes": "highest swap use",
    "temperature_max_degc": "highest temperature",
    "throttled_events": "throttling events",
    "gross_time_s": "time from start to stop, uncounted time included",
    "uncounted_s": "uncounted time",
    "ipc": "instructions per cycle",
    "instructions_per_cpu_s": "instructions per second of CPU time",
    "cpu_time_s": "CPU time",
    "cpu_time_per_epoch_s": "CPU time per epoch",
    "foreign_cpu_s": "CPU time of other programs",
    "steal_cpu_s": "CPU time that the hypervisor withheld",
}
UNIT = re.compile(r"(?<!_per)_(s|j|w|hz|degc|bytes)$")
"""The unit that ends a figure's name."""


NAMES_OF_FIGURES = {**OTHER_FIGURES, **{column.figure: column.heading for column in FIGURE_COLUMNS}}


def name_of_figure(figure: str) -> str:
    """The heading of a figure; if it has none, the words of its name without the unit: "baseload
    power"."""
    return NAMES_OF_FIGURES.get(figure) or UNIT.sub("", figure).replace("_", " ")


@dataclass(frozen=True)
class Cell:
    """``text`` and ``spread``, an interval or a standard deviation, are shown in the column's unit;
    the raw ones are for sorting and export.

    ``quantity`` and ``around`` are the same two in a unit that suits the value, with the digits
    that the spread leaves. ``why`` explains a dash.
    """

    column: Column
    text: str
    spread: str = ""
    raw: str = ""
    raw_spread: str = ""
    why: str = ""
    raw_interval: tuple[str, str] = ("", "")
    quantity: str = "—"
    around: str = ""

    @property
    def value(self) -> float | None:
        """The value in the column's unit; None where it is unknown."""
        return float(self.raw) if self.raw else None

    @property
    def order(self) -> float:
        """The value, to sort by: unknown ones stand last."""
        return math.inf if self.value is None else self.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the 95 % interval in the column's unit, if there is one."""
        return (
            (float(self.raw_interval[0]), float(self.raw_interval[1]))
            if self.raw_interval[0]
            else None
        )


def make_cell(column: Column, figure: Row | None) -> Cell:
    """A figure of an entry or a run as a cell; an unknown value is a dash with its reason."""
    if figure is None:
        return Cell(column, "—", why=NOT_DEFINED)
    if not is_known(figure["value"]):
        return Cell(column, "—", why=str(figure["reason"]))
    value = float(figure["value"])
    spread = float(figure["spread"]) if is_known(figure["spread"]) else None
    shown = "" if spread is None else f"± {significant(spread * column.factor, 2)}"
    raw_spread = "" if spread is None else f"{spread * column.factor:.6g}"
    ends = [
        float(figure[end]) for end in ("interval_low", "interval_high") if is_known(figure.get(end))
    ]
    shown = f"{column.write(ends[0])} to {column.write(ends[1])}" if ends else shown
    raw_interval = (
        (f"{ends[0] * column.factor:.6g}", f"{ends[1] * column.factor:.6g}") if ends else ("", "")
    )
    in_units = _in_units(column, value, ends, spread)
    return Cell(
        column,
        column.write(value),
        shown,
        f"{value * column.factor:.6g}",
        raw_spread,
        "",
        raw_interval,
        *in_units,
    )


def _in_units(
    column: Column, value: float, ends: Sequence[float], spread: float | None
) -> tuple[str, str]:
    unit = column.unit.partition(" of ")[0]
    if column.places is not None and unit not in SCALES:
        return (
            f"{column.write(value)} {unit}".rstrip(),
            f"± {significant(spread * column.factor, 2)}" if spread else "",
        )
    if ends:
        return quantity(value * column.factor, unit, [end * column.factor for end in ends])
    return quantity_with_spread(
        value * column.factor, unit, None if spread is None else spread * column.factor
    )


def show_facet(value: object) -> str:
    """A property's value as text, for display and filters."""
    if not is_known(value):
        return "unknown"
    return f"{value:.10g}" if isinstance(value, int | float) else str(value)
