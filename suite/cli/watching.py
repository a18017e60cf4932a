"""Shows progress on standard error: on a terminal a line that is rewritten, elsewhere one line per
epoch."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reference_impls.contract import DataSet, Request
from reference_impls.updates import steps_per_epoch
from suite.bundle.log import LogEvent
from suite.catalog.data_sets import load_data_set
from suite.catalog.frameworks import known_frameworks
from suite.catalog.timings import EVALUATION_OF_STEP
from suite.cli.durations import duration_text
from suite.cli.streams import terminal_columns
from suite.execution import events
from suite.execution.kept_states import mebibytes
from suite.execution.request import RunRequest
from suite.execution.shown_steps import find_counter, steps_done
from suite.files.counted import counted
from suite.files.schema import Number, problem_of

REFRESH_S = 0.5
FIRST_STEPS = 3
"""Fewer say nothing of the time that is left."""
BAR, LEVELS, SHOWN_EPOCHS = 16, "▁▂▃▄▅▆▇█", 12


class Pace:
    """Estimates the longest time that is left, from the steps so far; a run with a target ends
    earlier when that is reached."""

    def __init__(self, training: Request) -> None:
        self.whole = steps_per_epoch(training)
        self._evaluation = (
            EVALUATION_OF_STEP * training.data.eval_samples / training.global_batch_size
        )
        steps = training.epochs * self.whole
        if training.steps is not None:
            steps = min(steps, training.steps)
        self._most = self._work(steps, steps // self.whole)
        self.started_ns: int | None = None
        self.steps = self._evaluations = self._before = 0
        self._begun: float | None = None

    def _work(self, steps: int, evaluations: int) -> float:
        return steps + evaluations * self._evaluation

    def event(self, event: LogEvent) -> None:
        """Update the estimate at the run's start and at both ends of epochs and evaluations."""
        epoch = event.epoch
        if event.key == "run_start":
            self.started_ns = event.mono_ns
        elif event.key == "epoch_start" and epoch is not None:
            self._before = (epoch - 1) * self.whole
            self.steps = max(self.steps, self._before)
            if self._begun is None:
                self._evaluations = epoch - 1  # more than none where the run was resumed
                self._begun = self._work(self._before, epoch - 1)
        elif event.key == "epoch_stop" and epoch is not None:
            self.steps = max(self.steps, epoch * self.whole)
        elif event.key == "eval_stop" and epoch is not None:
            self._evaluations = epoch

    @property
    def step(self) -> int:
        """Of the epoch that goes on, the steps that are done."""
        return self.steps - self._before

    @property
    def share(self) -> float:
        """Of the longest run: what is done."""
        return min(1.0, self._work(self.steps, self._evaluations) / self._most)

    def left_s(self, now_ns: int) -> float | None:
        """Seconds left at most; None before the first steps."""
        begun = self._begun or 0.0
        done = self._work(self.steps, self._evaluations) - begun
        if self.started_ns is None or done < FIRST_STEPS:
            return None
        left = max(0.0, self._most - begun - done)
        return (now_ns - self.started_ns) * 1e-9 / done * left


class LineWatcher:
    """One line per finished evaluation of a run; on a terminal also a line that is rewritten at
    most twice a second."""

    def __init__(self, training: Request, directory: Path, moving: bool) -> None:
        self._training, self._directory, self._moving = training, directory, moving
        self._pace, self._counter = Pace(training), find_counter(directory)
        self._began_s, self._shown_s, self._phase = time.monotonic(), 0.0, "starting"
        self._accuracies: list[float] = []
        self._is_trained = False
        self._most = "" if training.target_accuracy is None else "at most "

    def event(self, event: LogEvent, is_past: bool = False) -> None:
        """Show a line of the log; of what ``is_past`` it is not said how long the rest takes."""
        self._pace.event(event)
        total = self._training.epochs
        if event.key == "init_start":
            known = known_frameworks().get(self._training.framework)
            self._phase = f"loading {known.title if known else self._training.framework}"
        elif event.key == "epoch_start":
            self._phase = f"epoch {event.epoch}"
        elif event.key == "eval_start":
            self._phase = f"evaluating after epoch {event.epoch}"
        elif event.key == "eval_accuracy" and problem_of(event.value, Number) is None:
            self._accuracies.append(float(event.value))
            target = self._training.target_accuracy
            is_reached = target is not None and self._accuracies[-1] >= target
            self._is_trained = is_reached or event.epoch == total
            self.clear()
            left = "" if is_past else self._left(event.mono_ns or time.monotonic_ns())
            _print(f"epoch {event.epoch}/{total}: accuracy {self._accuracies[-1]:.2%}{left}")
        elif event.key == "run_stop":
            self._phase, self._is_trained = "sealing the bundle", True

    def tick(self) -> None:
        """Rewrite the moving line."""
        if self._moving and time.monotonic() - self._shown_s >= REFRESH_S:
            self._shown_s = time.monotonic()
            self._counter = self._counter or find_counter(self._directory)
            self._pace.steps = max(self._pace.steps, steps_done(self._counter) or 0)
            line = self.line(time.monotonic_ns(), terminal_columns())
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def line(self, now_ns: int, columns: int) -> str:
        """The bar, the time that is left, the step of the epoch, the accuracies of the last epochs,
        and the time since the start: of these the most important that a terminal has room for."""
        words = self._words(now_ns)
        for least in range(len(words), 0, -1):
            line = "".join(text for importance, text in words if importance <= least)
            if len(line.lstrip(" ,:")) < columns:
                return line.lstrip(" ,:")
        return ""

    def _words(self, now_ns: int) -> tuple[tuple[int, str], ...]:
        """The line's words in their order, each after its importance: 1 is left out last."""
        pace, since_s = self._pace, time.monotonic() - self._began_s
        bar = share = step = whole = epochs = accuracy = shown = ""
        if pace.started_ns is not None:
            since_s = (now_ns - pace.started_ns) * 1e-9
            if not self._is_trained:
                full = int(pace.share * BAR)
                bar, share = f" [{'#' * full}{'.' * (BAR - full)}]", f" {pace.share:.0%}"
        if self._phase.startswith("epoch"):
            epochs = f" of {self._most}{self._training.epochs}"
            if pace.step:
                step, whole = f", step {pace.step}", f" of {pace.whole}"
        if self._accuracies:
            accuracy = f", accuracy {self._accuracies[-1]:.1%}"
            shown = f" {sparkline(self._accuracies[-SHOWN_EPOCHS:])}"
        return (
            (5, self._training.workload),
            (8, bar),
            (2, share),
            (1, self._left(now_ns)),
            (4, f"{',' if share else ':'} {self._phase}"),
            (10, epochs),
            (7, step),
            (9, whole),
            (3, accuracy),
            (6, shown),
            (11, f", {duration_text(since_s)}"),
        )

    def clear(self) -> None:
        """Remove the moving line."""
        if self._moving:
            print("\r\x1b[K", end="", file=sys.stderr)

    def _left(self, now_ns: int) -> str:
        left_s = None if self._is_trained else self._pace.left_s(now_ns)
        return "" if left_s is None else f", {self._most or 'about '}{duration_text(left_s)} to go"


