"""Bundles to tidy tables, figures and a static site."""

from reporter.load import Frames, load

__all__ = ["Frames", "load"]
