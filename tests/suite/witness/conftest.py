"""A witness over HTTP on this machine, with a clock that tests set."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from suite.witness.server import Witness, WitnessServer


@dataclass
class Lab:
    """A running witness and the list that knows it. ``time_s`` is its clock, in Unix time; None:
    this machine's."""

    address: str
    witness: Witness
    server: WitnessServer
    trusted: Path
    journal: Path
    time_s: float | None = None

    def stop(self) -> None:
        """End it as a killed one ends: the port is closed."""
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def open_lab(folder: Path, port: int = 0) -> Iterator[Lab]:
    """A witness named lab with its key and journal in ``folder``, which may have those of an
    earlier one."""
    trusted, journal = folder / "witnesses", folder / "journal.jsonl"
    trusted.mkdir(parents=True, exist_ok=True)
    made: list[Lab] = []
    witness = Witness(
        "lab",
        folder / "key",
        journal,
        clock=lambda: time.time() if made[0].time_s is None else made[0].time_s,
    )
    (trusted / "allowed_signers").write_text(f"{witness.trust_line}\n")
    server = WitnessServer(witness, "127.0.0.1", port)
    made.append(Lab(f"http://127.0.0.1:{server.server_port}", witness, server, trusted, journal))
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    yield made[0]
    made[0].stop()
    witness.close()
    thread.join()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A witness named lab."""
    with open_lab(tmp_path) as opened:
        yield opened
