"""The mean power of a trial of `suite concurrent tune`, by this machine's power meters."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from suite.errors import SuiteError
from suite.execution.baseload import baseload_meters
from suite.experiments.linpack_power import PowerRecording
from suite.launch.placement import Placement
from suite.meters.registry import open_meters


def refuse_without_meter(option: str) -> None:
    """Raise SuiteError where nothing measures power, which ``option`` needs."""
    if not baseload_meters(open_meters()):
        raise SuiteError(
            f"{option} needs a power meter, and there is none here. Connect one (`suite doctor`"
            f" says how), or leave out {option}."
        )


class TrialPower:
    """Records the power meters while a trial runs, into its folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._recording = PowerRecording(folder, Placement())

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record while the body runs."""
        with self._recording.recording(os.getpid()):
            yield

    def mean_w(self, window_ns: tuple[int, int]) -> float | None:
        """Mean power in a window of the monotonic clock, W; None where it is unknown."""
        power = self._recording.figures(1.0, window_ns)
        return None if power.energy_j is None or not power.time_s else power.energy_j / power.time_s
