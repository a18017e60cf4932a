"""Paths: the checkout with rules and implementations, and the folder for environments and data."""

import os
from collections.abc import Mapping
from pathlib import Path

HOME_VARIABLE = "SUITE_HOME"


def repository_root() -> Path:
    """The checkout that this harness runs from; it contains ``rules/`` and ``reference_impls/``."""
    return Path(__file__).resolve().parent.parent.parent


def home(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of framework environments and prepared data, shared by all checkouts of a user.

    ``$SUITE_HOME``, else ``$XDG_CACHE_HOME/edge-training-suite``, else ``~/.cache/edge-training-suite``.
    """
    if environment.get(HOME_VARIABLE):
        return Path(environment[HOME_VARIABLE]).expanduser()
    cache = environment.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(cache) / "edge-training-suite"
