"""A lab's witness over HTTP: what it signs, its journal, and what a client makes of bad answers."""

import errno
import hashlib
import http.client
import json
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from suite.errors import SuiteError
from suite.files.signature import SignatureState
from suite.witness.client import check_address, request_signature
from suite.witness.server import MAX_BODY_BYTES, Journal, Witness, WitnessServer
from suite.witness.tokens import verify_token
from tests.suite.witness.conftest import Lab

DIGEST, OTHER = "a" * 64, "b" * 64


def token_of(lab: Lab, digest: str = DIGEST) -> dict[str, Any]:
    answer = request_signature(lab.address, digest)
    assert answer.token is not None, answer.reason
    return dict(answer.token)


def test_a_statement_is_signed_with_the_witnesss_clock(lab: Lab) -> None:
    lab.time_s = 1.8e9 + 0.25
    verdict = verify_token(token_of(lab), DIGEST, lab.trusted)
    assert (verdict.state, verdict.time_s, verdict.witness) == (
        SignatureState.KNOWN,
        1.8e9 + 0.25,
        "lab",
    )


def test_a_statement_about_something_else_is_bad(lab: Lab) -> None:
    assert verify_token(token_of(lab), OTHER, lab.trusted).state is SignatureState.BAD


@pytest.mark.parametrize(
    ("old", "new"),
    [("2027", "2026"), (DIGEST, OTHER), ('"serial":1', '"serial":2'), ('"lab"', '"bob"')],
)
def test_an_edited_statement_is_bad(old: str, new: str, lab: Lab) -> None:
    lab.time_s = 1.8e9  # in 2027
    token = token_of(lab)
    assert old in token["statement"]
    edited = {**token, "statement": token["statement"].replace(old, new)}
    assert (
        verify_token(edited, OTHER if new == OTHER else DIGEST, lab.trusted).state
        is SignatureState.BAD
    )


def test_a_witness_that_is_not_in_the_list_is_unknown(lab: Lab, tmp_path: Path) -> None:
    verdict = verify_token(token_of(lab), DIGEST, tmp_path / "nothing")
    assert (verdict.state, verdict.witness) == (SignatureState.UNKNOWN, "lab")


@pytest.mark.parametrize(
    "token",
    [
        {},
        {"kind": "ssh"},
        {"kind": "ssh", "statement": "[]", "signature": ""},
        {"kind": "rfc3161", "response": "é"},
    ],
)
def test_a_malformed_token_is_bad(token: dict[str, Any], tmp_path: Path) -> None:
    assert verify_token(token, DIGEST, tmp_path).state is SignatureState.BAD


def test_the_journal_chains_every_statement(lab: Lab) -> None:
    for digest in (DIGEST, OTHER, DIGEST):
        token_of(lab, digest)
    lines = lab.journal.read_bytes().splitlines()
    statements = [json.loads(json.loads(line)["statement"]) for line in lines]
    assert [(each["serial"], each["digest"]) for each in statements] == [
        (1, DIGEST),
        (2, OTHER),
        (3, DIGEST),
    ]
    assert [each["previous"] for each in statements] == [
        "0" * 64,
        *(hashlib.sha256(line).hexdigest() for line in lines[:-1]),
    ]


def test_a_restarted_witness_goes_on_with_its_journal(tmp_path: Path) -> None:
    for serial in (1, 2):
        witness = Witness("lab", tmp_path / "key", tmp_path / "journal")
        assert json.loads(witness.state(DIGEST)["statement"])["serial"] == serial
        witness.close()


