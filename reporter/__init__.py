"""Turns bundles into tidy frames, figures and a static site."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reporter.board.settings_comparison import compare_settings as compare
    from reporter.data.frames import Frames
    from reporter.data.load import load_frames as load

__all__ = ["Frames", "compare", "load"]
_LAZY = {
    "Frames": ("reporter.data.frames", "Frames"),
    "compare": ("reporter.board.settings_comparison", "compare_settings"),
    "load": ("reporter.data.load", "load_frames"),
}
"""What is imported when it is named first: start-up time, since the command line lists figures
without pandas."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, function = _LAZY[name]
    return getattr(importlib.import_module(module), function)
