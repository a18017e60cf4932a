"""Training and LINPACK: share of a machine's floating-point rate that training reaches, as compared
in the Raspberry Pi study."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from reporter.data.frames import Frames, grouped, is_known, rows_of
from reporter.data.frames import Row as Entry
from reporter.data.instrument_names import sensor_named
from reporter.data.machine_names import system_name
from reporter.data.selection import RowSelection, choose_rows
from reporter.data.text import significant
from reporter.data.values import entries_of, values_of
from reporter.figures.chart import Chart, Context, shared_row
from reporter.figures.for_papers import MAX_ROWS, context_of, entry_labels, rows_panel
from reporter.figures.model import Estimate, Missing, PaperFigure, Plot, PlotRow, Rows
from reporter.figures.scales import linear_scale
from suite.catalog.rounds import judging_round
from suite.catalog.timings import CPU
from suite.errors import SuiteError
from suite.metrics.linpack_record import TRAINING_PASSES, share_reached

RATE = "samples_per_s"
MACHINE = ("device", "cpu_model", "nodes")
NO_RECORD = Missing(
    "there is no LINPACK record of a machine that trained a whole model on its workload's own data"
)
HEADINGS = (
    "entry",
    "10⁹ operations per second",
    "share of LINPACK, %",
    "10⁹ operations per joule",
    "power sensor",
    "processes × threads",
)


@dataclass(frozen=True)
class Line:
    """A row of the figure: a machine's LINPACK result, or a training on it.

    ``gflops`` is 10⁹ operations per second, ``percent`` their share of the LINPACK rate,
    ``gflop_per_j`` that over the mean power, as text; ``measured`` names the sensor or the reason.
    ``entry`` and ``framework`` are empty for LINPACK.
    """

    name: str
    link: str
    style: str
    gflops: float
    percent: str
    gflop_per_j: str
    measured: str
    processes: str
    entry: str = ""
    framework: str = ""

    @property
    def row(self) -> tuple[str, ...]:
        """The row of the table."""
        numbers = significant(self.gflops), self.percent, self.gflop_per_j
        return self.name, *numbers, self.measured, self.processes


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """Per machine a bar for its LINPACK rate and a bar per entry for its training rate, the fastest
    first."""
    lines = lines_of(frames, context)
    if not lines:
        return NO_RECORD
    trained = {line.entry: line for line in lines if line.entry}
    chosen = _fastest(trained, max(context.max_rows - len(lines) + len(trained), 1))
    rows = []
    for line in lines:
        if not line.entry or line.entry in chosen.ids:
            text = significant(line.gflops) + (f" = {line.percent} %" if line.entry else "")
            tip, bar = f"{line.name}: {text}", Estimate(line.gflops)
            rows.append(PlotRow(line.name, (bar,), line.style, line.link, (text,), (tip,)))
    rates = {name: line.gflops for name, line in trained.items()}
    rows += [shared_row(group, rates, "", context) for group in chosen.groups]
    scale = linear_scale([line.gflops for line in lines])
    panel = Rows("10⁹ floating-point operations per second", scale, tuple(rows))
    return Plot((panel,), HEADINGS, tuple(line.row for line in lines), chosen.note)


def for_paper(frames: Frames) -> PaperFigure | Missing:
    """10⁹ floating-point operations per second of LINPACK and of training, by machine."""
    context, entries = context_of(frames), entries_of(frames)
    lines = lines_of(frames, context)
    if not lines:
        return NO_RECORD
    trained = {line.entry: line for line in lines if line.entry}
    chosen = _fastest(trained, MAX_ROWS)
    rows = [PlotRow(line.name, (Estimate(line.gflops),), "c7") for line in lines if not line.entry]
    labels = entry_labels([entries[name] for name in trained])
    for line in (trained[name] for name in chosen.ids):
        text, bar = f"{significant(line.gflops)} ({line.percent} %)", (Estimate(line.gflops),)
        rows.append(PlotRow(labels[line.entry], bar, line.style, texts=(text,)))
    for group in chosen.groups:
        values = sorted(trained[name].gflops for name in group.ids)
        middle = Estimate(values[len(values) // 2], values[0], values[-1])
        rows.append(
            PlotRow(group.label, (middle,), f"c{context.colour(group.name)}", is_group=True)
        )
    about = (
        "Every multiply-add of the forward pass counts as six operations of training. Percentage:"
        " training rate / LINPACK rate of the same machine."
    )
    panel = rows_panel("10⁹ operations per second", rows)
    return PaperFigure((panel,), tuple(trained), about, "", chosen.notes)


def _fastest(trained: Mapping[str, Line], capacity: int) -> RowSelection:
    """The entries with a row of their own."""
    rates = {name: -line.gflops for name, line in trained.items()}
    return choose_rows(rates, lambda name: trained[name].framework, capacity, "highest")


def lines_of(frames: Frames, context: Context) -> list[Line]:
    """The best record of each machine with entries (HPL is preferred to LU), followed by the
    entries."""
    records: dict[tuple[str, ...], Entry] = {}
    for record in sorted(
        rows_of(frames.linpacks),
        key=lambda row: (row["kind"] != "HPL", -row["gflops"], row["linpack_id"]),
    ):
        records.setdefault(_machine(record), record)
    entries = entries_of(frames)
    trainings = grouped(
        _trainings(frames, context, records), lambda line: _machine(entries[line.entry])
    )
    lines = []
    for machine, here in sorted(trainings.items()):
        lines.append(_of_record(records[machine], context))
        lines += sorted(here, key=lambda line: (-line.gflops, line.entry))
    return lines


def _of_record(record: Entry, context: Context) -> Line:
    known_power = is_known(record["gflops_per_watt"])
    return Line(
        f"LINPACK ({record['kind']}, N = {record['size']}) · {system_name(record)}",
        f"{context.root}linpack/{record['linpack_id']}.json",
        "p4",
        float(record["gflops"]),
        "100",
        significant(float(record["gflops_per_watt"])) if known_power else "unknown",
        str(record["power_method"] if known_power else record["power_reason"] or "no reason given"),
        f"{record['ranks']} × {record['threads_per_rank']}",
    )


def _trainings(
    frames: Frames, context: Context, records: Mapping[tuple[str, ...], Entry]
) -> Iterator[Line]:
    """Entries of whole models on their workload's own data and on machines of records, for which
    multiply-adds per sample are known, with throughput and power."""
    rates = values_of(frames, RATE)
    powers = {
        row["entry_id"]: row
        for row in rows_of(frames.select("entry_figures", "figure", ["mean_power_w"]))
    }
    for name, entry in entries_of(frames).items():
        macs = _macs(str(entry["workload"]), str(entry["round"]), entry["parameters"])
        record, rate, power = records.get(_machine(entry)), rates.get(name, 0.0), powers.get(name)
        compares = entry["own_data"] and entry["accelerator"] == CPU  # as the record's
        if macs is None or record is None or not compares or rate <= 0:
            continue
        gflops, measured = TRAINING_PASSES * 2 * macs * rate / 1e9, "no run has a mean power"
        power_w = float(power["value"]) if power is not None and is_known(power["value"]) else 0.0
        if power is not None and power_w > 0:
            measured = sensor_named(power["tier"], power["covers"])
        elif power is not None and is_known(power["reason"]):
            measured = str(power["reason"])
        yield Line(
            entry["label"],
            context.entry(name, RATE),
            f"c{context.colour(entry['framework'])}",
            gflops,
            significant(100 * share_reached(macs, rate, record["gflops"]), 2),
            significant(gflops / power_w) if power_w > 0 else "unknown",
            measured,
            f"{float(entry['ranks']):g} × {float(entry['threads']):g}",
            name,
            str(entry["framework"]),
        )


@cache
def _macs(workload: str, of_round: str, trained: float | None) -> int | None:
    """The multiply-adds of a forward pass; None where a part of the model was ``trained``, which
    has no backward pass in front of that part."""
    try:
        found = judging_round(of_round).workload(workload)
    except SuiteError:
        return None
    return found.forward_macs if found.trains is None or trained == found.parameters else None


def _machine(row: Entry) -> tuple[str, ...]:
    return tuple(str(row[name]) if is_known(row[name]) else "" for name in MACHINE)


CHART = Chart(
    "linpack",
    "Training and LINPACK",
    "10⁹ floating-point operations per second. Grey: LINPACK. Every multiply-add of the forward"
    " pass counts as six operations of training. Percentage: training rate / LINPACK rate.",
    describe,
    frozenset({"device", "figures", "study"}),
    position=170,
)
