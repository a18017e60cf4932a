"""Faults: single changes of good bundles, submissions and experiments that the rules must find.

``tests/faults/<subject>.py`` has those of the rules in ``suite/compliance/rules/<subject>.py``, by
rule id; it is found by being there. ``edits`` has the changes that they are made of.
"""

import importlib
import pkgutil
from functools import cache

from tests.faults.edits.fault import Fault


@cache
def all_faults() -> dict[str, tuple[Fault, ...]]:
    """The faults of every rule, by its id. Imports every rule: an edit alone needs none."""
    found: dict[str, tuple[Fault, ...]] = {}
    for name in sorted(each.name for each in pkgutil.iter_modules(__path__) if not each.ispkg):
        of_subject = importlib.import_module(f"{__name__}.{name}").FAULTS
        if twice := found.keys() & of_subject.keys():
            raise ValueError(f"another module has faults of {', '.join(sorted(twice))}, too")
        found |= of_subject
    return found
