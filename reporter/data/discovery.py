"""Finds what the modules of a package, and of extensions, declare, so that a new module needs no
list."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import TypeVar

from suite.catalog.extensions import extension_modules

Declared = TypeVar("Declared")


def declarations(
    package: str | None, part: str | None, name: str, kind: type[Declared]
) -> tuple[Declared, ...]:
    """What the modules directly in ``package``, and this part of extensions, declare as ``NAME``
    (one object) or ``NAMES`` (a tuple), by module name.

    Raises TypeError for a declaration that is no ``kind``, naming its module.
    """
    found: list[Declared] = []
    for module in (*_modules_of(package), *_of_extensions(part)):
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


def _modules_of(package: str | None) -> Iterator[ModuleType]:
    if package is not None:
        for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
            yield importlib.import_module(f"{package}.{found.name}")


def _of_extensions(part: str | None) -> Iterator[ModuleType]:
    if part is not None:
        yield from (module for _, module in extension_modules(part))
