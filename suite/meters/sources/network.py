"""Network: bytes that every interface has sent and received, headers included; they contain the
gradients exchanged between nodes."""

import time
from pathlib import Path

from reference_impls.node import public_interface
from suite.machine.interfaces import interfaces_up
from suite.machine.procfs import integer
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading

DIRECTIONS = (("sent", "tx_bytes"), ("received", "rx_bytes"))


class NetworkMeter:
    """Channels ``<interface>.sent`` and ``<interface>.received`` (B since the interface was
    created, headers included) of every interface that is up as the run starts, except the loopback.

    A bridge counts the bytes of its ports again, so interfaces are not added up.
    Source: Linux, Documentation/ABI/testing/sysfs-class-net-statistics.
    """

    name = "network"
    period_s = 1.0
    description = "bytes that each network interface has sent and received"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._interfaces: tuple[str, ...] = ()

    def availability(self) -> MeterAvailability:
        """Whether any interface except the loopback is up."""
        if interfaces_up(self._root):
            return AVAILABLE
        return MeterAvailability(
            False,
            "no network interface but the loopback is up",
            "connect a network (`ip link` lists the interfaces)",
        )

    def open(self, process: MeteredProcess) -> None:
        """Choose the interfaces."""
        self._interfaces = interfaces_up(self._root)

    def read(self) -> list[Reading]:
        """One reading per counter; an interface that was removed has none."""
        readings = []
        for interface in self._interfaces:
            name = public_interface(interface, str(self._root))
            folder, t_ns = (
                self._root / "sys/class/net" / interface / "statistics",
                time.monotonic_ns(),
            )
            for direction, file in DIRECTIONS:
                count = integer(folder / file)
                if count is not None:
                    readings.append(Reading(t_ns, self.name, f"{name}.{direction}", count, "B"))
        return readings

    def close(self) -> None:
        """Nothing to release."""


METER = NetworkMeter
