"""Lines over the batch size: Figure 4 of the Jetson study, Figures 1a and 1b of the Raspberry Pi
study."""

from collections.abc import Mapping

from reporter.data.frames import Frames
from reporter.figures.batches import MIB, MS_PER_S
from reporter.figures.entries import estimates, of_epochs
from reporter.figures.model import Estimate, Missing, PaperFigure, Plane
from reporter.figures.scales import doubling
from reporter.papers.entries import (
    OVER_RUNS,
    Curve,
    Varied,
    lines_of,
    lines_panel,
    of_settings,
    property_text,
    varied,
)

PARTS = {
    "stall": ("Fetch stall and host-to-device copy", ("fetch_stall_s", "copy_s")),
    "compute": ("Time of computing", ("compute_s",)),
    "total": ("End-to-end time", ("end_to_end_s",)),
}


def throughput(frames: Frames) -> PaperFigure | Missing:
    """Training samples per second."""
    about = "Training samples per second, mean over epochs 2 to last."
    return _one(frames, estimates(frames, "samples_per_s"), "throughput, samples/s", about)


def memory(frames: Frames) -> PaperFigure | Missing:
    """Peak memory of the training processes, MiB; pages that they share count once."""
    about = "Peak memory of the training processes; pages that they share count once."
    return _one(frames, estimates(frames, "peak_memory_bytes", MIB), "peak memory, MiB", about)


def _one(
    frames: Frames, values: Mapping[str, Estimate], axis: str, about: str
) -> PaperFigure | Missing:
    groups = _groups(frames, values)
    if not groups:
        return Missing("no training was run with two batch sizes and all else equal")
    panel, notes = _panel(frames, groups, values, axis)
    return PaperFigure((panel,), _ids(groups), about, OVER_RUNS, notes)


def per_epoch_and_step(frames: Frames, part: str) -> PaperFigure | Missing:
    """A part of an epoch (of PARTS): s per epoch, and ms per mini-batch below."""
    about, columns = PARTS[part]
    epochs, steps = of_epochs(frames, columns), of_epochs(frames, ("steps",))
    per_step = {
        name: one.times(MS_PER_S / steps[name].value)
        for name, one in epochs.items()
        if name in steps and steps[name].value > 0
    }
    groups = _groups(frames, epochs)
    if not groups:
        return Missing("no training was run for two epochs with two batch sizes and all else equal")
    upper, notes = _panel(frames, groups, epochs, f"{part}, s per epoch")
    lower, _ = _panel(frames, _groups(frames, per_step), per_step, f"{part}, ms per mini-batch")
    about = f"{about} per epoch and per mini-batch, mean over epochs 2 to last."
    error_bars = "± one standard deviation over runs"
    return PaperFigure((upper, lower), _ids(groups), about, error_bars, notes)


def _groups(frames: Frames, values: Mapping[str, Estimate]) -> list[Varied]:
    return [
        group
        for group in varied(frames, values, ("batch_size", "learning_rate"))
        if len({entry["batch_size"] for entry in group.entries}) > 1
    ]


def _ids(groups: list[Varied]) -> tuple[str, ...]:
    return tuple(entry["entry_id"] for group in groups for entry in group.entries)


def _panel(
    frames: Frames, groups: list[Varied], values: Mapping[str, Estimate], axis: str
) -> tuple[Plane, tuple[str, ...]]:
    """A line per setting that was run at two batch sizes, and a note where settings share one line
    per framework."""
    curves = {
        str(index): Curve(
            group.heading or property_text(group.entries[0], "framework"),
            str(group.entries[0]["framework"]),
            tuple(
                (float(entry["batch_size"]), values[entry["entry_id"]]) for entry in group.entries
            ),
        )
        for index, group in enumerate(groups)
    }
    first = {index: curve.points[0][1].value for index, curve in curves.items()}
    lines, note = lines_of(frames, curves, first)
    panel = lines_panel(("global batch size, samples", axis), lines, doubling)
    return panel, (of_settings(note),) if note else ()
