"""The power that LINPACK draws: the meters of a run, read while the system is solved."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from suite import bundle
from suite.channels import Channels, of_frame
from suite.energy_figures import NO_SENSOR
from suite.experiments.linpack_record import Power

NANO = 1e-9
OTHER_NODES = "the power of the other nodes is not measured"


class PowerWatch:
    """Reads the power meters of this machine from the program's start to its end, and says what the solving took of it."""

    def __init__(self, directory: Path, nodes: int) -> None:
        self._directory, self._nodes = directory, nodes

    @contextmanager
    def recording(self, pid: int) -> Iterator[None]:
        """Read while the body runs; nobody reads where no meter measures power, or not all nodes' power is within reach."""
        from suite.measure.baseload import baseload_meters
        from suite.measure.meter import Subject
        from suite.measure.recorder import Recorder
        from suite.measure.registry import open_meters

        meters = baseload_meters(open_meters()) if self._nodes == 1 else ()
        if not meters:
            yield
            return
        recorder = Recorder(meters, self._directory)
        recorder.start(Subject(pid, self._directory))
        try:
            yield
        finally:
            recorder.stop()

    def figures(self, gflops: float, window_ns: tuple[int, int]) -> Power:
        """Energy and rate per watt of the window (CLOCK_MONOTONIC), from the readings, which become a table."""
        from suite import tables

        raw = self._directory / bundle.READINGS_RAW
        if self._nodes > 1:
            return Power(None, None, None, None, OTHER_NODES)
        if not raw.is_file():
            return Power(None, None, None, None, NO_SENSOR)
        readings = tables.read_raw_readings(raw)
        tables.write_table(readings, self._directory / bundle.READINGS)
        raw.unlink()
        return power_of(of_frame(readings), window_ns, gflops)


def power_of(channels: Channels, window_ns: tuple[int, int], gflops: float) -> Power:
    """The energy of the window and the rate over its mean power."""
    from suite.measure.total_energy import energy_of

    total = channels.power_total
    if total is None:
        return Power(None, None, None, None, NO_SENSOR)
    energy, time_s = energy_of(channels, total, *window_ns), (window_ns[1] - window_ns[0]) * NANO
    if energy.energy_j is None or energy.energy_j <= 0 or time_s <= 0:
        return Power(None, None, None, total.method, energy.reason or "no energy was read while the system was solved")
    return Power(energy.energy_j, time_s, gflops * time_s / energy.energy_j, total.method, None)
