"""Watches the checker check one input: no exception but SuiteError, no hang, no file written,
bounded memory, printable output."""

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

from suite.cli.verdicts import show_result, show_sarif
from suite.compliance.finding import printable
from suite.compliance.paths import check_paths
from suite.errors import SuiteError

TIMEOUT_S = 20
MAX_MIB = 500
"""Additional memory while one input is checked, the suite's own libraries included; no input of
these sizes needs more."""

_WRITES = (
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "os.chmod",
    "os.truncate",
    "os.utime",
    "os.mkfifo",
    "os.mknod",
)
_STARTS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "socket.connect",
    "socket.getaddrinfo",
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass
class Watch:
    """Counts the inputs by exit code: refused (2), not compliant (1), compliant (0); keeps the
    longest time."""

    scratch: Path
    answers: Counter[int] = field(default_factory=Counter)
    slowest_s: float = 0.0
    _forbidden: list[str] = field(default_factory=list)
    _unpacking: Path | None = None
    """The temporary directory of the watched call: the only place where it may write."""

    def __post_init__(self) -> None:
        sys.addaudithook(self._audit)

    @property
    def inputs(self) -> int:
        """The number of inputs checked."""
        return sum(self.answers.values())

    def check(self, path: Path) -> int:
        """Check a path as `suite check` does, in one of its three formats; returns the exit code.
        Raises AssertionError for a violation."""
        formats: tuple[Callable[[Any], None], ...] = (
            show_sarif,
            lambda verdict: show_result(verdict, json=True),
            lambda verdict: show_result(verdict, json=False),
        )
        return self.call(lambda: formats[self.inputs % 3](check_paths([path])), path)

    def call(self, act: Callable[[], object], *untouched: Path) -> int:
        """Watch any reader; returns 2 if it raises SuiteError, 1 if it ends as not compliant, else
        0."""
        before, in_use_mib, started_s = (
            [_snapshot(path) for path in untouched],
            _reset_peak(),
            time.perf_counter(),
        )
        with (
            self._watching(),
            _alarm(),
            contextlib.redirect_stdout(
                io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
            ) as printed,
        ):
            try:
                act()
                code = 0
            except SuiteError as error:
                print(printable(str(error)))
                code = 2
            except typer.Exit as end:
                code = end.exit_code
            printed.flush()
            output = printed.buffer.getvalue().decode()
        self.slowest_s = max(self.slowest_s, time.perf_counter() - started_s)
        self.answers[code] += 1
        assert printable(output.replace("\n", "")) == output.replace("\n", ""), (
            "control characters in the output"
        )
        assert not self._forbidden, f"wrote or started something: {self._forbidden[:3]}"
        assert [_snapshot(path) for path in untouched] == before, "the input was changed"
        assert _status_mib("VmHWM") - in_use_mib < MAX_MIB, (
            f"{_status_mib('VmHWM') - in_use_mib:.0f} MiB more were in use"
        )
        return code

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        self._forbidden.clear()
        usual = tempfile.tempdir
        with tempfile.TemporaryDirectory() as folder:
            tempfile.tempdir, self._unpacking = folder, Path(folder)
            try:
                yield
            finally:
                tempfile.tempdir, self._unpacking = usual, None

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._unpacking is None:
            return
        if (
            event == "open"
            and isinstance(arguments[2], int)
            and arguments[2] & _WRITING
            and not self._is_allowed(arguments[0])
        ):
            self._forbidden.append(f"{event} {arguments[0]!r}")
        elif event in _STARTS or (
            event in _WRITES and not self._is_allowed(arguments[0], _folder(event, arguments))
        ):
            self._forbidden.append(f"{event} {arguments!r}"[:200])

    def _is_allowed(self, path: Any, folder: Path | None = None) -> bool:
        """True for the temporary directory, Python's caches and /dev/null; a relative path is in
        `folder`, without one in the working directory."""
        if not isinstance(path, str | bytes | os.PathLike):
            return True  # a descriptor of an open file
        whole = (folder or Path.cwd()) / os.fsdecode(path)
        if whole == Path(os.devnull) or "__pycache__" in whole.parts:
            return True
        return self._unpacking is not None and whole.is_relative_to(self._unpacking)


def _folder(event: str, arguments: tuple[Any, ...]) -> Path | None:
    """The folder behind a descriptor, by which `shutil.rmtree` names the temporary directory."""
    descriptor = arguments[1] if event in ("os.remove", "os.rmdir") else -1
    return Path(f"/proc/self/fd/{descriptor}").readlink() if descriptor >= 0 else None


def peak_mib() -> float:
    """The peak memory of this process, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _reset_peak() -> float:
    """Let the kernel count the peak from now on: other tests ran in this process. Returns the
    memory in use, MiB (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status_mib("VmRSS")


def _status_mib(field_name: str) -> float:
    (line,) = (
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith(f"{field_name}:")
    )
    return int(line.split()[1]) / 1024


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise AssertionError(f"not finished after {TIMEOUT_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _snapshot(path: Path) -> list[tuple[str, int, int]]:
    paths = [path, *path.rglob("*")]
    return sorted((str(each), each.lstat().st_mtime_ns, each.lstat().st_size) for each in paths)
