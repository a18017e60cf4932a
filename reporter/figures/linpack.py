"""Training and LINPACK: share of a machine's floating-point rate that training reaches, as compared
in the Raspberry Pi study."""

from dataclasses import dataclass
from typing import Any

from reporter.data.frames import Frames, Row, known, rows_of
from reporter.data.instrument_names import MIXED, sensor_named
from reporter.data.machine_names import short_title
from reporter.data.selection import choose
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of
from reporter.figures.chart import LEFT, RIGHT, WIDTH, Chart, Context, Drawing, NotDrawn, rows_chart
from reporter.figures.svg import linear
from suite.catalog.rounds import judging_round
from suite.errors import SuiteError
from suite.metrics.linpack_record import TRAINING_PASSES, share_reached

MACHINE = ("device", "cpu_model", "nodes")
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
    """A row of the figure: a machine's LINPACK result, or a training on it with its share of the
    LINPACK rate.

    ``gflops`` is 10⁹ operations per second. ``gflop_per_j`` is gflops over the mean power, or None;
    ``measured`` names the sensor or the reason.
    """

    name: str
    target: str
    style: str
    gflops: float
    share: float | None
    gflop_per_j: float | None
    measured: str
    processes: str
    framework: str = ""

    @property
    def label(self) -> str:
        """Label at the end of the bar."""
        return digits(self.gflops) + ("" if self.share is None else f" = {_percent(self.share)} %")

    @property
    def row(self) -> tuple[str, ...]:
        """The row of the table."""
        per_j = "unknown" if self.gflop_per_j is None else digits(self.gflop_per_j)
        return (
            self.name,
            digits(self.gflops),
            "100" if self.share is None else _percent(self.share),
            per_j,
            self.measured,
            self.processes,
        )


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Per machine a bar for its LINPACK rate and a bar per entry for its training rate, the fastest
    first."""
    lines = lines_of(frames, context)
    if not lines:
        return NotDrawn("there is no LINPACK record of these machines")
    trained = {line.target: line for line in lines if line.share is not None}
    rates = {target: line.gflops for target, line in trained.items()}
    records = sum(line.share is None for line in lines)
    chosen = choose(
        {target: -rate for target, rate in rates.items()},
        lambda target: trained[target].framework,
        max(context.max_rows - records, 1),
    )
    drawn = [line for line in lines if line.share is None or line.target in chosen.ids]
    scale = linear([line.gflops for line in lines], LEFT, WIDTH - RIGHT - 40)
    chart = rows_chart(
        CHART.title,
        CHART.about,
        len(drawn) + len(chosen.groups),
        scale,
        "10⁹ floating-point operations per second",
    )
    for index, line in enumerate(drawn):
        chart.name(index, line.name, line.target)
        end = scale.at(line.gflops)
        chart.canvas.rect(
            scale.at(0),
            chart.y(index) - 10,
            end - scale.at(0),
            20,
            line.style,
            f"{line.name}: {line.label}",
        )
        chart.canvas.text(end + 6, chart.y(index) + 4.5, line.label, "tick")
    chart.share(chosen, rates, "", context, len(drawn))
    return Drawing(
        chart.canvas,
        HEADINGS,
        tuple(line.row for line in lines),
        chosen.note.replace("lowest values", "highest values"),
    )


def lines_of(frames: Frames, context: Context) -> list[Line]:
    """The best record of each machine with entries (HPL is preferred to LU), followed by the
    entries."""
    trainings: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for training in _trainings(frames):
        trainings.setdefault(_machine(training), []).append(training)
    records: dict[tuple[str, ...], dict[str, Any]] = {}
    for record in sorted(
        rows_of(frames.linpacks),
        key=lambda row: (row["kind"] != "HPL", -row["gflops"], row["linpack_id"]),
    ):
        records.setdefault(_machine(record), record)
    lines = []
    for machine, record in sorted(records.items()):
        if here := trainings.get(machine):
            lines.append(_of_record(record, context))
            lines += sorted(
                (_of_training(training, record, context) for training in here),
                key=lambda line: (-line.gflops, line.target),
            )
    return lines


def _of_record(record: dict[str, Any], context: Context) -> Line:
    known_power = known(record["gflops_per_watt"])
    measured = str(
        record["power_method"] if known_power else record["power_reason"] or "no reason given"
    )
    return Line(
        name=f"LINPACK ({record['kind']}, N = {record['size']}) · {short_title(record)}",
        target=f"{context.root}linpack/{record['linpack_id']}.json",
        style="p4",
        gflops=float(record["gflops"]),
        share=None,
        gflop_per_j=float(record["gflops_per_watt"]) if known_power else None,
        measured=measured,
        processes=f"{record['ranks']} × {record['threads_per_rank']}",
    )


def _of_training(training: dict[str, Any], record: dict[str, Any], context: Context) -> Line:
    gflops = TRAINING_PASSES * 2 * training["macs"] * training["rate"] / 1e9
    power = training["power"]
    known_power = power is not None and known(power["value"]) and float(power["value"]) > 0
    how = sensor_named(power["tier"], power["covers"]) if power is not None else MIXED
    return Line(
        name=training["label"],
        target=f"{context.entry(training['entry_id'])}#samples_per_s",
        style=f"c{context.colour(training['framework'])}",
        gflops=gflops,
        share=share_reached(training["macs"], training["rate"], record["gflops"]),
        gflop_per_j=gflops / float(power["value"]) if known_power else None,
        measured=(
            how
            if known_power
            else str(
                power["reason"]
                if power is not None and known(power["reason"])
                else "no run has this figure"
            )
        ),
        processes=f"{float(training['ranks']):g} × {float(training['threads']):g}",
        framework=str(training["framework"]),
    )


def _trainings(frames: Frames) -> list[dict[str, Any]]:
    """Entries on their workload's own data, for which multiply-adds per sample are known, with
    throughput and power."""
    rates, found = figures_of(frames, "samples_per_s"), []
    if frames.linpacks.empty:
        return []
    powers = {
        row["entry_id"]: row
        for row in rows_of(frames.select("entry_figures", "figure", ["mean_power_w"]))
    }
    for name, entry in entries_of(frames).items():
        macs = _macs(entry) if entry["own_data"] else None
        if macs is not None and name in rates and float(rates[name]["value"]) > 0:
            found.append(
                {
                    **entry,
                    "macs": macs,
                    "rate": float(rates[name]["value"]),
                    "power": powers.get(name),
                }
            )
    return found


def _macs(entry: Row) -> int | None:
    try:
        return judging_round(entry["round"]).workload(entry["workload"]).forward_macs
    except SuiteError:
        return None


def _machine(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) if known(row[name]) else "" for name in MACHINE)


def _percent(share: float) -> str:
    return digits(100 * share, 2)


CHART = Chart(
    "linpack",
    "Training and LINPACK",
    "10⁹ floating-point operations per second; grey: LINPACK. A training sample counts as 3 × 2 ×"
    " forward multiply-adds. %: share of LINPACK.",
    frozenset({"device", "figures", "study"}),
    draw,
    position=170,
)
