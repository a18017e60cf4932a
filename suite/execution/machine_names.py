"""Names of this machine and its external meters, and descriptions of it without them. It needs no
package that a framework's environment lacks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suite.errors import SuiteError
from suite.files.redaction import ADDRESS, ELSEWHERE, Redactor, machine_redactor
from suite.meters.settings import MeterSettings, load_settings

FREE_TEXTS = ("reason", "last_error")
"""Texts in a meter's record that a meter writes."""


def of_this_machine(
    folders: Sequence[tuple[Path, str]] = (), names: Sequence[tuple[str, str]] = ()
) -> Redactor:
    """A redactor that also knows the external meters of this machine."""
    try:
        settings = load_settings(Path("/"))
    except SuiteError:  # the meters report it
        settings = MeterSettings()
    plugs = [
        (plug.address, ADDRESS) for plug in (settings.shelly, settings.tasmota) if plug is not None
    ]
    table = (
        []
        if settings.meter_csv is None
        else [(Path(settings.meter_csv.file), f"{ELSEWHERE}/{Path(settings.meter_csv.file).name}")]
    )
    return machine_redactor([*folders, *table], [*names, *plugs])


def redacted_meters(
    meters: Sequence[Mapping[str, Any]], redactor: Redactor
) -> tuple[dict[str, Any], ...]:
    """Records of meters without names in their free texts."""
    return tuple(
        {key: redactor.value(value) if key in FREE_TEXTS else value for key, value in meter.items()}
        for meter in meters
    )


def redacted_system(described: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """A description of a machine without names in its notes."""
    return {**described, "notes": redactor.value(described.get("notes", {}))}
