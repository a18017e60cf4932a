"""Figures, one file each: a tidy frame in, one deterministic SVG out. A new figure is one file and one line here."""

from collections.abc import Callable

from reporter.figures import stacked_epoch
from reporter.load import Frames

FIGURES: dict[str, Callable[[Frames], str]] = {"stacked-epoch": stacked_epoch.draw}
