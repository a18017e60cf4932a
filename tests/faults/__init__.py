"""Faults: single changes of good bundles, submissions and experiments that the rules must find.

``tests/faults/<subject>.py`` has those of the rules in ``suite/compliance/rules/<subject>.py``, by
the id of the check that must find them, ``tests/extensions/<kind>/faults.py`` those of an
extension's; they are found by being there. Those of the checks of ``records``, which judge several
kinds of folders, stand with each kind. ``edits`` has the changes that they are made of.
"""

import importlib
import pkgutil
from functools import cache

from tests.faults.edits.fault import Fault
from tests.in_extensions import modules_named


@cache
def all_faults() -> dict[str, tuple[Fault, ...]]:
    """The faults of every check, by its id. Imports every rule: an edit alone needs none."""
    found: dict[str, tuple[Fault, ...]] = {}
    own = [each.name for each in pkgutil.iter_modules(__path__) if not each.ispkg]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in sorted(own)]
    for module in (*modules_named("faults").values(), *modules):
        for check, faults in module.FAULTS.items():
            found[check] = (*found.get(check, ()), *faults)
    return found
