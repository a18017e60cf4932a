"""External meters cannot be detected: ``/etc/edge-training-suite/meters.toml`` names them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from suite.catalog.power import Coverage, Tier
from suite.files.toml_file import read_toml
from suite.meters.meter import MeterAvailability

PLACE = Path("etc/edge-training-suite/meters.toml")


@dataclass(frozen=True)
class ShellySettings:
    """A Shelly plug or relay of the second generation or later: ``http://<address>``, and which of
    its switches feeds the board.

    ``component`` is PM1 for a meter without a switch (PM Mini).
    """

    address: str
    switch: int = 0
    component: str = "Switch"


@dataclass(frozen=True)
class TasmotaSettings:
    """A plug that runs Tasmota: ``http://<address>``."""

    address: str


@dataclass(frozen=True)
class UsbMeterSettings:
    """A UM24C, UM25C or UM34C on a serial port (``/dev/rfcomm0`` once it is paired and bound)."""

    port: str


@dataclass(frozen=True)
class CsvSettings:
    """The file that another meter's program writes during the run, and its columns.

    ``power_column`` in units of ``power_scale`` watts, or ``voltage_column`` and ``current_column``
    in units of ``voltage_scale`` volts and ``current_scale`` amperes; ``time_column`` in units of
    ``time_scale`` seconds.
    """

    file: str
    time_column: str
    coverage: Coverage
    tier: Tier
    power_column: str | None = None
    voltage_column: str | None = None
    current_column: str | None = None
    time_scale: float = 1.0
    power_scale: float = 1.0
    voltage_scale: float = 1.0
    current_scale: float = 1.0
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] = ","
    skip_lines: int = 0


@dataclass(frozen=True)
class MeterSettings:
    """``meters.toml``: one table per external meter."""

    shelly: ShellySettings | None = None
    tasmota: TasmotaSettings | None = None
    um25c: UsbMeterSettings | None = None
    meter_csv: CsvSettings | None = None


def load_settings(root: Path) -> MeterSettings:
    """The settings below ``root``, empty where there is no file; raises SuiteError naming the key
    that is wrong."""
    path = root / PLACE
    return read_toml(path, MeterSettings) if path.exists() else MeterSettings()


def not_named(what: str, table: str) -> MeterAvailability:
    """The availability of an external meter that meters.toml does not name; ``table`` is the line
    to add."""
    return MeterAvailability(False, f"/{PLACE} names no {what}", f"add to /{PLACE}: {table}")
