"""Temperature: the kernel's thermal zones."""
from pathlib import Path

from suite.measure.meter import Availability, Reading, Subject

LOWEST_C, HIGHEST_C = -60.0, 200.0  # beyond these a sensor is broken or switched off (Tegra's PMIC zone reads 100 always; some read -256)


class TemperatureMeter:
    """Every thermal zone in degrees Celsius, by its own type name; absurd values are left out."""

    name = "temperature"
    period_s = 2.0
    description = "the kernel's thermal zones"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def availability(self) -> Availability:
        """Where the kernel shows at least one zone."""
        if self._zones():
            return Availability(True)
        return Availability(False, "the kernel shows no thermal zone (/sys/class/thermal)", "nothing to do on a virtual machine; on a board, load its thermal driver")

    def open(self, subject: Subject) -> None:
        """Nothing to get ready."""

    def read(self, t_ns: int) -> list[Reading]:
        """One reading per zone."""
        readings = []
        for zone in self._zones():
            celsius = float((zone / "temp").read_text()) / 1000
            if LOWEST_C <= celsius <= HIGHEST_C:
                kind = (zone / "type").read_text().strip() or "zone"
                readings.append(Reading(t_ns, self.name, f"{zone.name}.{kind}", celsius, "degC"))
        return readings

    def close(self) -> None:
        """Nothing to let go of."""

    def _zones(self) -> list[Path]:
        return sorted(path.parent for path in self._root.glob("sys/class/thermal/thermal_zone*/temp"))
