"""A background thread for meters that have to wait for their source; the recorder's thread never
waits."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reference_impls.contract import NS_PER_S
from suite.meters.meter import MeteredProcess, Moments, Reading, readings_of
from suite.meters.schedule import ReadingSchedule

SOURCE_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 3.0


class Background:
    """Calls ``produce`` once a period from :meth:`start` to :meth:`stop`; :meth:`take` returns the
    readings since its last call.

    With ``at_random`` it is called at a random moment of each period
    (:class:`suite.meters.schedule.ReadingSchedule`).

    ``produce`` may raise: a plug that cannot be reached for a moment only leaves a gap. After
    SOURCE_TIMEOUT_S without a reading, :meth:`take` raises the last exception, so that the
    recorder counts a failure.
    """

    def __init__(
        self,
        name: str,
        produce: Callable[[], Sequence[Reading]],
        period_s: float,
        *,
        at_random: bool = False,
    ) -> None:
        self._name, self._produce, self._period_s = name, produce, period_s
        self._source_timeout_s = SOURCE_TIMEOUT_S
        self._at_random = (name,) if at_random else ()
        self._readings: deque[Reading] = deque()
        self._error: Exception | None = None
        self._last_ns = 0
        self._cost_s = 0.0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def cost_s(self) -> float:
        """CPU time of the thread, s."""
        return self._cost_s

    def start(self) -> None:
        """Start the thread."""
        self._last_ns = time.monotonic_ns()
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def take(self) -> list[Reading]:
        """The readings since the last call; raises the last exception after SOURCE_TIMEOUT_S
        without one."""
        taken = [self._readings.popleft() for _ in range(len(self._readings))]
        if (
            not taken
            and self._error is not None
            and (time.monotonic_ns() - self._last_ns) / NS_PER_S > self._source_timeout_s
        ):
            raise self._error
        return taken

    def stop(self) -> None:
        """Stop the thread; after three seconds it is abandoned."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        schedule = ReadingSchedule(
            {self._name: self._period_s}, time.monotonic_ns(), self._at_random
        )
        while not self._stopping.wait(
            max(0, schedule.next_due()[1] - time.monotonic_ns()) / NS_PER_S
        ):
            try:
                readings = self._produce()
                self._readings.extend(readings)
                self._last_ns = time.monotonic_ns()
            except Exception as error:  # noqa: BLE001 - the thread keeps trying, whatever the source raises
                self._error = error
            self._cost_s = time.thread_time()
            schedule.mark_read(self._name, time.monotonic_ns())


class BackgroundMeter:
    """What meters that wait for their source have in common: they :meth:`measure` in a background
    thread. A reading's time is the middle of that."""

    name: str
    period_s: float
    moments = Moments.FIXED

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        at_random = self.moments is Moments.RANDOM
        self._background = Background(self.name, self._produce, self.period_s, at_random=at_random)

    def measure(self) -> Mapping[str, tuple[float, str]]:
        """Value and unit by channel; may wait, and raise."""
        raise NotImplementedError

    def open(self, process: MeteredProcess) -> None:
        """Start the background thread."""
        self._background.start()

    def read(self) -> list[Reading]:
        """The readings since the last call."""
        return self._background.take()

    def close(self) -> None:
        """Stop the background thread."""
        self._background.stop()

    def helper_cost_s(self) -> float:
        """CPU time of the background thread."""
        return self._background.cost_s

    def _produce(self) -> list[Reading]:
        before_ns = time.monotonic_ns()
        values = self.measure()
        return readings_of(self.name, (before_ns + time.monotonic_ns()) // 2, values)
