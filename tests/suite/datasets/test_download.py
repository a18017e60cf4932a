"""Downloads against a server on this machine that breaks in the ways that servers break."""

import gzip
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from suite.datasets.download import Progress, _fetch, download
from suite.errors import SuiteError

CONTENT = gzip.compress(bytes(range(256)) * 2000, compresslevel=0)


@dataclass
class Server:
    """What the server does: cut the connection after N bytes of a reply, ignore ranges, or serve
    something else."""

    address: str = ""
    cut_at: int | None = None
    knows_ranges: bool = True
    content: bytes = CONTENT
    ranges: list[str | None] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    behaviour = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            behaviour.ranges.append(asked)
            start = (
                int(asked.removeprefix("bytes=").rstrip("-"))
                if asked and behaviour.knows_ranges
                else 0
            )
            if start and start >= len(behaviour.content):
                self.send_error(416)
                return
            body = behaviour.content[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if behaviour.cut_at is None else body[: behaviour.cut_at])

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        behaviour.address = f"http://127.0.0.1:{running.server_port}/file.gz"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield behaviour
        running.shutdown()
        thread.join()


def is_right(path: Path) -> str | None:
    return None if path.read_bytes() == CONTENT else "has the wrong content"


def silent(address: str, done: int, total: int | None) -> None:
    pass


def test_a_file_arrives_and_progress_ends_at_its_size(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    download(
        tmp_path / "file.gz",
        [server.address],
        is_right,
        lambda address, done, total: seen.append((done, total)),
    )
    assert (tmp_path / "file.gz").read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_closed_connection_is_resumed(server: Server, tmp_path: Path) -> None:
    server.cut_at = 1000
    with pytest.raises(SuiteError, match="to resume"):
        download(tmp_path / "file.gz", [server.address], is_right, silent)
    assert (tmp_path / "file.gz.part").stat().st_size == 1000
    server.cut_at = None
    seen: list[tuple[int, int | None]] = []
    progress = lambda address, done, total: seen.append((done, total))  # noqa: E731
    download(tmp_path / "file.gz", [server.address], is_right, progress)
    assert server.ranges == [None, "bytes=1000-"]
    assert seen[0][0] > 1000 and seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_server_without_ranges_sends_the_whole_file_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.gz.part").write_bytes(CONTENT[:500])
    server.knows_ranges = False
    download(tmp_path / "file.gz", [server.address], is_right, silent)
    assert (tmp_path / "file.gz").read_bytes() == CONTENT


def test_a_part_that_is_whole_already_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.gz.part").write_bytes(CONTENT)
    download(tmp_path / "file.gz", [server.address], is_right, silent)
    assert server.ranges == [f"bytes={len(CONTENT)}-"]


def test_the_next_mirror_is_tried(server: Server, tmp_path: Path) -> None:
    down = "http://127.0.0.1:1/file.gz"
    download(tmp_path / "file.gz", [down, server.address], is_right, silent)
    assert (tmp_path / "file.gz").read_bytes() == CONTENT


def test_the_next_mirror_is_tried_where_the_encryption_breaks(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(address: str, part: Path, progress: Progress) -> None:
        if address.startswith("https"):
            raise ssl.SSLError(1, "decryption failed or bad record mac")
        _fetch(address, part, progress)

    monkeypatch.setattr("suite.datasets.download._fetch", fetch)
    download(tmp_path / "file.gz", ["https://mirror/", server.address], is_right, silent)
    assert (tmp_path / "file.gz").read_bytes() == CONTENT


def test_wrong_content_is_not_kept_and_every_mirror_is_named(
    server: Server, tmp_path: Path
) -> None:
    server.content = b"<html>please log in</html>"
    down = "http://127.0.0.1:1/file.gz"
    with pytest.raises(SuiteError) as caught:
        download(tmp_path / "file.gz", [server.address, down], is_right, silent)
    assert f"{server.address}: has the wrong content" in str(caught.value) and down in str(
        caught.value
    )
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_not_fetched(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.gz").write_bytes(CONTENT)
    download(tmp_path / "file.gz", [server.address], is_right, silent)
    assert server.ranges == []
    (tmp_path / "file.gz").write_bytes(CONTENT[1:])
    download(tmp_path / "file.gz", [server.address], is_right, silent)
    assert server.ranges == [None], "another one is"