def sparkline(values: Sequence[float]) -> str:
    """A character for each value, from the lowest to the highest."""
    low, high = min(values), max(values)
    top = len(LEVELS) - 1
    return "".join(LEVELS[round((each - low) / (high - low or 1.0) * top)] for each in values)


class ProgressLines:
    """A progress callback that prints every event; ``is_look`` of another command's first look,
    ``is_trial`` of the few steps before a run of the same title."""

    def __init__(self, moving: bool, is_look: bool = False, is_trial: bool = False) -> None:
        self._moving, self._is_look, self._is_trial = moving, is_look, is_trial
        self._run: LineWatcher | None = None

    def __call__(self, event: events.ProgressEvent) -> None:
        if isinstance(event, events.RunStarted):
            training = event.request.training
            self._run = LineWatcher(training, event.request.directory, self._moving)
            if not self._is_trial:
                _print(_title(event.request, self._is_look))
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


def _title(request: RunRequest, is_look: bool) -> str:
    """What is trained: the workload, with the data where it is not the workload's."""
    training, workload, framework = request.training, request.workload, request.framework
    data = training.data.name
    in_place = "" if data == workload.data else f" in place of {workload.data}"
    ranks = (
        f", {training.parallel.ranks} ranks on {training.parallel.nodes} nodes"
        if training.parallel.nodes > 1
        else ""
    )
    what = f"{training.steps} trial steps" if is_look else f"{training.division} division"
    return (
        f"{workload.title}{' in' if framework.outside is None else ':'} {framework.title}, {what},"
        f" data: {data}{in_place}{_difference(training.data)}{ranks}"
    )


def _sentence(event: events.ProgressEvent) -> str | None:
    """The line that announces an event, None for those that are shown otherwise."""
    if isinstance(event, events.BaseloadStarted):
        return (
            f"Measuring the idle machine's power for {event.time_s:g} s ({', '.join(event.meters)})"
        )
    if isinstance(event, events.NodeMismatch):
        return f"warning: {event.sentence}; {event.remedy}"
    if isinstance(event, events.StatesKept):
        return (
            f"The training states of at most {counted(event.epochs, 'epoch')} are kept in"
            f" {event.folder} and take at most {mebibytes(event.size_bytes)} in all"
        )
    if isinstance(event, events.ClosingGoesOn):
        return (
            "\nThe training has ended, and its bundle is being sealed (another Ctrl-C stops the"
            " sealing; `suite finish` then completes it)"
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
        left = "" if event.left_s is None else f", about {duration_text(event.left_s)} to go"
        return f"[{event.number}/{event.total}] {event.label}{left}"
    return None


def _cost(event: events.CostEstimated) -> str:
    if not event.runs:
        return "0 runs to make: all are finished"
    runs = counted(event.runs, "run")
    if event.time_s is None:
        return f"{runs} to make; how long they take is unknown: {event.source}"
    energy = "" if event.energy_j is None else f" and {event.energy_j / 1000:.3g} kJ"
    return f"{runs} to make: about {duration_text(event.time_s)}{energy} ({event.source})"


def _print(line: str | None) -> None:
    if line is not None:
        print(line, file=sys.stderr)


@contextmanager
def watcher(is_look: bool = False, is_trial: bool = False) -> Iterator[ProgressLines]:
    """A progress callback for what standard error is; leaves no moving line behind."""
    lines = ProgressLines(sys.stderr.isatty(), is_look, is_trial)
    try:
        yield lines
    finally:
        lines.close()


def _difference(data: DataSet) -> str:
    """That files are not the published ones, where their digests are known."""
    files = load_data_set(data.name).files
    is_other = not (data.verified or data.synthetic) and any(file.sha256 for file in files)
    return " (different from the published files)" if is_other else ""
