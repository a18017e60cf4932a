"""Finds the meters: every module of suite.meters.sources has one, under the name METER. A person
chooses among them: `--meters NAME,NAME` reads only these, `--meters -NAME,-NAME` all but these."""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import cast

from suite.catalog.meter_choice import LEFT_OUT, left_out
from suite.catalog.power import PowerRule, totals_of_channels
from suite.errors import SuiteError
from suite.meters import sources
from suite.meters.meter import Meter, MeterAvailability, MeteredProcess, Reading, opens_first
from suite.meters.sources.ina238 import Ina238Meter
from suite.meters.sources.ina3221 import Ina3221Meter

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
            f"{module.__file__} does not say which class is its meter; add `METER = NAME` at the"
            " end, where NAME is that class (see suite.meters.meter.Meter)."
        )
    return cast(type[Meter], meter)


def open_meters(root: Path = Path("/")) -> tuple[Meter, ...]:
    """One meter of each class, reading below ``root``."""
    return tuple(cast(MeterFactory, make)(root) for make in meter_classes())


def may_have_total(meter: Meter, rules: Sequence[PowerRule]) -> bool:
    """Whether a total may be made of an available power meter's channels; monitors of rails may be
    of anything."""
    if not isinstance(meter, Ina238Meter | Ina3221Meter):
        return True
    channels = ((meter.name, channel.name) for channel in meter.find())
    return bool(totals_of_channels(rules, channels))


class LeftOutMeter:
    """Takes the place of a meter that the user left out: it is recorded with this reason, and never
    read."""

    def __init__(self, meter: Meter) -> None:
        self.name, self.period_s, self.description = meter.name, meter.period_s, meter.description

    def availability(self) -> MeterAvailability:
        """Not available."""
        return MeterAvailability(False, LEFT_OUT, "leave --meters out")

    def open(self, process: MeteredProcess) -> None:
        """Nothing to open."""

    def read(self) -> list[Reading]:
        """No reading."""
        return []

    def close(self) -> None:
        """Nothing to release."""


def left_out_meters(choice: str | None) -> tuple[str, ...]:
    """Names of the meters that ``choice`` leaves out; None leaves out none. Raises SuiteError for
    an unknown name or a mixed list."""
    if choice is None:
        return ()
    names, known = (
        [name.strip() for name in choice.split(",")],
        [meter.name for meter in meter_classes()],
    )
    are_left_out = [name.startswith("-") for name in names]
    if any(are_left_out) and not all(are_left_out):
        raise SuiteError(
            f"--meters {choice!r} mixes meters to read and to leave out; name the ones to read"
            " (a,b), or the ones to leave out (-a,-b)."
        )
    chosen = [name.removeprefix("-") for name in names]
    for name in chosen:
        if name not in known:
            raise SuiteError(
                f"--meters: there is no meter {name!r}; the meters are {', '.join(sorted(known))}."
            )
    return tuple(sorted(left_out(choice, known)))


def refuse_absent_meters(choice: str, root: Path = Path("/")) -> None:
    """Raise SuiteError for a meter to read that is not available here; of meters to leave out none
    need be. Raises as :func:`left_out_meters`."""
    left_out = left_out_meters(choice)
    if choice.lstrip().startswith("-"):
        return
    for meter in open_meters(root):
        found = meter.availability() if meter.name not in left_out else None
        if found is not None and not found.available:
            raise SuiteError(
                f"The meter {meter.name!r} cannot be read here: {found.reason};"
                f" {found.remedy or 'leave it out of --meters'}."
            )


def chosen_meters(left_out: Collection[str], root: Path = Path("/")) -> tuple[Meter, ...]:
    """One meter of each class, reading below ``root``; those left out are represented by their
    name."""
    return tuple(
        LeftOutMeter(meter) if meter.name in left_out else meter for meter in open_meters(root)
    )
