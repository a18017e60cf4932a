"""Lines over the batch size: Figure 4 of the Jetson study, Figures 1a and 1b of the Raspberry Pi
study."""

from collections.abc import Mapping

from reporter.data.frames import Frames
from reporter.data.framework_names import framework_name
from reporter.data.selection import choose
from reporter.papers.entries import (
    OVER_RUNS,
    Varied,
    estimates,
    line_styles,
    of_epochs,
    styles_of,
    varied,
)
from reporter.papers.epochs import later
from reporter.papers.model import Estimate, Line, Lines, Missing, PaperFigure

PROPERTIES = ("batch_size", "learning_rate")
AXIS = "global batch size, samples"
MAX_LINES = 8
MS_PER_S = 1e3
MIB = 2.0**-20


def stall(frames: Frames) -> PaperFigure | Missing:
    """Stall with host-to-device copy: s per epoch, and ms per mini-batch below."""
    return _per_epoch_and_step(
        frames, ("fetch_stall_s", "copy_s"), "stall", "Fetch stall and host-to-device copy"
    )


def compute(frames: Frames) -> PaperFigure | Missing:
    """Compute: s per epoch, and ms per mini-batch below."""
    return _per_epoch_and_step(frames, ("compute_s",), "compute", "Time of computing")


def total(frames: Frames) -> PaperFigure | Missing:
    """End-to-end time: s per epoch, and ms per mini-batch below."""
    return _per_epoch_and_step(frames, ("end_to_end_s",), "total", "End-to-end time")


def throughput(frames: Frames) -> PaperFigure | Missing:
    """Training samples per second."""
    return _one(
        frames,
        estimates(frames, "samples_per_s"),
        "throughput, samples/s",
        "Training samples per second, mean over epochs 2 to last.",
    )


def memory(frames: Frames) -> PaperFigure | Missing:
    """Peak memory of the training processes, MiB; pages that they share count once."""
    about = "Peak memory of the training processes; pages that they share count once."
    return _one(frames, estimates(frames, "peak_memory_bytes", MIB), "peak memory, MiB", about)


def _one(
    frames: Frames, values: Mapping[str, Estimate], axis: str, about: str
) -> PaperFigure | Missing:
    lines, note = _lines(frames, values)
    if not lines:
        return Missing("no training was run with two batch sizes and all else equal")
    return PaperFigure(
        (Lines(AXIS, axis, lines, is_doubling=True),),
        _ids(frames, values),
        about,
        OVER_RUNS,
        (note,) if note else (),
    )


def _per_epoch_and_step(
    frames: Frames, columns: tuple[str, ...], name: str, about: str
) -> PaperFigure | Missing:
    epochs = of_epochs(frames, columns, later)
    steps = of_epochs(frames, ("steps",), later)
    per_step = {
        key: _scaled(one, MS_PER_S / steps[key].value)
        for key, one in epochs.items()
        if key in steps and steps[key].value > 0
    }
    upper, note = _lines(frames, epochs)
    lower, _ = _lines(frames, per_step)
    if not upper:
        return Missing("no training was run for two epochs with two batch sizes and all else equal")
    panels = (
        Lines(AXIS, f"{name}, s per epoch", upper, is_doubling=True),
        Lines(AXIS, f"{name}, ms per mini-batch", lower, is_doubling=True),
    )
    text = f"{about} per epoch and per mini-batch, mean over epochs 2 to last."
    return PaperFigure(
        panels,
        _ids(frames, epochs),
        text,
        "± one standard deviation over runs",
        (note,) if note else (),
    )


def _scaled(one: Estimate, factor: float) -> Estimate:
    return Estimate(
        one.value * factor,
        None if one.low is None else one.low * factor,
        None if one.high is None else one.high * factor,
    )


def _groups(frames: Frames, values: Mapping[str, Estimate]) -> tuple[Varied, ...]:
    return tuple(
        group
        for group in varied(frames, values, PROPERTIES)
        if len({entry["batch_size"] for entry in group.entries}) > 1
    )


def _ids(frames: Frames, values: Mapping[str, Estimate]) -> tuple[str, ...]:
    return tuple(entry["entry_id"] for group in _groups(frames, values) for entry in group.entries)


def _lines(frames: Frames, values: Mapping[str, Estimate]) -> tuple[tuple[Line, ...], str]:
    """A line per setting that was run at two batch sizes, and a note where settings share one line
    per framework."""
    groups, styles = _groups(frames, values), styles_of(frames)
    if not groups:
        return (), ""
    first = {
        str(index): values[group.entries[0]["entry_id"]].value for index, group in enumerate(groups)
    }
    chosen = choose(first, lambda index: str(groups[int(index)].entries[0]["framework"]), MAX_LINES)
    shown = [groups[int(index)] for index in sorted(chosen.ids, key=int)]
    names = [str(group.entries[0]["framework"]) for group in shown] + [
        group.name for group in chosen.groups
    ]
    numbers = line_styles(names, styles)
    lines = [
        Line(
            _label(group),
            number,
            tuple(
                (float(entry["batch_size"]), values[entry["entry_id"]]) for entry in group.entries
            ),
        )
        for group, number in zip(shown, numbers, strict=False)
    ]
    for shared, number in zip(chosen.groups, numbers[len(shown) :], strict=True):
        by_size: dict[float, list[float]] = {}
        for index in shared.ids:
            for entry in groups[int(index)].entries:
                by_size.setdefault(float(entry["batch_size"]), []).append(
                    values[entry["entry_id"]].value
                )
        points = tuple(
            (size, Estimate(sum(of_size) / len(of_size), min(of_size), max(of_size)))
            for size, of_size in sorted(by_size.items())
        )
        lines.append(Line(shared.label, number, points, is_faint=True))
    return tuple(lines), chosen.note.replace("entries", "settings").replace("row", "line").replace(
        "a mark at the median", "the mean"
    )


def _label(group: Varied) -> str:
    return group.heading or framework_name(str(group.entries[0]["framework"]))
