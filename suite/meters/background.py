"""For meters that have to wait for what they read: the waiting is done in a thread of their own, never in the recorder's."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from reference_impls.contract import NS_PER_S
from suite.meters.meter import Reading
from suite.meters.schedule import Schedule

SILENT_S = 10.0
PATIENCE_S = 3.0


class Background:
    """Calls ``produce`` on every period from :meth:`start` to :meth:`stop`; :meth:`take` hands over what has come since.

    ``produce`` may raise: a plug that is out of reach for a moment only leaves a gap. Once nothing has come for
    ``silent_s``, :meth:`take` raises what was raised last, so that the recorder counts it.
    """

    def __init__(self, name: str, produce: Callable[[], Sequence[Reading]], period_s: float, silent_s: float = SILENT_S) -> None:
        self._name, self._produce, self._period_s, self._silent_s = name, produce, period_s, silent_s
        self._readings: deque[Reading] = deque()
        self._error: Exception | None = None
        self._heard_ns = 0
        self._cost_s = 0.0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def cost_s(self) -> float:
        """CPU time that the thread has used."""
        return self._cost_s

    def start(self) -> None:
        """Begin to produce."""
        self._heard_ns = time.monotonic_ns()
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def take(self) -> list[Reading]:
        """What has come since the last call; raises the last error when the source has been silent for long."""
        taken = [self._readings.popleft() for _ in range(len(self._readings))]
        if not taken and self._error is not None and (time.monotonic_ns() - self._heard_ns) / NS_PER_S > self._silent_s:
            raise self._error
        return taken

    def stop(self) -> None:
        """End the thread; one that does not come back is left behind."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        schedule = Schedule({self._name: self._period_s}, time.monotonic_ns())
        while not self._stopping.wait(max(0, schedule.next()[1] - time.monotonic_ns()) / NS_PER_S):
            try:
                readings = self._produce()
                self._readings.extend(readings)
                self._heard_ns = time.monotonic_ns()
            except Exception as error:  # noqa: BLE001 - whatever the source does, the thread goes on asking it
                self._error = error
            self._cost_s = time.thread_time()
            schedule.taken(self._name, time.monotonic_ns())
