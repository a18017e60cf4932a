"""Speed-up over nodes, as in Figure 1c of the Raspberry Pi study."""

from reporter.data.frames import IDENTITY, Frames
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn, frameworks_legend
from reporter.figures.plane import ACROSS, UP, plane
from reporter.figures.svg import linear

SETTING = [name for name in IDENTITY if name not in ("nodes", "ranks", "collective", "batch_size", "learning_rate", "threads")]


def draw(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Throughput of n nodes over that of one node, against n; the thin line is linear speed-up. The table also has the efficiency."""
    found, entries = figures_of(frames, "samples_per_s"), entries_of(frames)
    settings: dict[tuple[str, ...], dict[int, str]] = {}
    for name in sorted(entries, key=lambda name: -float(found[name]["value"]) if name in found else 0.0):
        if name in found:
            settings.setdefault(tuple(str(entries[name][key]) for key in SETTING), {}).setdefault(int(entries[name]["nodes"]), name)
    lines = {key: dict(sorted(nodes.items())) for key, nodes in sorted(settings.items()) if 1 in nodes and len(nodes) > 1}
    if not lines:
        return NotDrawn("no setting was run both on one node and on several")
    speedups = {name: float(found[name]["value"]) / float(found[nodes[1]]["value"]) for nodes in lines.values() for name in nodes.values()}
    max_nodes = max(n for nodes in lines.values() for n in nodes)
    chart = plane(CHART.title, CHART.about, linear([max_nodes], *ACROSS), linear([max_nodes, *speedups.values()], *UP), ("nodes", "speed-up"))
    frameworks_legend(chart.canvas, [entries[name] for name in speedups], context)
    chart.canvas.path([chart.at(1, 1), chart.at(max_nodes, max_nodes)], "join")
    rows = []
    for nodes in lines.values():
        style = context.colour(entries[nodes[1]]["framework"])
        chart.canvas.path([chart.at(n, speedups[name]) for n, name in nodes.items()], f"l{style} curve")
        for n, name in nodes.items():
            label = entries[name]["label"]
            with chart.canvas.link(f"{context.entry(name)}#samples_per_s", label):
                chart.canvas.dot(*chart.at(n, speedups[name]), f"c{style}", f"{label}: {speedups[name]:.2f}×")
            rows.append((label, str(n), digits(float(found[name]["value"])), f"{speedups[name]:.2f}", f"{100 * speedups[name] / n:.0f} %"))
    return Drawing(chart.canvas.svg(), ("entry", "nodes", "samples per second", "speed-up", "efficiency"), tuple(rows))


CHART = Chart(
    "scaling",
    "Scaling over nodes",
    "Throughput over that of one node, means over runs; thin line: linear speed-up. For each number of nodes, the fastest batch size is drawn.",
    frozenset({"board", "study"}),
    draw,
    position=160,
)
