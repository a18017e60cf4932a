"""Speed-up over nodes, as in Figure 1c of the Raspberry Pi study."""

from reporter.data.frames import Frames
from reporter.data.scaling import STRONG, scaling_lines
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn, frameworks_legend
from reporter.figures.plane import ACROSS, UP, plane
from reporter.figures.svg import linear


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Throughput of n nodes over that of one node, against n; the thin line is linear speed-up. The
    table also has the efficiency.

    A line holds ranks per node, threads, collective and either the global batch (strong) or the
    batch per rank (weak).
    """
    found, entries = figures_of(frames, "samples_per_s"), entries_of(frames)
    lines = [
        line
        for line in scaling_lines(frames, found)
        if float(found[line.by_nodes[1]["entry_id"]]["value"]) > 0
    ]
    if not lines:
        return NotDrawn(
            "no setting was run on one node and on several with the same ranks per node, threads,"
            " collective and batch"
        )
    speedups = [
        {
            n: (
                float(found[entry["entry_id"]]["value"])
                / float(found[line.by_nodes[1]["entry_id"]]["value"])
            )
            for n, entry in line.by_nodes.items()
        }
        for line in lines
    ]
    max_nodes = max(n for line in lines for n in line.by_nodes)
    highest = [max_nodes, *(value for of_line in speedups for value in of_line.values())]
    chart = plane(
        CHART.title,
        CHART.about,
        linear([max_nodes], *ACROSS),
        linear(highest, *UP),
        ("nodes", "speed-up, ×"),
    )
    frameworks_legend(
        chart.canvas, [entries[line.by_nodes[1]["entry_id"]] for line in lines], context
    )
    chart.canvas.path([chart.at(1, 1), chart.at(max_nodes, max_nodes)], "join")
    rows = []
    for line, of_line in zip(lines, speedups, strict=True):
        style = context.colour(str(line.by_nodes[1]["framework"]))
        chart.canvas.path(
            [chart.at(n, value) for n, value in of_line.items()],
            f"l{style} curve{'' if line.kind == STRONG else ' weak'}",
        )
        for n, entry in line.by_nodes.items():
            label = f"{entries[entry['entry_id']]['label']} ({line.text})"
            with chart.canvas.link(f"{context.entry(entry['entry_id'])}#samples_per_s", label):
                chart.canvas.dot(
                    *chart.at(n, of_line[n]), f"c{style}", f"{label}: {of_line[n]:.2f}×"
                )
            rate = digits(float(found[entry["entry_id"]]["value"]))
            rows.append(
                (label, str(n), rate, f"{of_line[n]:.2f}×", f"{100 * of_line[n] / n:.0f} %")
            )
    return Drawing(
        chart.canvas,
        ("entry", "nodes", "samples per second", "speed-up", "efficiency"),
        tuple(rows),
    )


CHART = Chart(
    "scaling",
    "Scaling over nodes",
    "Throughput over that of one node with the same ranks per node, threads and collective. Solid:"
    " same global batch; dashed: same batch per rank; thin: linear.",
    frozenset({"figures", "study"}),
    draw,
    position=160,
)
