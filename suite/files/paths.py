"""Paths: rules and implementations, in a checkout or in an installed suite, and the folder for
environments and data."""

import os
from pathlib import Path

from suite.errors import SuiteError

HOME_VARIABLE = "SUITE_HOME"
_PACKAGE = Path(__file__).resolve().parent.parent
_INSTALLED = "installed"


def repository_root() -> Path:
    """The folder that implementations are started in; it contains ``rules/`` and
    ``reference_impls/``.

    It is the checkout, or ``suite/installed`` of an installed suite: a folder of its own, because
    ``python -m`` puts its working folder first on the search path, and a framework must not find
    the harness's NumPy there.
    """
    return checkout() or _PACKAGE / _INSTALLED


def checkout() -> Path | None:
    """The checkout that this harness runs from; None for an installed suite."""
    return None if (_PACKAGE / _INSTALLED).is_dir() else _PACKAGE.parent


def rules_folder(root: Path | None = None) -> Path:
    """The folder of the rulebook: workloads, devices, data sets, rounds. Raises SuiteError where
    the suite has lost it."""
    folder = (root or repository_root()) / "rules"
    if root is None and not folder.is_dir():
        raise SuiteError(f"The suite has no rules: {folder} is missing. Install the suite again.")
    return folder


def nearest_existing(path: Path) -> Path:
    """The path itself, or the nearest folder above it that exists."""
    return next(place for place in (path, *path.parents) if place.exists())


def suite_home() -> Path:
    """The folder of framework environments and prepared data, shared by all checkouts of a user.

    ``$SUITE_HOME``, else ``$XDG_CACHE_HOME/edge-training-suite``, else
    ``~/.cache/edge-training-suite``. Raises SuiteError where ``~`` is nowhere: of a user without a
    home folder.
    """
    own, cache = os.environ.get(HOME_VARIABLE), os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        place = Path(own or f"{cache}/edge-training-suite").expanduser()
    except RuntimeError as error:
        raise SuiteError("This user has no home folder; set HOME to a folder.") from error
    return place.absolute()
