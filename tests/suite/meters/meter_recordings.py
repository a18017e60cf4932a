"""Recordings of meters: what a meter's source looks like on a board, and the readings
expected from it.

``recordings/<meter>.toml`` has, below a root of its own (no /proc or /sys of this machine is read):

``origin``
    where the recording is from: the board and its release, or "written by hand in the form of ..."
``[files]``
    path = content; ``-> target`` as content makes a symbolic link; ``data/...`` is the data set
``[programs]``
    path = content of an executable script
``[http]``
    path with query = reply; ``{address}`` in a file is replaced by the server's address
``[changed]``
    files that change after a first read; the readings are then those of the second read
``pid``
    the implementation's process (default 1)
``[readings]``
    channel = [value, unit]: every channel that is read, and no other

A source that is none of these (a serial line, a library, the kernel) has ``tested_by =
"path/of/test.py::test_name"`` and ``reason`` instead.
"""

import http.server
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from suite.files.toml_file import tomllib

FOLDER = Path(__file__).parent / "recordings"


@dataclass(frozen=True)
class MeterRecording:
    """One recording; see the module's docstring."""

    origin: str = ""
    pid: int = 1
    files: dict[str, str] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)
    http: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    readings: dict[str, list[float | str]] = field(default_factory=dict)
    tested_by: str | None = None
    reason: str | None = None

    def missing(self) -> list[str]:
        """What is still to be filled in."""
        if self.tested_by is not None:
            return (
                []
                if self.reason
                else ["reason (why the recording cannot be files, programs or HTTP replies)"]
            )
        missing = [] if self.origin else ["origin (the board and its release)"]
        missing += (
            []
            if self.files or self.programs or self.http
            else ["[files], [programs] or [http] (what the meter reads)"]
        )
        return missing + ([] if self.readings else ["[readings] (channel = [value, unit])"])


def path_of(meter: str) -> Path:
    """Where the meter's recording is."""
    return FOLDER / f"{meter}.toml"


def load_recording(meter: str) -> MeterRecording:
    """The meter's recording; raises TypeError naming an unknown key."""
    return MeterRecording(**tomllib.loads(path_of(meter).read_text(encoding="utf-8")))


@contextmanager
def board(recording: MeterRecording, root: Path) -> Iterator[Path]:
    """The recording as a tree below ``root``, its HTTP replies served on this machine."""
    with _served(recording.http) as address:
        write(recording.files, root, address)
        write(recording.programs, root, address)
        for path in recording.programs:
            (root / path).chmod(0o755)
        yield root


def write(files: Mapping[str, str], root: Path, address: str = "") -> None:
    """Write files below a root."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            path.symlink_to(content.removeprefix("-> "))
        else:
            path.write_text(content.replace("{address}", address))


@contextmanager
def _served(replies: Mapping[str, str]) -> Iterator[str]:
    """The address of a server with these replies; 404 for any other path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply = replies.get(self.path)
            self.send_response(404 if reply is None else 200)
            self.end_headers()
            self.wfile.write((reply or "").encode())

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
