"""Finds the meters: every module of suite.meters.sources has one, under the name METER."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import cast

from suite.errors import SuiteError
from suite.meters import sources
from suite.meters.meter import Meter, opens_first

MeterFactory = Callable[[Path], Meter]


@cache
def meter_classes() -> tuple[type[Meter], ...]:
    """Every meter class, sorted by name; those with ``opens_first`` come before the others.

    Raises SuiteError naming a module of ``suite/meters/sources`` without a METER.
    """
    names = [module.name for module in pkgutil.iter_modules(sources.__path__)]
    found = [meter_of(importlib.import_module(f"{sources.__name__}.{name}")) for name in names]
    return tuple(sorted(found, key=lambda meter: (not opens_first(meter), meter.name)))


def meter_of(module: ModuleType) -> type[Meter]:
    """The module's meter class; raises SuiteError when the module does not say which it is."""
    meter = getattr(module, "METER", None)
    if not isinstance(meter, type):
        raise SuiteError(
            f"{module.__file__} has no meter; end it with `METER = NAME`, the name of its meter"
            " class (suite.meters.meter.Meter)."
        )
    return cast(type[Meter], meter)


def open_meters(root: Path = Path("/")) -> tuple[Meter, ...]:
    """One meter of each class, reading below ``root``."""
    return tuple(cast(MeterFactory, make)(root) for make in meter_classes())
