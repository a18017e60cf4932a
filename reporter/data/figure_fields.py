"""Optional fields of a figure in summary.json, stalls.json and study.json."""

from collections.abc import Mapping
from typing import Any

from reporter.data.frames import Row
from reporter.data.text import plain_or_none
from suite.bundle.attached import SOURCE

MAX_LENGTH = 40


def sensor_columns(figure: Mapping[str, Any]) -> Row:
    """What the sensor of an energy or a power covers, its tier, and whether its readings are of
    a logger's file that was attached after the run.

    None where there was no sensor; ``contradicted_by``: meters of the same that differ from it.
    Raises AttributeError for a malformed one.
    """
    sensor = figure.get("sensor") or {}
    tier, instruments = plain_or_none(sensor.get("tier"), MAX_LENGTH), sensor.get("instruments")
    is_attached = None if tier is None else isinstance(instruments, list) and SOURCE in instruments
    return {
        "covers": plain_or_none(sensor.get("covers"), MAX_LENGTH),
        "tier": tier,
        "attached": is_attached,
        "contradicted_by": _names(sensor.get("contradicted_by")),
    }


def kind_of_sensor(figure: Row) -> tuple[str | None, str | None]:
    """Tier and coverage of a figure's sensor: energies and powers of several kinds are not
    compared, and have no mean."""
    return figure.get("tier"), figure.get("covers")


def _names(values: object) -> str | None:
    return (
        plain_or_none(" and ".join(map(str, values)), MAX_LENGTH)
        if isinstance(values, list)
        else None
    )


def significance(figure: Mapping[str, Any]) -> bool | None:
    """Whether a difference is statistically significant; None where it was not tested."""
    value = figure.get("is_significant")
    return value if isinstance(value, bool) else None
