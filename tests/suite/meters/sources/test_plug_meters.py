"""Plugs that answer over HTTP, each as a small server on this machine."""

import http.server
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from suite.meters.http_meter import host_of_address
from suite.meters.meter import MeteredProcess
from suite.meters.sources.shelly import ShellyMeter
from suite.meters.sources.tasmota import TasmotaMeter

SHELLY = {
    "id": 0,
    "output": True,
    "apower": 7.4,
    "voltage": 231.2,
    "current": 0.061,
    "aenergy": {"total": 1000.5, "minute_ts": 1},
    "temperature": {},
}
TASMOTA = {
    "StatusSNS": {
        "Time": "2027-01-01T00:00:00",
        "ENERGY": {"Total": 1.2, "Power": 7, "Voltage": 230, "Current": 0.064},
    }
}

Plug = Callable[[Any], str]


@pytest.fixture
def plug() -> Iterator[Plug]:
    """A plug on this machine: answers with the JSON it is given, or status 500 for None; ``asked``
    are the paths."""
    servers = []

    def start(answer: Any) -> str:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                content = json.dumps(answer).encode()
                self.send_response(500 if answer is None else 200)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: object) -> None:
                """Quiet."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        return f"127.0.0.1:{server.server_port}"

    asked: list[str] = []
    start.asked = asked  # type: ignore[attr-defined]
    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def named(tree: Any, text: str) -> Path:
    """A machine beside which a plug stands."""
    return tree({"etc/edge-training-suite/meters.toml": text})


@pytest.mark.parametrize(
    "answer", [{"id": 0, "output": True}, [], "off", {"apower": "much"}, None], ids=str
)
def test_a_plug_that_does_not_measure_or_is_something_else_is_not_available(
    tree, plug: Plug, answer: Any
) -> None:
    availability = ShellyMeter(
        named(tree, f'shelly = {{ address = "{plug(answer)}" }}\n')
    ).availability()
    assert not availability.available
    assert "does not reply like a shelly" in availability.reason


def test_a_plug_that_is_out_of_reach_is_not_available(tree) -> None:
    availability = TasmotaMeter(
        named(tree, 'tasmota = { address = "127.0.0.1:1" }\n')
    ).availability()
    assert "Connection refused" in availability.reason


def test_a_plug_that_is_out_of_reach_for_a_moment_leaves_a_gap_and_no_failure(
    tree, plug: Plug, eventually
) -> None:
    where = plug(SHELLY)
    meter = ShellyMeter(named(tree, f'shelly = {{ address = "{where}" }}\n'))
    meter.open(MeteredProcess(1, Path("/data")))
    eventually(meter.read)
    meter._address = "127.0.0.1:1"
    eventually(lambda: meter._background._error)
    meter.read()  # what came before
    assert meter.read() == []  # nothing new, and nothing raised
    meter.close()


def test_a_machine_beside_which_no_plug_is_named_says_what_to_write(tree) -> None:
    availability = ShellyMeter(tree({})).availability()
    assert 'shelly = { address = "192.168.1.20" }' in availability.remedy


@pytest.mark.parametrize("written", ["http://{}", "{}/", " {} "])
def test_an_address_as_people_write_it(
    tree, plug: Plug, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plug is in this network, not behind the proxy of a company."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert (
        ShellyMeter(named(tree, f'shelly = {{ address = "{written.format(plug(SHELLY))}" }}\n'))
        .availability()
        .available
    )
    assert host_of_address(written.format("plug")) == "plug"
    assert plug.asked == ["/rpc/Switch.GetStatus?id=0"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "answer",
    [SHELLY | {"apower": None}, SHELLY | {"apower": float("nan")}, SHELLY | {"apower": True}],
    ids=str,
)
def test_no_number_is_no_power(tree, plug: Plug, answer: Any) -> None:
    assert (
        not ShellyMeter(named(tree, f'shelly = {{ address = "{plug(answer)}" }}\n'))
        .availability()
        .available
    )


def test_what_a_plug_cannot_read_at_the_moment_is_left_out(tree, plug: Plug) -> None:
    assert ShellyMeter().parse(SHELLY | {"voltage": None, "current": None}) == {
        "power": (7.4, "W"),
        "energy": (1000.5 * 3600, "J"),  # the plug counts watt-hours
    }
    assert "energy" not in ShellyMeter().parse(SHELLY | {"aenergy": None})
    energy = TASMOTA["StatusSNS"]["ENERGY"] | {"Voltage": None, "Current": None}  # type: ignore[operator]
    assert TasmotaMeter().parse({"StatusSNS": {"ENERGY": energy}}) == {"power": (7.0, "W")}


def test_a_meter_without_a_switch_has_another_component(tree, plug: Plug) -> None:
    """Shelly PM Mini."""
    assert (
        ShellyMeter(
            named(
                tree, f'shelly = {{ address = "{plug(SHELLY)}", component = "PM1", switch = 2 }}\n'
            )
        )
        .availability()
        .available
    )
    assert plug.asked == ["/rpc/PM1.GetStatus?id=2"]  # type: ignore[attr-defined]


def test_a_password_is_named(tree, plug: Plug) -> None:
    reply = {"WARNING": "Need user=<username>&password=<password>"}
    assert (
        "Need user"
        in TasmotaMeter(named(tree, f'tasmota = {{ address = "{plug(reply)}" }}\n'))
        .availability()
        .reason
    )


@pytest.mark.parametrize(
    ("reply", "remedy"),
    [
        (b"HTTP/1.0 401 Unauthorized\r\n\r\n", "password"),
        (b"HTTP/1.0 403 Forbidden\r\n\r\n", "password"),
        (b'HTTP/1.0 404 Not Found\r\n\r\n{"code":404}', 'component = "PM1"'),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "switched on"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"[" * 60_000, "switched on"),
    ],
    ids=["password", "forbidden", "no such component", "no web server", "nested"],
)
def test_other_replies_have_a_reason_and_a_remedy(tree, reply: bytes, remedy: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_reply_once, args=(server, reply), daemon=True).start()
        availability = ShellyMeter(
            named(tree, f'shelly = {{ address = "127.0.0.1:{server.getsockname()[1]}" }}\n')
        ).availability()
    assert not availability.available and remedy in availability.remedy


def _reply_once(server: socket.socket, reply: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(1000)
        connection.sendall(reply)
