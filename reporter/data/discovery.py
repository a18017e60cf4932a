"""Finds what the modules of a package, and of extensions, declare, so that a new module needs no
list."""

import importlib
import pkgutil
from typing import TypeVar

from suite.catalog.extensions import extension_modules

Declared = TypeVar("Declared")


def declarations(
    package: str | None, part: str, name: str, kind: type[Declared]
) -> tuple[Declared, ...]:
    """What the modules directly in ``package``, and this part of extensions, declare as ``NAME``
    (one object) or ``NAMES`` (a tuple), by module name.

    Raises TypeError for a declaration that is no ``kind``, naming its module.
    """
    found: list[Declared] = []
    below = pkgutil.iter_modules(importlib.import_module(package).__path__) if package else ()
    modules = [importlib.import_module(f"{package}.{each.name}") for each in below]
    modules += [module for _, module in extension_modules(part)]
    for module in modules:
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
