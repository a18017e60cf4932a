"""Throughput and memory by batch size, as in Figures 1a and 1b of the Raspberry Pi study and Figure
4 of Prashanthi et al."""

from reporter.data.frames import IDENTITY, Frames
from reporter.data.text import digits
from reporter.data.values import entries_of, figures_of
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn, frameworks_legend
from reporter.figures.plane import ACROSS, UP, plane
from reporter.figures.svg import doubling, linear

SETTING = [name for name in IDENTITY if name not in ("batch_size", "learning_rate")]


def draw_throughput(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Samples per second against the global batch size; one line per setting that was run at two or
    more sizes."""
    return _draw(frames, context, THROUGHPUT, "samples_per_s", 1.0, "samples per second")


def draw_memory(frames: Frames, context: Context) -> Drawing | NotDrawn:
    """Peak memory of the training processes, MiB, against the global batch size."""
    return _draw(frames, context, MEMORY, "peak_memory_bytes", 2.0**-20, "peak memory, MiB")


def _draw(
    frames: Frames, context: Context, chart: Chart, figure: str, factor: float, axis: str
) -> Drawing | NotDrawn:
    found, entries = figures_of(frames, figure), entries_of(frames)
    if entries and not found:
        return NotDrawn("it is unknown in every run")
    settings: dict[tuple[str, ...], list[str]] = {}
    for name in entries:
        if name in found:
            settings.setdefault(tuple(str(entries[name][key]) for key in SETTING), []).append(name)
    lines = {
        key: sorted(names, key=lambda name: entries[name]["batch_size"])
        for key, names in sorted(settings.items())
    }
    lines = {
        key: names
        for key, names in lines.items()
        if len({entries[name]["batch_size"] for name in names}) > 1
    }
    if not lines:
        return NotDrawn("no setting was run at two batch sizes with all else equal")
    points = {
        name: (float(entries[name]["batch_size"]), float(found[name]["value"]) * factor)
        for names in lines.values()
        for name in names
    }
    x, y = (
        doubling([size for size, _ in points.values()], *ACROSS),
        linear([value for _, value in points.values()], *UP),
    )
    drawn = plane(chart.title, chart.about, x, y, ("global batch size, samples", axis))
    frameworks_legend(drawn.canvas, [entries[name] for name in points], context)
    for names in lines.values():
        style = context.colour(entries[names[0]]["framework"])
        drawn.canvas.path([drawn.at(*points[name]) for name in names], f"l{style} curve")
        for name in names:
            with drawn.canvas.link(f"{context.entry(name)}#{figure}", entries[name]["label"]):
                drawn.canvas.dot(
                    *drawn.at(*points[name]),
                    f"c{style}",
                    f"{entries[name]['label']}: {digits(points[name][1])}",
                )
    rows = tuple(
        (entries[name]["label"], f"{points[name][0]:g}", digits(points[name][1], 4))
        for name in points
    )
    return Drawing(drawn.canvas, ("entry", "batch size", axis), rows)


THROUGHPUT = Chart(
    "batch-throughput",
    "Throughput by batch size",
    "Training samples per second, mean over runs. Entries of a line differ only in batch size and"
    " learning rate.",
    frozenset({"figures", "study"}),
    draw_throughput,
    position=90,
)
MEMORY = Chart(
    "batch-memory",
    "Memory by batch size",
    "Peak memory of the training processes, MiB, mean over runs. Entries of a line differ only in"
    " batch size and learning rate.",
    frozenset({"figures", "study"}),
    draw_memory,
    position=100,
)
CHARTS = (THROUGHPUT, MEMORY)
