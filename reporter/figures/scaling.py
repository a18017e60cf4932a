"""Speed-up over nodes, as in Figure 1c of the Raspberry Pi study."""

from collections.abc import Mapping

from reporter.data.frames import Frames
from reporter.data.scaling import STRONG, ScalingLine, scaling_lines
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of
from reporter.figures.chart import Chart, Context
from reporter.figures.model import Dot, Figure, Line, Missing, Plane, dot, through
from reporter.figures.scales import linear

RATE = "samples_per_s"


def describe(frames: Frames, context: Context) -> Figure | Missing:
    """Throughput of n nodes over that of one node, against n; the thin line is linear speed-up. The
    table also has the efficiency.

    A line holds ranks per node, threads, collective and either the global batch (strong) or the
    batch per rank (weak).
    """
    rates = {name: float(row["value"]) for name, row in figures_of(frames, RATE).items()}
    entries, found = entries_of(frames), lines_with_rates(frames, rates)
    if not found:
        return Missing(
            "no setting was run on one node and on several with the same ranks per node, threads,"
            " collective and batch"
        )
    lines, dots, rows = list[Line](), list[Dot](), list[tuple[str, ...]]()
    for line in found:
        alone, style = (
            rates[line.by_nodes[1]["entry_id"]],
            context.colour(line.by_nodes[1]["framework"]),
        )
        points = [
            (float(n), rates[entry["entry_id"]] / alone) for n, entry in line.by_nodes.items()
        ]
        lines.append(through(points, f"l{style} curve{'' if line.kind == STRONG else ' weak'}"))
        for (n, value), entry in zip(points, line.by_nodes.values(), strict=True):
            name = entry["entry_id"]
            label = f"{entries[name]['label']} ({line.text})"
            tip, link = f"{label}: {value:.2f}×", context.entry(name, RATE)
            dots.append(dot((n, value), f"c{style}", tip, link, label))
            of_one = (f"{value:.2f}×", f"{100 * value / n:.0f} %")
            rows.append((label, f"{n:g}", digits(rates[name]), *of_one))
    most = max(dot.x.value for dot in dots)
    panel = Plane(
        "nodes",
        "speed-up, ×",
        linear([most]),
        linear([most, *(dot.y.value for dot in dots)]),
        (through([(1.0, 1.0), (most, most)], "join"), *lines),
        tuple(dots),
        context.frameworks([line.by_nodes[1] for line in found]),
    )
    headings = ("entry", "nodes", "samples per second", "speed-up", "efficiency")
    return Figure((panel,), headings, tuple(rows))


def lines_with_rates(frames: Frames, rates: Mapping[str, float]) -> list[ScalingLine]:
    """The lines of entries whose throughput is known; on one node it is more than 0."""
    lines = scaling_lines(frames, rates)
    return [line for line in lines if rates[line.by_nodes[1]["entry_id"]] > 0]


CHART = Chart(
    "scaling",
    "Scaling over nodes",
    "Throughput over that of one node with the same ranks per node, threads and collective. Solid:"
    " same global batch; dashed: same batch per rank; thin: linear.",
    describe,
    frozenset({"figures", "study"}),
    position=160,
)
