"""What tests of meters share: fake /proc and /sys trees, and a clock that is set, not waited
for."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas
import pytest

from suite.meters.meter import MeteredProcess, Reading

Tree = Callable[[Mapping[str, str]], Path]

Eventually = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Write files below a root of their own; ``-> target`` as content makes a relative link."""
    root = tmp_path / "root"
    root.mkdir()

    def write(files: Mapping[str, str]) -> Path:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content.startswith("-> "):
                path.symlink_to(content[3:])
            else:
                path.write_text(content)
        return root

    return write


class ScriptedClock:
    """Time passes when it is waited for, or when a meter says so; the stop comes at ``end_s``."""

    def __init__(self, end_s: float) -> None:
        self.now_s = 0.0
        self._end_s = end_s

    def now_ns(self) -> int:
        return round(self.now_s * 1e9)

    def thread_cpu_s(self) -> float:
        return self.now_s

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        if self.now_s + timeout_s >= self._end_s:
            self.now_s = max(self.now_s, self._end_s)
            event.set()
            return True
        self.now_s += timeout_s
        return event.is_set()


@pytest.fixture
def clock() -> Callable[[float], ScriptedClock]:
    """A clock whose run ends after the given seconds."""
    return ScriptedClock


@pytest.fixture
def replay() -> Callable[..., pandas.DataFrame]:
    """Read a meter once for every state that a scene puts its board into, a second apart; the
    readings as a bundle has them."""

    def run(meter: Any, states: Iterable[Callable[[], object]]) -> pandas.DataFrame:
        readings: list[Reading] = []
        for second, enter in enumerate(states):
            enter()
            if second == 0:
                meter.open(MeteredProcess(1, Path("/data")))
            with suppress(OSError):  # a dying sensor; the recorder counts it
                readings += [replace(reading, t_ns=second * 10**9) for reading in meter.read()]
        meter.close()
        return pandas.DataFrame([asdict(reading) for reading in readings])

    return run


@pytest.fixture
def eventually() -> Eventually:
    """Ask until the answer is true: for what another thread does in its own time. Ten seconds are
    too long."""

    def ask(question: Callable[[], Any]) -> Any:
        deadline_s = time.monotonic() + 120
        while not (answer := question()):
            assert time.monotonic() < deadline_s, "it never happened"
            time.sleep(0.002)
        return answer

    return ask
