"""RDTech's USB meters UM24C, UM25C and UM34C, between the power supply and the board."""

import os
import select
import termios
import time
import tty
from collections.abc import Mapping
from dataclasses import dataclass

from suite.meters.background import BackgroundMeter
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Moments
from suite.meters.settings import load_settings, not_named

REQUEST = b"\xf0"
REPLY_BYTES = 130
TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Model:
    """A model's resolution."""

    name: str
    volt_step: float
    ampere_step: float


MODELS = {
    0x0963: Model("UM24C", 1e-2, 1e-3),
    0x09C9: Model("UM25C", 1e-3, 1e-4),
    0x0D4C: Model("UM34C", 1e-2, 1e-3),
}


class Um25cMeter(BackgroundMeter):
    """Channels ``power`` (W), ``voltage`` (V) and ``current`` (A) into the board, without the
    adapter's losses.

    Source: sigrok wiki, RDTech UM series, protocol.
    """

    name = "um25c"
    period_s = 0.5
    moments = Moments.RANDOM
    description = "power into the board, from a UM24C, UM25C or UM34C"

    _port: int | None = None

    def availability(self) -> MeterAvailability:
        """Whether a port is named, and a meter replies there."""
        settings = load_settings(self._root).um25c
        if settings is None:
            return not_named("USB meter", 'um25c = { port = "/dev/rfcomm0" }')
        try:
            port = _open_port(settings.port)
            try:
                parse_um(_query(port))
            finally:
                os.close(port)
        except (OSError, ValueError, termios.error) as error:
            return MeterAvailability(
                False,
                f"no meter replies on {settings.port}: {error}",
                "switch the meter on, pair it with `bluetoothctl`, then type `rfcomm bind 0 <the"
                " meter's address>`",
            )
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Open the port and start the background thread."""
        settings = load_settings(self._root).um25c
        assert settings is not None
        self._port = _open_port(settings.port)
        super().open(process)

    def close(self) -> None:
        """Stop the background thread and close the port."""
        super().close()
        if self._port is not None:
            os.close(self._port)
            self._port = None

    def measure(self) -> Mapping[str, tuple[float, str]]:
        """Query the meter."""
        assert self._port is not None
        return parse_um(_query(self._port))


def parse_um(reply: bytes) -> dict[str, tuple[float, str]]:
    """Value and unit by channel; raises ValueError for anything but a complete reply of a known
    model."""
    model = MODELS.get(int.from_bytes(reply[0:2], "big"))
    if len(reply) != REPLY_BYTES or model is None:
        raise ValueError(
            f"{len(reply)} bytes that begin with {reply[:2].hex()} are not a reply of a UM24C, "
            "UM25C or UM34C"
        )
    return {
        "power": (int.from_bytes(reply[6:10], "big") * 1e-3, "W"),
        "voltage": (int.from_bytes(reply[2:4], "big") * model.volt_step, "V"),
        "current": (int.from_bytes(reply[4:6], "big") * model.ampere_step, "A"),
    }


def _open_port(port: str) -> int:
    handle = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    tty.setraw(handle)
    attributes = termios.tcgetattr(handle)
    attributes[4] = attributes[5] = termios.B9600
    termios.tcsetattr(handle, termios.TCSANOW, attributes)
    return handle


def _query(port: int) -> bytes:
    """One reply; the rest of an earlier one is discarded first."""
    termios.tcflush(port, termios.TCIFLUSH)
    os.write(port, REQUEST)
    reply, deadline_s = b"", time.monotonic() + TIMEOUT_S
    while (
        len(reply) < REPLY_BYTES
        and select.select([port], [], [], max(0.0, deadline_s - time.monotonic()))[0]
    ):
        part = os.read(port, REPLY_BYTES - len(reply))
        if not part:
            raise OSError("the port was hung up: the meter was switched off or unplugged")
        reply += part
    return reply


METER = Um25cMeter
