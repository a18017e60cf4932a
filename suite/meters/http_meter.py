"""Plugs in the local network that report JSON over HTTP, queried in a background thread."""

import http.client
import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from suite.meters.background import BackgroundMeter
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Moments
from suite.meters.settings import MeterSettings, load_settings, not_named

TIMEOUT_S = 2.0
MAX_REPLY_BYTES = 2**16


class HttpMeter(BackgroundMeter):
    """A plug that is queried on every period; subclasses define its address (:meth:`address`) and
    parse its reply (:meth:`parse`).

    A plug that cannot be reached for a moment leaves a gap.
    """

    period_s = 1.0
    moments = Moments.RANDOM
    description: str
    table: str  # the line of meters.toml that names such a plug
    # what to do about a reply "404 Not Found"
    absent: str = "check that the device at this address is a model that measures power"

    _address = ""

    def address(self, settings: MeterSettings) -> str | None:
        """Address (:func:`host_of_address`) and path of the request; None when meters.toml names no
        such plug."""
        raise NotImplementedError

    def parse(self, reply: Any) -> Mapping[str, tuple[float, str]]:
        """Value and unit by channel; raises LookupError, TypeError or ValueError for any other
        reply."""
        raise NotImplementedError

    def availability(self) -> MeterAvailability:
        """Whether a plug is named, and replies."""
        where = self.address(load_settings(self._root))
        if where is None:
            return not_named(self.name, self.table)
        try:
            self.parse(_query(where))
        except (OSError, ValueError, TypeError, LookupError) as error:
            what = (
                f"http://{where} does not reply like a {self.name} that measures power"
                f" ({type(error).__name__}: {error})"
            )
            return MeterAvailability(False, what, self._remedy(error))
        return AVAILABLE

    def _remedy(self, error: Exception) -> str:
        code = error.code if isinstance(error, urllib.error.HTTPError) else None
        if code in (401, 403):
            return (
                "the device asks for a password, which the suite does not send: switch its"
                " authentication off for the measurement"
            )
        return (
            self.absent
            if code == 404
            else "check that the device is switched on, is in this network, and is a model that"
            " measures power"
        )

    def open(self, process: MeteredProcess) -> None:
        """Start the background thread."""
        self._address = str(self.address(load_settings(self._root)))
        super().open(process)

    def measure(self) -> Mapping[str, tuple[float, str]]:
        """Query the plug."""
        return self.parse(_query(self._address))


def host_of_address(address: str) -> str:
    """An address as meters.toml has it, without ``http://`` and a slash at its end."""
    return address.strip().removeprefix("http://").rstrip("/")


def finite_number(value: Any) -> float:
    """A finite number of a reply; raises TypeError or ValueError for anything else."""
    if isinstance(value, bool) or not math.isfinite(float(value)):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _query(where: str) -> Any:
    """The JSON reply; without a proxy, because the plug is in this network. Raises OSError or
    ValueError for any other reply."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{where}", timeout=TIMEOUT_S) as reply:
            return json.loads(_body(reply))
    except http.client.HTTPException as error:
        raise OSError(f"the reply is not HTTP ({error!r})") from error
    except RecursionError as error:
        raise ValueError("the reply is nested too deeply") from error


def _body(reply: http.client.HTTPResponse) -> bytes:
    """The reply's body, up to MAX_REPLY_BYTES; raises TimeoutError for one that takes longer than
    the time limit as a whole."""
    until_s, body = time.monotonic() + TIMEOUT_S, b""
    while len(body) < MAX_REPLY_BYTES and (part := reply.read1(MAX_REPLY_BYTES - len(body))):
        body += part
        if time.monotonic() > until_s:
            raise TimeoutError(f"the reply takes longer than {TIMEOUT_S:g} s")
    return body
