"""What a person sees while a run goes on: on standard error, on a terminal a line that moves, elsewhere a line an epoch."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from suite.bundle.log import LogEvent
from suite.execution.progress import EpochEstimate
from suite.execution.request import RunRequest
from suite.execution.run import RunObserver

REFRESH_S = 0.5


class LineWatcher:
    """One line per finished evaluation; on a terminal also a line that is rewritten at most twice a second."""

    def __init__(self, request: RunRequest, moving: bool) -> None:
        self._request, self._moving = request, moving
        self._estimate = EpochEstimate(request.training.epochs)
        self._began_s, self._shown_s, self._phase = time.monotonic(), 0.0, "starting"

    def event(self, event: LogEvent) -> None:
        """Say what the log says."""
        self._estimate.event(event)
        total = self._request.training.epochs
        if event.key == "init_start":
            self._phase = f"loading {self._request.framework.title}"
        elif event.key == "epoch_start":
            self._phase = f"epoch {event.epoch} of at most {total}"
        elif event.key == "eval_start":
            self._phase = f"evaluating after epoch {event.epoch}"
        elif event.key == "eval_accuracy":
            self._clear()
            print(f"epoch {event.epoch}/{total}: accuracy {float(event.value):.2%}{self._left()}", file=sys.stderr)
        elif event.key == "run_stop":
            self._phase = "closing the bundle"

    def tick(self) -> None:
        """Rewrite the moving line."""
        now_s = time.monotonic()
        if self._moving and now_s - self._shown_s >= REFRESH_S:
            self._shown_s = now_s
            print(f"\r\x1b[K{self._request.workload.name}: {self._phase}, {now_s - self._began_s:.0f} s{self._left()}", end="", file=sys.stderr)

    def close(self) -> None:
        """Take the moving line away."""
        self._clear()

    def _clear(self) -> None:
        if self._moving:
            print("\r\x1b[K", end="", file=sys.stderr)

    def _left(self) -> str:
        left_s = self._estimate.left_s()
        return "" if left_s is None else f", at most {left_s:.0f} s to go"


@contextmanager
def watcher(request: RunRequest) -> Iterator[RunObserver]:
    """A watcher for this run, fitted to what standard error is."""
    print(
        f"{request.workload.title} in {request.framework.title}, {request.training.division} division, data: {request.training.data.name}",
        file=sys.stderr,
    )
    lines = LineWatcher(request, moving=sys.stderr.isatty())
    try:
        yield lines
    finally:
        lines.close()
