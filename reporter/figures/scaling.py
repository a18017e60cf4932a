"""Speed-up over nodes, as in Figure 1c of the Raspberry Pi study."""

from dataclasses import replace

from reporter.data.frames import Frames, is_known
from reporter.data.scaling import STRONG, ScalingLine, scaling_lines
from reporter.data.text import significant
from reporter.data.values import entries_of, figures_of
from reporter.figures.chart import Chart, Context
from reporter.figures.for_papers import (
    Curve,
    Points,
    entry_names,
    lines_of,
    lines_panel,
    position_scale,
    settings_notes,
)
from reporter.figures.model import (
    Dot,
    Estimate,
    Line,
    Missing,
    PaperFigure,
    Plane,
    Plot,
    dot,
    line_through,
)
from reporter.figures.scales import linear_scale

RATE = "samples_per_s"
ALIKE = (
    "on several nodes with the same ranks per node, threads and collective, and the same global"
    " batch or batch per rank"
)


def describe(frames: Frames, context: Context) -> Plot | Missing:
    """Throughput of n nodes over that of one node, against n; the thin line is linear speed-up. The
    table also has the efficiency.

    A line holds ranks per node, threads, collective and either the global batch (strong) or the
    batch per rank (weak).
    """
    entries, rates, found = entries_of(frames), figures_of(frames, RATE), _lines(frames)
    if not found:
        return Missing(f"no setting was run on one node and {ALIKE}")
    lines, dots, rows = list[Line](), list[Dot](), list[tuple[str, ...]]()
    for line, points in found:
        style, values = (
            context.colour(line.by_nodes[1]["framework"]),
            [one.value for _, one in points],
        )
        dashes = "" if line.kind == STRONG else " weak"
        lines.append(
            line_through(zip(line.by_nodes, values, strict=True), f"l{style} curve{dashes}")
        )
        for (n, entry), value in zip(line.by_nodes.items(), values, strict=True):
            name, speed_up = entry["entry_id"], f"{value:.2f}×"
            label, link = f"{entries[name]['label']} ({line.text})", context.entry(name, RATE)
            dots.append(dot((n, value), f"c{style}", f"{label}: {speed_up}", link, label))
            rate, efficiency = significant(float(rates[name]["value"])), f"{100 * value / n:.0f} %"
            rows.append((label, f"{n:g}", rate, speed_up, efficiency))
    most = max(one.x.value for one in dots)
    panel = Plane(
        "nodes",
        "speed-up, ×",
        linear_scale([most]),
        linear_scale([most, *(one.y.value for one in dots)]),
        (_perfect(most), *lines),
        tuple(dots),
        context.frameworks([line.by_nodes[1] for line, _ in found]),
    )
    headings = ("entry", "nodes", "samples per second", "speed-up", "efficiency")
    return Plot((panel,), headings, tuple(rows))


def for_paper(frames: Frames) -> PaperFigure | Missing:
    """Throughput of n nodes over that of one, against n; thin line: linear speed-up."""
    found = _lines(frames)
    if not found:
        return Missing(f"no training was run on one node and {ALIKE}")
    firsts = [line.by_nodes[1] for line, _ in found]
    names = entry_names(firsts, ("nodes", "ranks", "collective", "batch_size", "learning_rate"))
    curves, order = dict[str, Curve](), dict[str, float]()
    for index, ((line, points), first) in enumerate(zip(found, firsts, strict=True)):
        label = " · ".join(part for part in (names[first["entry_id"]], line.text) if part)
        curves[str(index)] = Curve(label, str(first["framework"]), points)
        order[str(index)] = -points[-1][1].value
    lines, note = lines_of(frames, curves, order, first="highest")
    panel = lines_panel(("nodes", "speed-up, ×"), lines, position_scale)
    most = float(max(max(line.by_nodes) for line, _ in found))
    panel = replace(panel, lines=(_perfect(most), *lines), y=linear_scale([most, *panel.y.ticks]))
    about = (
        "Throughput on n nodes / throughput on one node with the same ranks per node, threads and"
        " collective; strong: same global batch, weak: same batch per rank. Thin line: linear"
        " speed-up."
    )
    ids = dict.fromkeys(entry["entry_id"] for line, _ in found for entry in line.by_nodes.values())
    error_bars = (
        "± one standard deviation over runs, computed from the deviations of both throughputs"
    )
    return PaperFigure((panel,), tuple(ids), about, error_bars, settings_notes(note))


def _perfect(most: float) -> Line:
    return line_through([(1.0, 1.0), (most, most)], "join")


def _lines(frames: Frames) -> list[tuple[ScalingLine, Points]]:
    """The lines with their speed-ups. The error bar of a quotient adds the relative deviations of
    both throughputs in squares."""
    rates, found = figures_of(frames, RATE), list[tuple[ScalingLine, Points]]()
    for line in scaling_lines(frames, rates):
        base, points = rates[line.by_nodes[1]["entry_id"]], list[tuple[float, Estimate]]()
        for nodes, entry in line.by_nodes.items() if float(base["value"]) > 0 else ():
            rate = rates[entry["entry_id"]]
            value = float(rate["value"]) / float(base["value"])
            parts = [
                float(row["spread"]) / float(row["value"])
                for row in (rate, base)
                if row["spread_over"] == "runs" and is_known(row["spread"])
            ]
            has_spread = len(parts) > 1 and nodes > 1
            spread = value * sum(part**2 for part in parts) ** 0.5 if has_spread else None
            points.append((float(nodes), Estimate.around(value, spread)))
        found += [(line, tuple(points))] if points else []
    return found


CHART = Chart(
    "scaling",
    "Scaling over nodes",
    "Throughput / throughput on one node with the same ranks per node, threads and collective."
    " Solid: same global batch; dashed: same batch per rank; thin: linear.",
    describe,
    frozenset({"figures", "study"}),
    position=160,
)
