"""jtop: the monitor of jetson-stats, a service that runs as root and so reads what a Jetson shows
to root only."""

import importlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading

LIBRARY = "jtop"
SOCKETS = ("run/jtop.sock", "run/jtop.socket")


class JtopMeter:
    """Channels: each rail (W, by its board's name), ``gpu.utilisation`` (%), ``gpu.frequency`` and
    ``memory_controller.frequency`` (Hz), ``memory_controller.utilisation`` (%).

    jetson-stats moves the board's input rail (POM_5V_IN, VDD_IN, VIN) from ``rail`` to ``tot`` and
    names it there. A ``tot`` without a name is jtop's own sum and is not read: on AGX Orin it
    counts VDDQ_VDD2_1V8AO twice. jetson-stats is licensed AGPL-3.0; the suite never installs it.
    Source: jetson_stats 4.2 to 7.2, jtop/core/power.py.
    """

    name = "jtop"
    period_s = 1.0
    description = "rails, GPU and memory controller of a Jetson, from the service of jetson-stats"

    def __init__(self, root: Path = Path("/"), library: Any = None) -> None:
        self._root, self._library = root, library
        self._jetson: Any = None

    def availability(self) -> MeterAvailability:
        """Whether the service runs and its Python package is installed."""
        if not any((self._root / socket).exists() for socket in SOCKETS):
            return MeterAvailability(
                False,
                "the service of jetson-stats does not run",
                "on a Jetson: sudo pip install jetson-stats, then reboot",
            )
        try:
            self._load()
        except ImportError:
            return MeterAvailability(
                False,
                f"the Python package {LIBRARY} is missing",
                "pip install jetson-stats, in the environment of the suite",
            )
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Connect to the service; raises jtop's exception when it refuses."""
        self._jetson = self._load().jtop(interval=self.period_s)
        self._jetson.start()

    def read(self) -> list[Reading]:
        """The service's latest values; raises OSError when it has stopped."""
        if not self._jetson.ok(spin=True):
            raise OSError("the service of jetson-stats has stopped")
        t_ns = time.monotonic_ns()
        return [
            Reading(t_ns, self.name, channel, value, unit)
            for channel, value, unit in (*_rails(self._jetson), *_engines(self._jetson))
        ]

    def close(self) -> None:
        """Disconnect."""
        self._jetson.close()

    def _load(self) -> Any:
        if self._library is None:
            self._library = importlib.import_module(LIBRARY)
        return self._library


def _rails(jetson: Any) -> Iterator[tuple[str, float, str]]:
    rails, total = dict(jetson.power.get("rail", {})), jetson.power.get("tot", {})
    if "name" in total:
        rails[total["name"]] = total
    for name, rail in rails.items():
        if "power" in rail:
            yield name, rail["power"] * 1e-3, "W"


def _engines(jetson: Any) -> Iterator[tuple[str, float, str]]:
    """The first GPU and the memory controller; jtop gives frequencies in kHz."""
    gpu: Mapping[str, Any] = next(iter(jetson.gpu.values()), {})
    if "load" in gpu.get("status", {}):
        yield "gpu.utilisation", gpu["status"]["load"], "%"
    if "cur" in gpu.get("freq", {}):
        yield "gpu.frequency", gpu["freq"]["cur"] * 1e3, "Hz"
    memory_controller: Mapping[str, Any] = jetson.memory.get("EMC", {})
    if "val" in memory_controller:
        yield "memory_controller.utilisation", memory_controller["val"], "%"
    if "cur" in memory_controller:
        yield "memory_controller.frequency", memory_controller["cur"] * 1e3, "Hz"


METER = JtopMeter
