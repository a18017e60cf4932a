"""Network: bytes that every interface has sent and received, headers included; they contain the
gradients exchanged between nodes."""

from collections.abc import Iterator

from reference_impls.node import public_interface
from suite.machine.interfaces import interfaces_up
from suite.meters.channels import ChannelMeter, MeterChannel, file_reader
from suite.meters.meter import MeterAvailability

DIRECTIONS = (("sent", "tx_bytes"), ("received", "rx_bytes"))


class NetworkMeter(ChannelMeter):
    """Channels ``<interface>.sent`` and ``<interface>.received`` (B since the interface was
    created, headers included) of every interface that is up as the run starts, except the loopback.

    A bridge counts the bytes of its ports again, so interfaces are not added up.
    Source: Linux, Documentation/ABI/testing/sysfs-class-net-statistics.
    """

    name = "network"
    period_s = 1.0
    description = "bytes that each network interface has sent and received"

    absent = MeterAvailability(
        False,
        "only the loopback interface is up",
        "connect a network (`ip link` lists the interfaces)",
    )

    def find(self) -> Iterator[MeterChannel]:
        """The counters of the interfaces that are up now; one that is removed later has none."""
        for interface in interfaces_up(self._root):
            name = public_interface(interface, str(self._root))
            folder = self._root / "sys/class/net" / interface / "statistics"
            for direction, file in DIRECTIONS:
                yield MeterChannel(f"{name}.{direction}", "B", file_reader(folder / file))


METER = NetworkMeter
