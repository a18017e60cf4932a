"""Any other power meter whose program writes a table of text during the run (JouleJotter, a bench
analyser, a logger)."""

import csv
import math
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from reference_impls.contract import NS_PER_S
from suite.errors import SuiteError
from suite.files.appended import lines_after
from suite.meters.meter import AVAILABLE, MachineMeter, MeterAvailability, MeteredProcess, Reading
from suite.meters.settings import PLACE, CsvSettings, load_settings, not_named

TABLE = (
    'meter_csv = { file = "/home/me/meter.csv", time_column = "Time", power_column = "Power (W)",'
    ' coverage = "board", tier = "analyser" }'
)
LOOK_BACK_BYTES = 2**16


class MeterCsvMeter(MachineMeter):
    """One channel, ``<coverage>.<tier>`` (W) as meters.toml names them; only rows that are written
    during the run.

    Times are mapped by this machine's wall clock as the run starts: both clocks must be right. The
    file of a meter with another clock is attached after the run (`suite power attach`).
    """

    name = "meter-csv"
    period_s = 2.0
    description = "power from the file that another meter's program writes"

    def availability(self) -> MeterAvailability:
        """Whether a file is named, and has the columns that meters.toml names."""
        settings = load_settings(self._root).meter_csv
        if settings is None:
            return not_named("table of another meter", TABLE)
        try:
            _Table(settings, self._root)
        except (OSError, SuiteError) as error:
            return MeterAvailability(
                False, str(error), f"start the meter's program, or correct /{PLACE}"
            )
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Go to the end of the table."""
        settings = load_settings(self._root).meter_csv
        assert settings is not None
        self._table = _Table(settings, self._root)
        self._offset_ns = time.monotonic_ns() - time.time_ns()

    def read(self) -> list[Reading]:
        """The rows written since the last call."""
        return [
            Reading(
                round(t_s * NS_PER_S) + self._offset_ns,
                self.name,
                self._table.channel,
                power_w,
                "W",
            )
            for t_s, power_w in self._table.new_rows()
        ]


class _Table:
    """The file as it grows, from its end at the moment of construction."""

    def __init__(self, settings: CsvSettings, root: Path) -> None:
        self._settings = settings
        self._path = root / settings.file.lstrip("/")
        self.channel = f"{settings.coverage.value}.{settings.tier.value}"
        with self._path.open(encoding="utf-8-sig", errors="replace") as stream:
            for _ in range(settings.skip_lines):
                stream.readline()
            header = next(csv.reader([stream.readline()], delimiter=settings.delimiter), [])
        self._columns = {name.strip(): index for index, name in enumerate(header)}
        self._power_columns()  # raises when the settings do not fit the table
        self._column(settings.time_column)
        self._position, self._last_s = self._end_of_last_line(), -math.inf

    def _end_of_last_line(self) -> int:
        size_bytes = self._path.stat().st_size
        with self._path.open("rb") as stream:
            stream.seek(max(0, size_bytes - LOOK_BACK_BYTES))
            tail = stream.read(LOOK_BACK_BYTES)
        return size_bytes - (len(tail) - tail.rfind(b"\n") - 1)

    def new_rows(self) -> list[tuple[float, float]]:
        """The complete rows since the last call; a line that is no row, or no later one, is left
        out. A file that is shorter than before was begun anew."""
        if self._path.stat().st_size < self._position:
            self._position = 0
        whole, self._position = lines_after(self._path, self._position)
        lines = whole.decode("utf-8", errors="replace").splitlines()
        return [
            row
            for fields in csv.reader(lines, delimiter=self._settings.delimiter)
            if (row := self._parse_row(fields)) is not None
        ]

    def _parse_row(self, fields: Sequence[str]) -> tuple[float, float] | None:
        try:
            t_s = _seconds(
                self._decimal(fields[self._column(self._settings.time_column)]),
                self._settings.time_scale,
            )
            power_w = 1.0
            for column, scale in self._power_columns():
                power_w *= float(self._decimal(fields[column])) * scale
        except (ValueError, IndexError):
            return None
        if not (self._last_s < t_s < math.inf and math.isfinite(power_w)):
            return None
        self._last_s = t_s
        return t_s, power_w

    def _decimal(self, field: str) -> str:
        """A field with a decimal point; a comma is one where it does not separate columns."""
        return field if self._settings.delimiter == "," else field.replace(",", ".")

    def _power_columns(self) -> list[tuple[int, float]]:
        """Columns and scales whose product is the power."""
        settings = self._settings
        if settings.power_column is not None:
            return [(self._column(settings.power_column), settings.power_scale)]
        if settings.voltage_column is None or settings.current_column is None:
            raise SuiteError(
                f"/{PLACE}: [meter_csv] needs power_column, or voltage_column and current_column."
            )
        return [
            (self._column(settings.voltage_column), settings.voltage_scale),
            (self._column(settings.current_column), settings.current_scale),
        ]

    def _column(self, name: str) -> int:
        if name not in self._columns:
            raise SuiteError(
                f"{self._path} has no column {name!r}; it has"
                f" {', '.join(map(repr, self._columns)) or 'none'}."
            )
        return self._columns[name]


def _seconds(field: str, scale: float) -> float:
    """A number of time units, or a date and time in ISO 8601 (UTC unless it says otherwise)."""
    try:
        return float(field) * scale
    except ValueError:
        moment = datetime.fromisoformat(field.strip().replace("Z", "+00:00"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()


METER = MeterCsvMeter
