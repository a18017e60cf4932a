"""Makes the file of a preset from bundles."""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from reporter.data.frames import Frames
from reporter.data.load import load_frames
from reporter.figures.model import Missing, PaperFigure
from reporter.papers.captions import caption_of
from reporter.papers.presets import Preset, preset_of
from reporter.papers.render import render_figure
from reporter.papers.short_labels import with_short_labels
from reporter.papers.style import PaperLook
from suite.errors import SuiteError


@dataclass(frozen=True)
class PaperFile:
    """A figure's file and its caption."""

    content: bytes
    caption: str


def make_figure(name: str, paths: Iterable[Path], look: PaperLook, file_format: str) -> PaperFile:
    """The figure ``name`` of the accepted runs, and those of sweeps, at or below the paths.

    Raises SuiteError if there is no such figure, or if the runs lack what it needs: the sentence
    says what, and how to make it.
    """
    preset = preset_of(name)
    frames = load_frames(paths)
    figure = draw_preset(preset, frames.measured())
    if isinstance(figure, Missing):
        raise SuiteError(
            f"{name} is not drawn: {figure.reason}{_not_accepted(frames)}. It needs"
            f" {preset.needs}; for example: {preset.make}"
        )
    content = render_figure(figure, preset.title, look, file_format)
    return PaperFile(content, caption_of(preset, figure, frames.measured()))


def draw_preset(preset: Preset, frames: Frames) -> PaperFigure | Missing:
    """The preset's panels, or why there are none."""
    module, function, *arguments = preset.drawn_by.split(":")
    draw_it: Callable[..., PaperFigure | Missing] = getattr(
        importlib.import_module(f"reporter.figures.{module}"), function
    )
    drawn = draw_it(frames, *arguments)
    return drawn if isinstance(drawn, Missing) else with_short_labels(drawn)


def _not_accepted(frames: Frames) -> str:
    """How many runs do not count, and why: they may be the ones that somebody misses."""
    left_out = frames.runs[~frames.runs["run_id"].isin(frames.measured().runs["run_id"])]
    others = [
        f"{int(count)} {state}" for state, count in sorted(left_out["state"].value_counts().items())
    ]
    if len(frames.broken):
        others.append(
            f"{len(frames.broken)} left out, the first: {frames.broken['reason'].iloc[0]}"
        )
    return f" (not counted: {', '.join(others)})" if others else ""
