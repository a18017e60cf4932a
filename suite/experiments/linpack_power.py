"""LINPACK's power: the run's meters, read while the system is solved."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle import frames, layout
from suite.bundle.channels import Channels, channels_of_frame
from suite.catalog.power import load_power_rules
from suite.execution.baseload import baseload_meters
from suite.execution.recorder import Recorder
from suite.meters.meter import MeteredProcess
from suite.meters.registry import open_meters
from suite.metrics.energy_figures import NO_SENSOR, window_energy
from suite.metrics.linpack import Power
from suite.metrics.power import describe_totals, power_totals

OTHER_NODES = "the power of the other nodes is not measured"


class PowerRecording:
    """Records this machine's power meters while the program runs, and computes the energy of solving."""

    def __init__(self, directory: Path, nodes: int) -> None:
        self._directory, self._nodes = directory, nodes

    @contextmanager
    def recording(self, pid: int) -> Iterator[None]:
        """Record while the body runs. Does nothing without a power meter, or on several nodes."""
        meters = baseload_meters(open_meters()) if self._nodes == 1 else ()
        if not meters:
            yield
            return
        recorder = Recorder(meters, self._directory)
        recorder.start(MeteredProcess(pid, self._directory))
        try:
            yield
        finally:
            recorder.stop()

    def figures(self, gflops: float, window_ns: tuple[int, int]) -> Power:
        """Energy and GFLOPS per watt in the window (CLOCK_MONOTONIC, ns). Converts the raw readings to a table."""
        raw = self._directory / layout.READINGS_RAW
        if self._nodes > 1:
            return Power(None, None, None, None, OTHER_NODES)
        if not raw.is_file():
            return Power(None, None, None, None, NO_SENSOR)
        readings = frames.read_raw_readings(raw)
        frames.write_table(readings, self._directory / layout.READINGS)
        raw.unlink()
        return power_of(channels_of_frame(readings), window_ns, gflops)


def power_of(channels: Channels, window_ns: tuple[int, int], gflops: float) -> Power:
    """Energy in the window, and the rate divided by its mean power."""
    chosen = power_totals(channels, load_power_rules(), window_ns)
    energy, time_s = window_energy(channels, chosen, *window_ns), (window_ns[1] - window_ns[0]) * SECONDS_PER_NS
    if energy is None:
        return Power(None, None, None, None, NO_SENSOR)
    if energy.energy_j is None or energy.energy_j <= 0 or time_s <= 0:
        return Power(None, None, None, describe_totals(chosen), energy.reason or "no energy was measured while the system was solved")
    interval_j = energy.interval_j or (None, None)
    return Power(energy.energy_j, time_s, gflops * time_s / energy.energy_j, describe_totals(chosen), None, *interval_j)
