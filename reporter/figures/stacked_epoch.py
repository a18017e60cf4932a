"""Where an epoch's time goes: fetch stall, copy, compute, communication, overhead, one bar per run (the form of Prashanthi et al., Figure 2a)."""

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from reporter.figures.scale import ticks
from reporter.load import Frames

PARTS = (
    ("fetch_stall_s", "fetch stall"),
    ("copy_s", "copy"),
    ("compute_s", "compute"),
    ("communication_s", "communication"),
    ("overhead_s", "overhead"),
)
WIDTH, LABEL, RIGHT, BAR, GAP, TOP, BOTTOM = 860, 250, 70, 26, 14, 40, 46
LABEL_LETTERS = 34


def draw(frames: Frames) -> str:
    """Mean over epochs 2..k of each part, stacked, in seconds, the shortest first; runs without such epochs are left out and named below the bars."""
    wide = frames.figures.pivot(index="run_id", columns="figure", values="value")
    names = {str(run["run_id"]): _name(run) for run in frames.runs.to_dict("records")}
    complete = [run_id for run_id in names if wide.loc[run_id, [part for part, _ in PARTS]].notna().all()]
    if not complete:
        return '<p class="empty">No run has finished two epochs, so there is no epoch time to split.</p>'
    totals = {run_id: sum(max(float(wide.loc[run_id, part]), 0.0) for part, _ in PARTS) for run_id in complete}
    complete.sort(key=lambda run_id: (totals[run_id], run_id))
    steps = ticks(max(totals.values()))
    height = TOP + len(complete) * (BAR + GAP) + BOTTOM
    scale = (WIDTH - LABEL - RIGHT) / steps[-1]
    body = [_legend(), *(_grid(value, scale, height) for value in steps)]
    for index, run_id in enumerate(complete):
        values = [float(wide.loc[run_id, part]) for part, _ in PARTS]
        body.append(_bar(run_id, names[run_id], values, totals[run_id], TOP + index * (BAR + GAP) + GAP, scale))
    missing = [names[run_id] for run_id in names if run_id not in totals]
    note = f'<p class="note">Fewer than two epochs, so not drawn: {escape("; ".join(missing))}.</p>' if missing else ""
    middle = LABEL + (WIDTH - LABEL - RIGHT) / 2
    axis = f'<text x="{middle:.1f}" y="{height - 6}" class="axis" text-anchor="middle">seconds per epoch, mean of epochs 2 to last</text>'
    described = "One bar per run. The table below the chart and each run's page hold the same numbers."
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="graphics-document" aria-labelledby="stacked-title stacked-text">'
        f'<title id="stacked-title">Where an epoch&#39;s time goes</title><desc id="stacked-text">{described}</desc>{"".join(body)}{axis}</svg>{note}'
    )


def _name(run: Mapping[Any, Any]) -> str:
    return f"{run['framework']} on {run['device']}, seed {run['seed']}"


def _legend() -> str:
    parts, x = [], LABEL
    for index, (_, label) in enumerate(PARTS):
        parts.append(f'<rect x="{x}" y="8" width="12" height="12" class="part{index}"/><text x="{x + 17}" y="18">{label}</text>')
        x += 32 + 7 * len(label)
    return "".join(parts)


def _grid(value: float, scale: float, height: int) -> str:
    x = LABEL + value * scale
    return (
        f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{height - BOTTOM + 8}" class="grid"/>'
        f'<text x="{x:.1f}" y="{height - BOTTOM + 22}" text-anchor="middle" class="tick">{value:g}</text>'
    )


def _bar(run_id: str, name: str, values: list[float], total: float, y: int, scale: float) -> str:
    shown = name if len(name) <= LABEL_LETTERS else name[: LABEL_LETTERS - 1] + "…"
    pieces, x = [], float(LABEL)
    for index, value in enumerate(values):
        width = max(value, 0.0) * scale
        label = quoteattr(f"{PARTS[index][1]}: {value:.4g} s ({value / total:.1%})")
        pieces.append(
            f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{BAR}" class="part{index}"><title>{escape(name)}, {label[1:-1]}</title></rect>'
        )
        x += width
    return (
        f'<a href="runs/{run_id}/index.html#epochs"><text x="{LABEL - 8}" y="{y + 18}" text-anchor="end" class="name">{escape(shown)}</text></a>'
        f'{"".join(pieces)}<text x="{x + 6:.1f}" y="{y + 18}" class="tick">{total:.3g} s</text>'
    )
