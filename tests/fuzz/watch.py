"""Watches the checker judge one input: no exception but SuiteError, no hang, no file written, memory bounded, everything it says printable."""

import contextlib
import io
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from suite.cli.verdicts import show, show_sarif
from suite.compliance.finding import escaped
from suite.compliance.paths import check_paths
from suite.errors import SuiteError

HANG_S = 20
MOST_MIB = 600
"""More than the suite's own libraries take, and less than any input of these sizes could excuse."""

_WRITES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.chmod", "os.truncate", "os.utime", "os.mkfifo", "os.mknod")
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "socket.getaddrinfo")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass
class Watch:
    """What was judged so far: how many inputs were refused (2), found not compliant (1) or compliant (0), and the slowest."""

    scratch: Path
    answers: Counter[int] = field(default_factory=Counter)
    slowest_s: float = 0.0
    _trespasses: list[str] = field(default_factory=list)
    _unpacking: Path | None = None
    """The temporary directory of the call that is watched: archives are unpacked there, and nothing else is written anywhere."""

    def __post_init__(self) -> None:
        sys.addaudithook(self._hear)

    @property
    def inputs(self) -> int:
        """How many were judged."""
        return sum(self.answers.values())

    def judge(self, path: Path) -> int:
        """Judge a path as `suite check` does, in one of its three formats; returns the exit code. Raises AssertionError for what must not be."""
        formats: tuple[Callable[[Any], None], ...] = (show_sarif, lambda verdict: show(verdict, json=True), lambda verdict: show(verdict, json=False))
        return self.call(lambda: formats[self.inputs % 3](check_paths([path])), path)

    def call(self, act: Callable[[], object], *untouched: Path) -> int:
        """Watch any reader: 2 where it raises SuiteError, 1 where it ends as not compliant, else 0."""
        before, started_s = [_snapshot(path) for path in untouched], time.perf_counter()
        with self._watching(), _alarm(), contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")) as printed:
            try:
                act()
                code = 0
            except SuiteError as error:
                print(escaped(str(error)))
                code = 2
            except typer.Exit as end:
                code = end.exit_code
            printed.flush()
            said = printed.buffer.getvalue().decode()
        self.slowest_s = max(self.slowest_s, time.perf_counter() - started_s)
        self.answers[code] += 1
        assert escaped(said.replace("\n", "")) == said.replace("\n", ""), "it said what a terminal would obey"
        assert not self._trespasses, f"wrote or started something: {self._trespasses[:3]}"
        assert [_snapshot(path) for path in untouched] == before, "the input was changed"
        assert peak_mib() < MOST_MIB, f"{peak_mib():.0f} MiB were in use"
        return code

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        self._trespasses.clear()
        usual = tempfile.tempdir
        with tempfile.TemporaryDirectory() as folder:
            tempfile.tempdir, self._unpacking = folder, Path(folder)
            try:
                yield
            finally:
                tempfile.tempdir, self._unpacking = usual, None

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._unpacking is None:
            return
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING and not self._is_own(arguments[0]):
            self._trespasses.append(f"{event} {arguments[0]!r}")
        elif event in _STARTS or (event in _WRITES and not self._is_own(arguments[0], _folder(event, arguments))):
            self._trespasses.append(f"{event} {arguments!r}"[:200])

    def _is_own(self, path: Any, folder: Path | None = None) -> bool:
        """Whether it is the unpacked archive's, Python's or nobody's; a relative path is in `folder`, without one in the working directory."""
        if not isinstance(path, str | bytes | os.PathLike):
            return True  # a file that is open already
        whole = (folder or Path.cwd()) / os.fsdecode(path)
        if whole == Path(os.devnull) or "__pycache__" in whole.parts:
            return True
        return self._unpacking is not None and whole.is_relative_to(self._unpacking)


def _folder(event: str, arguments: tuple[Any, ...]) -> Path | None:
    """The folder that was named by its descriptor, as `shutil.rmtree` does when the temporary directory is taken away."""
    descriptor = arguments[1] if event in ("os.remove", "os.rmdir") else -1
    return Path(f"/proc/self/fd/{descriptor}").readlink() if descriptor >= 0 else None


def peak_mib() -> float:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise AssertionError(f"not done after {HANG_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _snapshot(path: Path) -> list[tuple[str, int, int]]:
    found = [path, *path.rglob("*")]
    return sorted((str(one), one.lstat().st_mtime_ns, one.lstat().st_size) for one in found)
