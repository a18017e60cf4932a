"""Speed-up over nodes: Figure 1c of the Raspberry Pi study."""

from dataclasses import replace

from reporter.data.frames import Frames, Row, known
from reporter.data.scaling import ScalingLine
from reporter.data.values import figures_of
from reporter.figures.model import Estimate, Missing, PaperFigure, through
from reporter.figures.scales import linear
from reporter.figures.scaling import RATE, lines_with_rates
from reporter.papers.entries import (
    Curve,
    Points,
    lines_of,
    lines_panel,
    names_of,
    of_settings,
    positions,
)


def speed_up(frames: Frames) -> PaperFigure | Missing:
    """Throughput of n nodes over that of one, against n; thin line: linear speed-up."""
    rates = figures_of(frames, RATE)
    found = lines_with_rates(frames, {name: float(row["value"]) for name, row in rates.items()})
    if not found:
        return Missing(
            "no training was run on one node and on several with the same ranks per node, threads,"
            " collective and batch"
        )
    firsts = [line.by_nodes[1] for line in found]
    names = names_of(firsts, ("nodes", "ranks", "collective", "batch_size", "learning_rate"))
    curves = {
        str(index): Curve(
            " · ".join(part for part in (names[first["entry_id"]], line.text) if part),
            str(first["framework"]),
            _points(line, rates),
        )
        for index, (line, first) in enumerate(zip(found, firsts, strict=True))
    }
    order = {index: -curve.points[-1][1].value for index, curve in curves.items()}
    lines, note = lines_of(frames, curves, order)
    panel = lines_panel(("nodes", "speed-up, ×"), lines, positions)
    most = float(max(max(line.by_nodes) for line in found))
    perfect = through([(1.0, 1.0), (most, most)], "join")
    panel = replace(panel, lines=(perfect, *lines), y=linear([most, *panel.y.ticks]))
    about = (
        "Throughput of n nodes over that of one node with the same ranks per node, threads and"
        " collective; strong: the same global batch, weak: the same batch per rank. Thin line:"
        " linear speed-up."
    )
    ids = dict.fromkeys(entry["entry_id"] for line in found for entry in line.by_nodes.values())
    error_bars = "± one standard deviation over runs, of both throughputs"
    notes = (of_settings(note),) if note else ()
    return PaperFigure((panel,), tuple(ids), about, error_bars, notes)


def _points(line: ScalingLine, rates: dict[str, Row]) -> Points:
    """Speed-ups; the error bar of a quotient adds the relative deviations of both throughputs in
    squares."""
    base = rates[line.by_nodes[1]["entry_id"]]
    found = []
    for nodes, entry in line.by_nodes.items():
        rate = rates[entry["entry_id"]]
        value = float(rate["value"]) / float(base["value"])
        parts = [
            float(row["spread"]) / float(row["value"])
            for row in (rate, base)
            if row["spread_over"] == "runs" and known(row["spread"])
        ]
        is_known = len(parts) > 1 and nodes > 1
        spread = value * sum(part**2 for part in parts) ** 0.5 if is_known else None
        found.append((float(nodes), Estimate.around(value, spread)))
    return tuple(found)
