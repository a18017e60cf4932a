"""Meters that stand beside the machine cannot be found by looking: ``/etc/edge-training-suite/meters.toml`` names them."""

import enum
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.power import Coverage, Tier
from suite.files.toml_file import read_toml
from suite.meters.meter import MeterAvailability

PLACE = Path("etc/edge-training-suite/meters.toml")


@dataclass(frozen=True)
class ShellySettings:
    """A Shelly plug or relay of the second generation or later: ``http://<address>``, and which of its switches feeds the board."""

    address: str
    switch: int = 0


@dataclass(frozen=True)
class TasmotaSettings:
    """A plug that runs Tasmota: ``http://<address>``."""

    address: str


@dataclass(frozen=True)
class UsbMeterSettings:
    """A UM24C, UM25C or UM34C on a serial port (``/dev/rfcomm0`` once it is paired and bound)."""

    port: str


class CsvClock(str, enum.Enum):
    """What the times in a meter's file are."""

    WALL = "wall"  # seconds since 1970, or ISO 8601, of a clock that is kept right
    EDGE = "edge"  # seconds since any moment: aligned where the power rises as the run starts


@dataclass(frozen=True)
class CsvSettings:
    """The file that another meter's program writes during the run, and what its columns are.

    ``power_column`` in units of ``power_scale`` watts, or ``voltage_column`` and ``current_column`` in units of
    ``voltage_scale`` volts and ``current_scale`` amperes; ``time_column`` in units of ``time_scale`` seconds.
    """

    file: str
    time_column: str
    coverage: Coverage
    tier: Tier
    clock: CsvClock = CsvClock.WALL
    power_column: str | None = None
    voltage_column: str | None = None
    current_column: str | None = None
    time_scale: float = 1.0
    power_scale: float = 1.0
    voltage_scale: float = 1.0
    current_scale: float = 1.0
    delimiter: str = ","
    skip_lines: int = 0


@dataclass(frozen=True)
class MeterSettings:
    """``meters.toml``: one table per meter that stands beside this machine."""

    shelly: ShellySettings | None = None
    tasmota: TasmotaSettings | None = None
    um25c: UsbMeterSettings | None = None
    meter_csv: CsvSettings | None = None


def load_settings(root: Path) -> MeterSettings:
    """The settings below ``root``, empty where there is no file; raises SuiteError naming the key that is wrong."""
    path = root / PLACE
    return read_toml(path, MeterSettings) if path.exists() else MeterSettings()


def not_named(what: str, table: str) -> MeterAvailability:
    """Why a meter beside the machine is not read; ``table`` is what to write to have it read."""
    return MeterAvailability(False, f"/{PLACE} names no {what}", f"write into /{PLACE}: {table}")
