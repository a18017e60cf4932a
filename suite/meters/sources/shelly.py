"""Shelly plugs and relays of the second generation and later."""

from collections.abc import Mapping
from typing import Any

from suite.meters.http_meter import HttpMeter, finite_number, host_of_address
from suite.meters.settings import MeterSettings


class ShellyMeter(HttpMeter):
    """Channels ``power`` (W), ``voltage`` (V), ``current`` (A) and ``energy`` (J, the plug's
    counter, updated once a minute).

    Source: Shelly Gen2+ device API, Switch.GetStatus and PM1.GetStatus.
    """

    name = "shelly"
    period_s = 1.0
    description = "power at the socket, from a Shelly plug in the local network"
    table = 'shelly = { address = "192.168.1.20" }'
    absent = (
        'in [shelly] of /etc/edge-training-suite/meters.toml, add component = "PM1" for a meter'
        " without a switch (PM Mini), or switch = 0, 1, ... to choose one of several switches;"
        " plugs of the first generation are not supported: log the power of such a plug yourself,"
        " and attach the file (suite power attach)"
    )

    def address(self, settings: MeterSettings) -> str | None:
        """The status of the switch that feeds the board."""
        plug = settings.shelly
        return (
            f"{host_of_address(plug.address)}/rpc/{plug.component}.GetStatus?id={plug.switch}"
            if plug
            else None
        )

    def parse(self, answer: Any) -> Mapping[str, tuple[float, str]]:
        """A switch without a meter has no ``apower``; what the plug cannot read at the moment is
        null."""
        found = {"power": (finite_number(answer["apower"]), "W")}
        for key, unit in (("voltage", "V"), ("current", "A")):
            if answer.get(key) is not None:
                found[key] = (finite_number(answer[key]), unit)
        if answer.get("aenergy") is not None:
            found["energy"] = (finite_number(answer["aenergy"]["total"]) * 3600, "J")  # watt-hours
        return found


METER = ShellyMeter