def test_a_line_that_was_cut_off_is_kept(tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(b'{"kind":"ssh"}\n{"kind":"s')
    journal = Journal(tmp_path / "journal")
    assert (journal.serial, journal.previous) == (2, hashlib.sha256(b'{"kind":"s').hexdigest())
    journal.append({"kind": "ssh"})
    journal.close()
    assert (tmp_path / "journal").read_bytes() == b'{"kind":"ssh"}\n{"kind":"s\n{"kind":"ssh"}\n'


@pytest.mark.parametrize(
    ("key", "journal", "said"),
    [
        ("file/x/key", "journal", "The key .* --key"),
        ("key", "file/x/j", "The journal .* --journal"),
    ],
)
def test_a_place_where_nothing_can_be_written_is_a_sentence(
    key: str, journal: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SuiteError, match=said):
        Witness("lab", tmp_path / key, tmp_path / journal)


def test_a_statement_that_the_disk_did_not_take_is_not_in_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client asks again, and the next line has its serial number."""

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    journal = Journal(tmp_path / "journal")
    journal.append({"serial": 1})
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr("suite.witness.server.os.fsync", full)
        journal.append({"serial": 2})
    journal.append({"serial": 2})
    journal.close()
    assert (tmp_path / "journal").read_bytes() == b'{"serial":1}\n{"serial":2}\n'


def test_many_ask_at_once(lab: Lab) -> None:
    threads = [
        threading.Thread(target=token_of, args=(lab, f"{number:064x}")) for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    serials = [
        json.loads(json.loads(line)["statement"])["serial"]
        for line in lab.journal.read_bytes().splitlines()
    ]
    assert serials == list(range(1, 9))


BAD_BODIES = (
    b"",
    b"{}",
    b"[]",
    b"\xff",
    b'{"digest": 1}',
    b'{"digest": "A"}',
    b'{"digest": "' + b"g" * 64 + b'"}',
    b"[" * 1000,
    b" " * (MAX_BODY_BYTES + 1),
)


@pytest.mark.parametrize("body", BAD_BODIES)
def test_a_bad_request_is_answered_and_not_signed(body: bytes, lab: Lab) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", lab.server.server_port, timeout=120)
    connection.request("POST", "/statements", body)
    assert connection.getresponse().status == 400
    connection.close()
    assert lab.journal.read_bytes() == b""
    token_of(lab)


def test_the_witness_names_itself(lab: Lab) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", lab.server.server_port, timeout=120)
    connection.request("GET", "/")
    assert json.loads(connection.getresponse().read()) == {
        "witness": "lab",
        "key": lab.witness.public_key,
    }
    connection.close()


def test_a_stopped_witness_is_a_reason(lab: Lab) -> None:
    lab.stop()
    answer = request_signature(lab.address, DIGEST, pause_s=0)
    assert (answer.token, answer.attempts) == (None, 3)
    assert answer.reason is not None and "ConnectionRefusedError" in answer.reason


def test_a_witness_that_says_nothing_costs_bounded_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        answer = request_signature(
            f"http://127.0.0.1:{silent.getsockname()[1]}",
            DIGEST,
            attempts=2,
            timeout_s=0.05,
            pause_s=0,
        )
    assert answer.token is None
    assert answer.reason is not None and "imed out" in answer.reason
    assert answer.answered_ns - answer.asked_ns < 5 * 10**9


ANSWERS = (
    b"",
    b"[]",
    b"{}",
    b'{"statement": "{}", "signature": "x"}',
    b"x" * 100_000,
    b'{"statement": "{\\"digest\\":\\"' + OTHER.encode() + b'\\"}", "signature": "x"}',
    b"[" * 5000,
)


@pytest.mark.parametrize("content", ANSWERS, ids=lambda content: content[:20].decode())
def test_a_bad_answer_is_a_reason(content: bytes) -> None:
    class Liar(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Liar) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        answer = request_signature(f"http://127.0.0.1:{server.server_port}", DIGEST, attempts=1)
        thread.join()
    assert answer.token is None and answer.reason


@pytest.mark.parametrize("address", ["", "lab:8731", "file:///etc/passwd", "rfc3161:ftp://x"])
def test_an_address_is_http(address: str) -> None:
    with pytest.raises(SuiteError, match="--witness"):
        check_address(address)


def test_a_port_in_use_is_one_sentence(lab: Lab) -> None:
    with pytest.raises(SuiteError, match="--port"):
        WitnessServer(lab.witness, "127.0.0.1", lab.server.server_port)


@pytest.mark.parametrize("name", ["", "a b\n", "TU-Graz", "lab@uni", "l" * 61])
def test_a_name_is_one_that_the_checker_knows(name: str, tmp_path: Path) -> None:
    """suite.files.signature leaves other names out of its answers."""
    with pytest.raises(SuiteError, match=r"--name .* must have 1 to 60 characters: lower"):
        Witness(name, tmp_path / "key", tmp_path / "journal")
