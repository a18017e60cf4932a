"""Time stamps of an authority (RFC 3161): a real one, of OpenSSL, over HTTP on this machine."""

import base64
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from suite.bundle.manifest import seal
from suite.bundle.reader import Bundle
from suite.compliance.checker import check_bundle
from suite.compliance.rules import witness as rule
from suite.execution.witnessing import ask_files_stamp
from suite.files.signature import SignatureState
from suite.witness import tokens
from suite.witness.client import AUTHORITY, request_signature
from suite.witness.tokens import judge_tokens, verify_token
from tests.faults.edits.fault import save_after
from tests.faults.edits.table_edits import scale_column
from tests.faults.edits.witness_edits import make_record

DIGEST = "5" * 64
CONFIGURATION = """
[req]
distinguished_name = name
x509_extensions = tsa
prompt = no
[name]
CN = Test authority
[tsa]
basicConstraints = CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[ts]
default_tsa = authority
[authority]
serial = {folder}/serial
crypto_device = builtin
signer_cert = {folder}/authority.pem
certs = {folder}/authority.pem
signer_key = {folder}/authority.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
ess_cert_id_chain = no
clock_precision_digits = 3
"""

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs OpenSSL's program")


def openssl(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["openssl", *arguments], cwd=folder, capture_output=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The authority's key, certificate and configuration."""
    path = tmp_path_factory.mktemp("authority")
    (path / "openssl.cnf").write_text(CONFIGURATION.format(folder=path))
    (path / "serial").write_text("01\n")
    new = (
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        "authority.key",
        "-out",
        "authority.pem",
    )
    openssl(path, "req", "-x509", "-config", "openssl.cnf", "-days", "2", *new)
    return path


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    """The authority's address."""

    class Authority(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/timestamp-query"
            (folder / "query.tsq").write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            reply = openssl(
                folder,
                "ts",
                "-reply",
                "-config",
                "openssl.cnf",
                "-section",
                "authority",
                "-queryfile",
                "query.tsq",
            )
            self.send_response(200)
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Authority) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        thread.start()
        yield f"{AUTHORITY}http://127.0.0.1:{server.server_port}/tsr"
        server.shutdown()
        thread.join()


@pytest.fixture
def token(address: str) -> dict[str, Any]:
    answer = request_signature(address, DIGEST)
    assert answer.token is not None, answer.reason
    return dict(answer.token)


def trusted(folder: Path, tmp_path: Path) -> Path:
    shutil.copy(folder / "authority.pem", tmp_path / "observatory.pem")
    return tmp_path


def test_a_stamp_names_authority_and_time(
    token: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    verdict = verify_token(token, DIGEST, trusted(folder, tmp_path))
    assert (verdict.state, verdict.witness) == (SignatureState.KNOWN, "observatory")
    assert verdict.time_s is not None and abs(verdict.time_s - time.time()) < 60


def test_an_authority_that_is_not_in_the_list_is_unknown(
    token: dict[str, Any], tmp_path: Path
) -> None:
    verdict = verify_token(token, DIGEST, tmp_path)
    assert verdict.state is SignatureState.UNKNOWN
    assert verdict.time_s is not None


def test_a_stamp_of_another_digest_is_bad(
    token: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    assert verify_token(token, "6" * 64, trusted(folder, tmp_path)).state is SignatureState.BAD


def edited(token: dict[str, Any], place: int) -> dict[str, Any]:
    """The token with one bit of the response changed."""
    content = bytearray(base64.b64decode(token["response"]))
    content[place] ^= 1
    return {**token, "response": base64.b64encode(bytes(content)).decode()}


@pytest.mark.parametrize("after_digest", [-1, 0, 31, 40, 45, 50])
def test_digest_and_time_cannot_be_edited(
    after_digest: int, token: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    """Serial number and time follow the digest in the signed part (RFC 3161, 2.4.2)."""
    start = base64.b64decode(token["response"]).index(bytes.fromhex(DIGEST))
    assert (
        verify_token(edited(token, start + after_digest), DIGEST, trusted(folder, tmp_path)).state
        is SignatureState.BAD
    )


@pytest.mark.parametrize("place", range(0, 1100, 100))
def test_an_edit_elsewhere_changes_no_time(
    place: int, token: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    """The copies of certificates that an answer carries are not signed by it; what they are
    verified with comes from the list."""
    true = verify_token(token, DIGEST, trusted(folder, tmp_path))
    verdict = verify_token(edited(token, place), DIGEST, tmp_path)
    assert verdict.state is not SignatureState.KNOWN or verdict == true


def der(tag: int, content: bytes) -> bytes:
    """A value of ASN.1 with a length of two bytes."""
    return bytes([tag, 0x82]) + len(content).to_bytes(2, "big") + content


def test_the_text_of_a_status_which_nobody_signs_gives_no_time(
    token: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    """RFC 3161, 2.4.2: a response is a status, which may have a text, and the signed token."""
    granted = bytes.fromhex("3003020100")
    status, signed = base64.b64decode(token["response"])[4:].split(granted, 1)
    assert status == b""
    text = der(0x30, der(0x0C, b"x\nTime stamp: Jan  1 00:00:00 2020 GMT"))
    response = der(0x30, der(0x30, granted[2:] + text) + signed)
    spoken = {**token, "response": base64.b64encode(response).decode()}
    true = verify_token(token, DIGEST, trusted(folder, tmp_path))
    assert true.state is SignatureState.KNOWN
    assert verify_token(spoken, DIGEST, tmp_path) == true


def test_a_certificate_counts_at_the_time_of_the_stamp_and_not_today(
    token: dict[str, Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The authority's is valid for two days from now."""
    known, run = trusted(folder, tmp_path), tokens._openssl
    assert verify_token(token, DIGEST, known).state is SignatureState.KNOWN

    def as_of_2020(*arguments: str) -> str | None:
        return "Time stamp: Jan  1 00:00:00 2020 GMT\n" if "-text" in arguments else run(*arguments)

    monkeypatch.setattr(tokens, "_openssl", as_of_2020)
    assert verify_token(token, DIGEST, known).state is SignatureState.BAD


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x30\x80", b"x" * 40_000])
def test_bytes_that_are_no_stamp_are_bad(content: bytes, tmp_path: Path) -> None:
    assert (
        verify_token(
            {"kind": "rfc3161", "response": base64.b64encode(content).decode()}, DIGEST, tmp_path
        ).state
        is SignatureState.BAD
    )


def test_openssl_reads_our_query(tmp_path: Path) -> None:
    """The query is assembled from constants: OpenSSL shows what it says."""
    from suite.witness.client import _QUERY_END, _QUERY_START

    (tmp_path / "query.tsq").write_bytes(_QUERY_START + bytes.fromhex(DIGEST) + _QUERY_END)
    shown = openssl(tmp_path, "ts", "-query", "-in", "query.tsq", "-text").decode()
    assert "Hash Algorithm: sha256" in shown and "Certificate required: yes" in shown
    assert shown.count("55 55 55 55") > 1


def test_the_files_of_a_bundle_are_stamped_by_an_authority_and_cannot_be_edited_afterwards(
    address: str, folder: Path, good_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_record(good_bundle)
    replace(made, address=address, files={}, files_stamp=None).write(good_bundle)
    record = ask_files_stamp(good_bundle, ())
    assert (
        record is not None
        and record.files_stamp is not None
        and record.files_stamp.token is not None
    ), record
    record.write(good_bundle)
    (good_bundle / "MANIFEST.sha256").unlink()
    seal(good_bundle)
    known = trusted(folder, tmp_path)
    run, request = Bundle(good_bundle).run(), Bundle(good_bundle).json("run.json")["request"]
    verdict = judge_tokens(record, run.run_id, request, run.nonce, known)
    assert verdict.files is not None and (verdict.files.state, verdict.files.witness) == (
        SignatureState.KNOWN,
        "observatory",
    )
    monkeypatch.setattr(rule, "trust_list", lambda: known)
    assert "witness-files" not in {finding.check for finding in check_bundle(good_bundle).findings}
    save_after(scale_column("compute_s", 0.9), recompute=True)(good_bundle)
    assert "steps.parquet" in {
        finding.file
        for finding in check_bundle(good_bundle).findings
        if finding.check == "witness-files"
    }


def test_without_openssl_nothing_is_verified(
    token: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    verdict = verify_token(token, DIGEST, tmp_path)
    assert (verdict.state, verdict.reason) == (SignatureState.UNVERIFIED, "openssl is missing")
