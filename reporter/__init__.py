"""Turns bundles into tidy frames, figures and a static site."""

from reporter.data.frames import Frames
from reporter.data.load import load

__all__ = ["Frames", "load"]
