"""What tests of meters share: fake /proc and /sys trees, and a clock that is set, not waited for."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Tree = Callable[[Mapping[str, str]], Path]


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
    """A clock whose run ends after so many seconds."""
    return ScriptedClock
