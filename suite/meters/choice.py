"""The choice of meters: `--meters NAME,NAME` reads only these, `--meters -NAME,-NAME` all but
these."""

from collections.abc import Collection
from pathlib import Path

from suite.catalog.meter_choice import LEFT_OUT, left_out
from suite.errors import SuiteError
from suite.meters.meter import Meter, MeterAvailability, MeteredProcess, Reading
from suite.meters.registry import meter_classes, open_meters


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
                f" {found.remedy or 'leave it out of meters'}."
            )


def chosen_meters(left_out: Collection[str], root: Path = Path("/")) -> tuple[Meter, ...]:
    """One meter of each class, reading below ``root``; those left out are represented by their
    name."""
    return tuple(
        LeftOutMeter(meter) if meter.name in left_out else meter for meter in open_meters(root)
    )
