"""Schedules: who may run when. One small interface, so that the loop of a measurement knows none of
them.

==========
====================================================================================================
concurrent both processes run; the kernel decides, by their priorities and CPU sets sequential first
the training alone, for half of the time, while images wait; then the inference alone sliced
they take turns by the clock: one is stopped (SIGSTOP) while the other runs managed    inference
runs between two mini-batches of training, which then waits (Fulcrum's managed interleaving)
==========
====================================================================================================
"""

import enum
import signal

from reference_impls.turns.messages import CONTINUE, PAUSE, PAUSED
from suite.errors import SuiteError
from suite.launch.turns import Child

MS = 1_000_000


class ScheduleKind(str, enum.Enum):
    """The schedules by name."""

    CONCURRENT = "concurrent"
    SEQUENTIAL = "sequential"
    SLICED = "sliced"
    MANAGED = "managed"


class Schedule:
    """Concurrent, and what the others change. Times are ns from the start of the measurement."""

    def begin(self, training: Child, inference: Child) -> None:
        """The measurement begins."""

    def may_send(self, now_ns: int) -> bool:
        """A batch is complete and inference idle: whether it may run now. Asked again whenever
        something has happened, until it may."""
        return True

    def batch_ended(self, is_next_ready: bool) -> None:
        """A batch has ended; ``is_next_ready``: another one is complete."""

    def on_time(self, now_ns: int) -> int | None:
        """Do what is due; returns when to call again, None: never."""
        return None


class Sliced(Schedule):
    """In every period the training runs first, for its share of it, then the inference."""

    def __init__(self, period_ns: int, training_share: float) -> None:
        if not 0 < training_share < 1:
            raise SuiteError(
                f"--share {training_share:g} leaves training or inference no time; use a"
                " value above 0 and below 1, such as 0.5."
            )
        if period_ns < MS:
            raise SuiteError(
                "--slice is shorter than the kernel's own time slices; use 1ms or more."
            )
        self._period_ns, self._training_ns = period_ns, round(period_ns * training_share)
        self._is_training: bool | None = None

    def begin(self, training: Child, inference: Child) -> None:
        """The training's first slice."""
        self._training, self._inference = training, inference
        self.on_time(0)

    def on_time(self, now_ns: int) -> int:
        """Change sides where that is due."""
        periods, within = divmod(now_ns, self._period_ns)
        is_training = within < self._training_ns
        if is_training is not self._is_training:
            stopped, running = (
                (self._inference, self._training)
                if is_training
                else (self._training, self._inference)
            )
            stopped.send_signal(signal.SIGSTOP)
            running.send_signal(signal.SIGCONT)
            self._is_training = is_training
        return periods * self._period_ns + (self._training_ns if is_training else self._period_ns)


class Managed(Schedule):
    """The training is asked to pause when a batch is complete, and continues when no further one
    is."""

    def __init__(self) -> None:
        self._is_asked = self._is_paused = False

    def begin(self, training: Child, inference: Child) -> None:
        """The training runs."""
        self._training = training

    def may_send(self, now_ns: int) -> bool:
        """True once the training has ended its mini-batch."""
        if not self._is_asked:
            self._training.command(PAUSE)
            self._is_asked = True
        if not self._is_paused:
            self._is_paused = PAUSED in self._training.answers()
        return self._is_paused

    def batch_ended(self, is_next_ready: bool) -> None:
        """The training continues unless another batch is complete."""
        if self._is_paused and not is_next_ready:
            self._training.command(CONTINUE)
            self._is_asked = self._is_paused = False


def make(kind: ScheduleKind, window_ns: int, slice_ns: int, training_share: float) -> Schedule:
    """The schedule of this name."""
    if kind is ScheduleKind.SLICED:
        return Sliced(slice_ns, training_share)
    if kind is ScheduleKind.SEQUENTIAL:
        # the second half of the period is never reached but for what is left in the queue
        return Sliced(2 * window_ns, 0.25)
    return Managed() if kind is ScheduleKind.MANAGED else Schedule()
