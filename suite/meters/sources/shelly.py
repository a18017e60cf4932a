"""Shelly plugs and relays of the second generation and later."""

from collections.abc import Mapping
from typing import Any

from suite.meters.http_meter import HttpMeter
from suite.meters.settings import MeterSettings


class ShellyMeter(HttpMeter):
    """Channels ``power`` (W), ``voltage`` (V), ``current`` (A) and ``energy`` (J, the plug's counter, updated once a minute).

    Source: Shelly Gen2+ device API, Switch.GetStatus.
    """

    name = "shelly"
    period_s = 1.0
    description = "power at the socket, from a Shelly plug in the local network"
    table = 'shelly = { address = "192.168.1.20" }'

    def address(self, settings: MeterSettings) -> str | None:
        """The status of the switch that feeds the board."""
        plug = settings.shelly
        return f"{plug.address}/rpc/Switch.GetStatus?id={plug.switch}" if plug else None

    def parse(self, answer: Any) -> Mapping[str, tuple[float, str]]:
        """A switch without a meter has no ``apower``."""
        found = {"power": (float(answer["apower"]), "W")}
        for key, unit in (("voltage", "V"), ("current", "A")):
            if key in answer:
                found[key] = (float(answer[key]), unit)
        if "aenergy" in answer:
            found["energy"] = (float(answer["aenergy"]["total"]) * 3600, "J")  # watt-hours
        return found


METER = ShellyMeter
