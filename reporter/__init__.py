"""Turns bundles into tidy frames, figures and a static site."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reporter.board.settings_comparison import compare
    from reporter.data.frames import Frames
    from reporter.data.load import load

__all__ = ["Frames", "compare", "load"]
_LAZY = {
    "Frames": "reporter.data.frames",
    "compare": "reporter.board.settings_comparison",
    "load": "reporter.data.load",
}
"""What is imported when it is named first: start-up time, since the command line lists figures
without pandas."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
