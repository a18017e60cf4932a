"""Bundles to tidy tables, figures and a static site."""

from reporter.frames import Frames
from reporter.load import load

__all__ = ["Frames", "load"]
