"""Speed-up over nodes: Figure 1c of the Raspberry Pi study."""

from reporter.data.frames import Frames, known
from reporter.data.scaling import ScalingLine, scaling_lines
from reporter.data.selection import choose
from reporter.data.values import figures_of
from reporter.papers.batches import MAX_LINES
from reporter.papers.entries import line_styles, names_of, styles_of
from reporter.papers.model import Estimate, Line, Lines, Missing, PaperFigure

RATE = "samples_per_s"


def speed_up(frames: Frames) -> PaperFigure | Missing:
    """Throughput of n nodes over that of one, against n; thin line: linear speed-up."""
    rates = figures_of(frames, RATE)
    lines = [
        line
        for line in scaling_lines(frames, rates)
        if float(rates[line.by_nodes[1]["entry_id"]]["value"]) > 0
    ]
    if not lines:
        return Missing(
            "no training was run on one node and on several with the same ranks per node, threads,"
            " collective and batch"
        )
    firsts = [line.by_nodes[1] for line in lines]
    names, styles = (
        names_of(firsts, ("nodes", "ranks", "collective", "batch_size", "learning_rate")),
        styles_of(frames),
    )
    points = {str(index): _points(line, rates) for index, line in enumerate(lines)}
    chosen = choose(
        {index: -one[-1][1].value for index, one in points.items()},
        lambda index: str(firsts[int(index)]["framework"]),
        MAX_LINES,
    )
    shown = sorted(map(int, chosen.ids))
    numbers = line_styles(
        [str(firsts[index]["framework"]) for index in shown]
        + [group.name for group in chosen.groups],
        styles,
    )
    drawn = [
        Line(_label(names[firsts[index]["entry_id"]], lines[index]), number, points[str(index)])
        for index, number in zip(shown, numbers, strict=False)
    ]
    for group, number in zip(chosen.groups, numbers[len(shown) :], strict=True):
        by_nodes: dict[float, list[float]] = {}
        for index in group.ids:
            for nodes, one in points[index]:
                by_nodes.setdefault(nodes, []).append(one.value)
        shared = tuple(
            (nodes, Estimate(sum(of) / len(of), min(of), max(of)))
            for nodes, of in sorted(by_nodes.items())
        )
        drawn.append(Line(group.label, number, shared, is_faint=True))
    most = max(max(line.by_nodes) for line in lines)
    panel = Lines(
        "nodes", "speed-up, ×", tuple(drawn), reference=((1.0, 1.0), (float(most), float(most)))
    )
    ids = tuple(
        dict.fromkeys(entry["entry_id"] for line in lines for entry in line.by_nodes.values())
    )
    about = (
        "Throughput of n nodes over that of one node with the same ranks per node, threads and"
        " collective; strong: the same global batch, weak: the same batch per rank. Thin line:"
        " linear speed-up."
    )
    notes = (
        (
            chosen.note.replace("entries", "settings")
            .replace("row", "line")
            .replace("a mark at the median", "the mean"),
        )
        if chosen.note
        else ()
    )
    return PaperFigure(
        (panel,), ids, about, "± one standard deviation over runs, of both throughputs", notes
    )


def _label(name: str, line: ScalingLine) -> str:
    return " · ".join(part for part in (name, line.text) if part)


def _points(
    line: ScalingLine, rates: dict[str, dict[str, object]]
) -> tuple[tuple[float, Estimate], ...]:
    """Speed-ups; the error bar of a quotient adds the relative deviations of both throughputs in
    squares."""
    base = rates[line.by_nodes[1]["entry_id"]]
    found = []
    for nodes, entry in line.by_nodes.items():
        rate = rates[entry["entry_id"]]
        value = _number(rate["value"]) / _number(base["value"])
        parts = [
            _number(row["spread"]) / _number(row["value"])
            for row in (rate, base)
            if row["spread_over"] == "runs" and known(row["spread"])
        ]
        spread = (
            value * sum(part**2 for part in parts) ** 0.5 if len(parts) > 1 and nodes > 1 else None
        )
        found.append(
            (
                float(nodes),
                (
                    Estimate(value)
                    if spread is None
                    else Estimate(value, value - spread, value + spread)
                ),
            )
        )
    return tuple(found)


def _number(value: object) -> float:
    return float(str(value))
