"""A UM25C behind a pseudo-terminal."""

import os
import pty
import select
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.catalog.power import Coverage, load_power_rules, totals_of_channels
from suite.meters.meter import MeteredProcess
from suite.meters.sources import um25c
from suite.meters.sources.um25c import Um25cMeter, parse_um


def answer(model: int, volts: int, amperes: int, milliwatts: int) -> bytes:
    """A meter's answer: model, voltage and current in the model's steps, power in milliwatts."""
    head = (
        model.to_bytes(2, "big")
        + volts.to_bytes(2, "big")
        + amperes.to_bytes(2, "big")
        + milliwatts.to_bytes(4, "big")
    )
    return head + bytes(118) + b"\xff\xf1"


UM25C = answer(0x09C9, 5123, 12345, 6324)


class FakeMeter:
    """Answers each question on a serial line, in two pieces."""

    def __init__(self, content: bytes) -> None:
        self.master, self.slave = pty.openpty()
        self.port = os.ttyname(self.slave)
        self.content = content
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        try:
            while os.read(self.master, 1) == b"\xf0":
                os.write(self.master, self.content[:50])
                os.write(self.master, self.content[50:])
        except OSError:
            pass  # the line was closed


@pytest.fixture
def line() -> Iterator[FakeMeter]:
    """A UM25C on a serial line."""
    meter = FakeMeter(UM25C)
    yield meter
    os.close(meter.slave)
    os.close(meter.master)


def test_power_voltage_and_current_into_the_board(tree, line: FakeMeter, eventually) -> None:
    meter = Um25cMeter(
        tree({"etc/edge-training-suite/meters.toml": f'um25c = {{ port = "{line.port}" }}\n'})
    )
    assert meter.availability().available
    meter.open(MeteredProcess(1, Path("/data")))
    readings = eventually(meter.read)
    meter.close()
    values = {reading.channel: (reading.value, reading.unit) for reading in readings[:3]}
    assert values == {
        "power": (pytest.approx(6.324), "W"),
        "voltage": (pytest.approx(5.123), "V"),
        "current": (pytest.approx(1.2345), "A"),
    }
    assert (
        totals_of_channels(
            load_power_rules(), ((reading.source, reading.channel) for reading in readings)
        )[0].rule.coverage
        is Coverage.BOARD
    )


@pytest.mark.parametrize(
    ("model", "volts", "amperes"), [(0x0963, 512, 1234), (0x09C9, 5120, 12340), (0x0D4C, 512, 1234)]
)
def test_each_model_counts_in_its_own_steps(model: int, volts: int, amperes: int) -> None:
    found = parse_um(answer(model, volts, amperes, 6318))
    assert (found["voltage"][0], found["current"][0]) == (pytest.approx(5.12), pytest.approx(1.234))


@pytest.mark.parametrize(
    "content",
    [b"", UM25C[:129], b"\x12\x34" + UM25C[2:]],
    ids=["nothing", "cut off", "another device"],
)
def test_what_is_no_answer_of_such_a_meter_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a reply of a UM24C"):
        parse_um(content)


def test_what_is_left_of_an_earlier_reply_is_no_part_of_the_next() -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)
    try:
        os.write(master, UM25C[-1:])
        select.select([slave], [], [])

        def reply() -> None:
            assert os.read(master, 1) == um25c.REQUEST
            os.write(master, UM25C)

        threading.Thread(target=reply, daemon=True).start()
        assert um25c._query(slave) == UM25C
    finally:
        os.close(master)
        os.close(slave)


def test_a_meter_that_is_switched_off_within_a_query_ends_it() -> None:
    """The kernel hangs up the port, which is readable from then on and gives nothing."""
    master, slave = pty.openpty()
    tty.setraw(slave)

    def switch_off() -> None:
        os.read(master, 1)
        os.close(master)

    threading.Thread(target=switch_off, daemon=True).start()
    try:
        with pytest.raises(OSError, match=r"was switched off or unplugged|Input/output error"):
            um25c._query(slave)
    finally:
        os.close(slave)


def test_a_port_that_is_not_there_is_not_available(tree) -> None:
    meter = Um25cMeter(
        tree({"etc/edge-training-suite/meters.toml": 'um25c = { port = "/dev/rfcomm77" }\n'})
    )
    assert "no meter replies on /dev/rfcomm77" in meter.availability().reason
