"""Shows progress on standard error: on a terminal a line that is rewritten, elsewhere one line per
epoch."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reference_impls.contract import DataSet
from suite.bundle.log import LogEvent
from suite.catalog.data_sets import load_data_set
from suite.execution import events
from suite.execution.kept_states import mebibytes
from suite.execution.request import RunRequest

REFRESH_S = 0.5


@dataclass
class EpochEstimate:
    """Estimates the longest time that is left; the run ends earlier when the target is reached."""

    epochs: int
    started_ns: int | None = None
    done: int = 0
    last_ns: int | None = None

    def event(self, event: LogEvent) -> None:
        """Update the estimate at the run's start and after every epoch or evaluation."""
        if event.key == "run_start":
            self.started_ns = event.mono_ns
        if event.key in ("epoch_stop", "eval_stop") and event.epoch is not None:
            self.done, self.last_ns = event.epoch, event.mono_ns

    def left_s(self) -> float | None:
        """Seconds left at most, from the mean of the epochs so far; None before the first one."""
        if not self.done or self.started_ns is None or self.last_ns is None:
            return None
        return (self.last_ns - self.started_ns) * 1e-9 / self.done * (self.epochs - self.done)


class LineWatcher:
    """One line per finished evaluation of a run; on a terminal also a line that is rewritten at
    most twice a second."""

    def __init__(self, request: RunRequest, moving: bool) -> None:
        self._request, self._moving = request, moving
        self._estimate = EpochEstimate(request.training.epochs)
        self._began_s, self._shown_s, self._phase = time.monotonic(), 0.0, "starting"

    def event(self, event: LogEvent) -> None:
        """Show a line of the log."""
        self._estimate.event(event)
        total = self._request.training.epochs
        if event.key == "init_start":
            self._phase = f"loading {self._request.framework.title}"
        elif event.key == "epoch_start":
            self._phase = f"epoch {event.epoch} of at most {total}"
        elif event.key == "eval_start":
            self._phase = f"evaluating after epoch {event.epoch}"
        elif event.key == "eval_accuracy":
            self.clear()
            _print(f"epoch {event.epoch}/{total}: accuracy {float(event.value):.2%}{self._left()}")
        elif event.key == "run_stop":
            self._phase = "closing the bundle"

    def tick(self) -> None:
        """Rewrite the moving line."""
        now_s = time.monotonic()
        if self._moving and now_s - self._shown_s >= REFRESH_S:
            self._shown_s = now_s
            print(
                f"\r\x1b[K{self._request.workload.name}: {self._phase}, {now_s - self._began_s:.0f}"
                f" s{self._left()}",
                end="",
                file=sys.stderr,
            )

    def clear(self) -> None:
        """Remove the moving line."""
        if self._moving:
            print("\r\x1b[K", end="", file=sys.stderr)

    def _left(self) -> str:
        left_s = self._estimate.left_s()
        return "" if left_s is None else f", at most {left_s:.0f} s to go"


class ProgressLines:
    """A progress callback that prints every event."""

    def __init__(self, moving: bool) -> None:
        self._moving = moving
        self._run: LineWatcher | None = None

    def __call__(self, event: events.ProgressEvent) -> None:
        if isinstance(event, events.RunStarted):
            self._run = LineWatcher(event.request, self._moving)
        if isinstance(event, events.LogLine) and self._run:
            self._run.event(event.event)
        elif isinstance(event, events.Waiting) and self._run:
            self._run.tick()
        elif isinstance(event, events.RunEnded):
            self.close()
        elif isinstance(event, events.Notice):
            if self._run:
                self._run.clear()
            _print(event.sentence)
        else:
            _print(_sentence(event))

    def close(self) -> None:
        """Remove the moving line, if there is one."""
        if self._run:
            self._run.clear()
            self._run = None


def _sentence(event: events.ProgressEvent) -> str | None:
    """The line that announces an event, None for those that are shown otherwise."""
    if isinstance(event, events.RunStarted):
        training = event.request.training
        ranks = (
            f", {training.parallel.ranks} ranks on {training.parallel.nodes} nodes"
            if training.parallel.nodes > 1
            else ""
        )
        return (
            f"{event.request.workload.title} in {event.request.framework.title},"
            f" {training.division} division, data: {training.data.name}"
            f"{_difference(training.data)}{ranks}"
        )
    if isinstance(event, events.BaseloadStarted):
        return (
            f"Measuring the idle machine's power for {event.time_s:g} s ({', '.join(event.meters)})"
        )
    if isinstance(event, events.NodeDoubted):
        return f"warning: {event.sentence}; {event.remedy}"
    if isinstance(event, events.StatesKept):
        return (
            f"Training states of at most {event.epochs} epochs are kept in {event.folder}: up to"
            f" {mebibytes(event.size_bytes)}"
        )
    if isinstance(event, events.ClosingGoesOn):
        return (
            "\nThe training has ended; its bundle is closed first (Ctrl-C again stops that, and"
            " `suite finish` completes it)"
        )
    if isinstance(event, events.MemoryExhausted):
        return (
            "Out of memory; searching for the largest mini-batch that fits (Ctrl-C ends the search)"
        )
    if isinstance(event, events.BatchSizeTried):
        return f"  {event.batch_size} samples …"
    if isinstance(event, events.StallRunStarted):
        return f"{event.source.value} run"
    if isinstance(event, events.SweepRunKept):
        return f"[{event.number}/{event.total}] {event.label}: finished before, kept"
    if isinstance(event, events.CoolingDown):
        return f"Cooling from {event.from_c:.1f} to {event.to_c:g} degC"
    if isinstance(event, events.CostEstimated):
        return _cost(event)
    if isinstance(event, events.SweepRunStarted):
        left = "" if event.left_s is None else f", about {event.left_s:.0f} s to go"
        return f"[{event.number}/{event.total}] {event.label}{left}"
    return None


def _cost(event: events.CostEstimated) -> str:
    if not event.runs:
        return "0 runs to make: all are finished"
    if event.time_s is None:
        return f"{event.runs} runs to make; what they take is unknown: {event.source}"
    energy = "" if event.energy_j is None else f" and {event.energy_j / 1000:.3g} kJ"
    return (
        f"{event.runs} runs to make: about {event.time_s / 60:.3g} minutes{energy} ({event.source})"
    )


def _print(line: str | None) -> None:
    if line is not None:
        print(line, file=sys.stderr)


@contextmanager
def watcher() -> Iterator[ProgressLines]:
    """A progress callback for what standard error is; leaves no moving line behind."""
    lines = ProgressLines(moving=sys.stderr.isatty())
    try:
        yield lines
    finally:
        lines.close()


def _difference(data: DataSet) -> str:
    """That files are not the published ones, where their digests are known."""
    files = load_data_set(data.name).files
    is_other = not (data.verified or data.synthetic) and any(file.sha256 for file in files)
    return " (different from the published files)" if is_other else ""
