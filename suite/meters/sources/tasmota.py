"""Plugs that run the Tasmota firmware."""

from collections.abc import Mapping
from typing import Any

from suite.meters.http_meter import HttpMeter, finite_number, host_of_address
from suite.meters.settings import MeterSettings


class TasmotaMeter(HttpMeter):
    """Channels ``power`` (W), ``voltage`` (V) and ``current`` (A); power and current of a strip are
    the sums of its outlets.

    Tasmota reports whole watts by default (`WattRes 2` sets two decimals). Source: Tasmota
    documentation, Commands, Status 10.
    """

    name = "tasmota"
    period_s = 1.0
    description = "power at the socket, from a Tasmota plug in the local network"
    table = 'tasmota = { address = "192.168.1.21" }'

    def address(self, settings: MeterSettings) -> str | None:
        """The sensors' status."""
        return (
            f"{host_of_address(settings.tasmota.address)}/cm?cmnd=Status%2010"
            if settings.tasmota
            else None
        )

    def parse(self, answer: Any) -> Mapping[str, tuple[float, str]]:
        """A plug without a meter has no ``ENERGY``, one with a password answers with a warning."""
        if "WARNING" in answer:
            raise ValueError(
                f"{answer['WARNING']}: switch the plug's password off for the measurement"
            )
        energy = answer["StatusSNS"]["ENERGY"]
        found = {"power": (sum(_outlets(energy["Power"])), "W")}
        if energy.get("Voltage") is not None:
            found["voltage"] = (_outlets(energy["Voltage"])[0], "V")
        if energy.get("Current") is not None:
            found["current"] = (sum(_outlets(energy["Current"])), "A")
        return found


def _outlets(value: Any) -> list[float]:
    """One number per outlet; a plug with one outlet reports a plain number."""
    return [finite_number(each) for each in (value if isinstance(value, list) else [value])]


METER = TasmotaMeter
