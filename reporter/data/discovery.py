"""Finds what the modules of a package declare, so that a new module needs no list."""

import importlib
import pkgutil
from typing import TypeVar

Declared = TypeVar("Declared")


def declarations(package: str, name: str, kind: type[Declared]) -> tuple[Declared, ...]:
    """What the modules directly in ``package`` declare as ``NAME`` (one object) or ``NAMES`` (a
    tuple), by module name.

    Raises TypeError for a declaration that is no ``kind``, naming its module.
    """
    found: list[Declared] = []
    for module_info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        module = importlib.import_module(f"{package}.{module_info.name}")
        declared = (
            *getattr(module, f"{name}S", ()),
            *((getattr(module, name),) if hasattr(module, name) else ()),
        )
        for one in declared:
            if not isinstance(one, kind):
                raise TypeError(
                    f"{module.__name__} declares a {name} that is a {type(one).__name__}, not a"
                    f" {kind.__name__}"
                )
            found.append(one)
    return tuple(found)
