"""Runs inside the emulated machine: moves the sensor's registers by a law, and answers as a plug
that shows the true power.

python3 -m proofs.box.board time|load GAIN
"""

import ctypes
import fcntl
import http.server
import json
import os
import sys
import threading
import time
from pathlib import Path

from proofs.box.law import power_of_load_w, power_of_time_w, registers

BUS, CHIP = Path("/dev/i2c-0"), 0x40
PLUG = ("127.0.0.1", 8080)
PERIOD_S = 0.02
LOAD_PERIODS = 10
"""Busy cores are counted over this many periods: the kernel counts in ticks of 4 ms."""
_SLAVE_FORCE, _SMBUS, _WRITE, _WORD = 0x0706, 0x0720, 0, 3  # linux/i2c-dev.h, linux/i2c.h


class _Data(ctypes.Union):
    _fields_ = (("word", ctypes.c_uint16), ("block", ctypes.c_uint8 * 34))


class _Message(ctypes.Structure):
    _fields_ = (
        ("write", ctypes.c_uint8),
        ("command", ctypes.c_uint8),
        ("size", ctypes.c_uint32),
        ("data", ctypes.POINTER(_Data)),
    )


class Chip:
    """The registers of the chip on i2c-stub's bus."""

    def __init__(self) -> None:
        self._bus = os.open(BUS, os.O_RDWR)
        fcntl.ioctl(self._bus, _SLAVE_FORCE, CHIP)

    def write(self, number: int, value: int) -> None:
        """Set a register; SMBus words have the low byte first, the chip's registers the high
        one."""
        data = _Data(word=(value & 0xFF) << 8 | value >> 8)
        fcntl.ioctl(self._bus, _SMBUS, _Message(_WRITE, number, _WORD, ctypes.pointer(data)))


class Plug(http.server.BaseHTTPRequestHandler):
    """A plug that shows ``power_w`` as a Shelly does."""

    power_w = 0.0

    def do_GET(self) -> None:
        reply = json.dumps({"id": 0, "output": True, "apower": round(self.power_w, 1)}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *arguments: object) -> None:
        """Quiet."""


def busy_and_all_s() -> tuple[float, float]:
    """CPU time of all cores that were busy, and all time, in ticks."""
    ticks = [
        float(part)
        for part in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    ]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def main(law: str, gain: float) -> None:
    """Move the registers until killed."""
    chip, cores = Chip(), os.cpu_count() or 1
    server = http.server.ThreadingHTTPServer(PLUG, Plug)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    history = [busy_and_all_s()]
    while True:
        if law == "time":
            Plug.power_w = power_of_time_w(time.monotonic())
        else:
            history = [*history[-LOAD_PERIODS:], busy_and_all_s()]
            (busy_before, all_before), (busy, total) = history[0], history[-1]
            Plug.power_w = power_of_load_w(
                cores * (busy - busy_before) / max(total - all_before, 1.0)
            )
        for number, value in registers(Plug.power_w, gain).items():
            chip.write(number, value)
        time.sleep(PERIOD_S)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
