"""Faults: single changes of good bundles, submissions and experiments that the rules must find.

``tests/faults/<subject>.py`` has those of the rules in ``suite/compliance/rules/<subject>.py``, by
rule id; it is found by being there. ``edits`` has the changes that they are made of.
"""

import importlib
import pkgutil

from tests.faults.edits.fault import Fault


def discover() -> dict[str, tuple[Fault, ...]]:
    """The faults of every rule, by its id."""
    names = (found.name for found in pkgutil.iter_modules(__path__) if not found.ispkg)
    modules = (importlib.import_module(f"{__name__}.{name}") for name in sorted(names))
    return {rule: faults for module in modules for rule, faults in module.FAULTS.items()}


FAULTS = discover()
