"""Links: packets that every interface lost, changes of its carrier, and TCP segments that were sent
again because nobody acknowledged them."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from reference_impls.node import public_interface
from suite.machine.interfaces import interfaces_up
from suite.machine.procfs import read_integer, read_text
from suite.meters.channels import ChannelMeter, MeterChannel
from suite.meters.meter import MeterAvailability

# rx_dropped is left alone: it counts frames of protocols that nobody here speaks, too
OF_INTERFACES = {
    "packets": ("statistics/rx_packets", "statistics/tx_packets"),
    "dropped": ("statistics/rx_missed_errors", "statistics/tx_dropped"),
    "errors": ("statistics/rx_errors", "statistics/tx_errors"),
    "carrier_changes": ("carrier_changes",),
}
OF_TCP = {"segments": "OutSegs", "retransmitted": "RetransSegs"}


class LinkMeter(ChannelMeter):
    """Channels ``<interface>.packets``, ``<interface>.dropped``, ``<interface>.errors`` (received
    and sent) and ``<interface>.carrier_changes`` of every interface that is up as the run starts,
    except the loopback; ``tcp.segments`` and ``tcp.retransmitted`` that the machine sent.

    Sources: Linux, Documentation/ABI/testing/sysfs-class-net-statistics; RFC 4022, tcpRetransSegs.
    """

    name = "links"
    period_s = 1.0
    description = "packets lost, carrier changes and TCP retransmissions of the network links"

    absent = MeterAvailability(
        False,
        "only the loopback interface is up",
        "connect a network (`ip link` lists the interfaces)",
    )

    def find(self) -> Iterator[MeterChannel]:
        """The counters of the interfaces that are up now, and of TCP where there is one."""
        interfaces, snmp = interfaces_up(self._root), self._root / "proc/net/snmp"
        for interface in interfaces:
            name = public_interface(interface, str(self._root))
            folder = self._root / "sys/class/net" / interface
            for noun, files in OF_INTERFACES.items():
                yield MeterChannel(
                    f"{name}.{noun}", "events", _sum([folder / file for file in files])
                )
        for noun, field in OF_TCP.items() if interfaces else ():
            yield MeterChannel(f"tcp.{noun}", "events", partial(_of_tcp, snmp, field))


def _of_tcp(snmp: Path, field: str) -> float | None:
    """A counter of TCP, whose names are on a line and whose values are on the next one."""
    rows = [
        line.split() for line in (read_text(snmp) or "").splitlines() if line.startswith("Tcp:")
    ]
    return float(dict(zip(*rows, strict=True))[field]) if len(rows) == 2 else None


def _sum(files: list[Path]) -> Callable[[], float | None]:
    def read() -> float | None:
        values = [read_integer(file) for file in files]
        return None if None in values else float(sum(value or 0 for value in values))

    return read


METER = LinkMeter
