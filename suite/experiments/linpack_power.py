"""LINPACK's power: the run's meters, read while the system is solved."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle import frames, layout
from suite.bundle.channels import Channels, channels_of_frame
from suite.bundle.layout import node_tables
from suite.catalog.power import load_power_rules
from suite.execution.baseload import baseload_meters
from suite.execution.recorder import Recorder
from suite.execution.remote_power import RemotePower
from suite.launch.placement import Placement
from suite.meters.meter import MeteredProcess
from suite.meters.registry import open_meters
from suite.metrics.energy_figures import NO_SENSOR, window_energy
from suite.metrics.linpack import Power
from suite.metrics.power import describe_totals, power_totals


class PowerRecording:
    """Records the power meters of all nodes while the program runs, and computes the energy of
    solving."""

    def __init__(self, directory: Path, placement: Placement) -> None:
        self._directory, self._placement = directory, placement
        self._remote = RemotePower(placement, directory)

    @contextmanager
    def recording(self, pid: int) -> Iterator[None]:
        """Record while the body runs, which calls :meth:`tick`. This node's meters are read where
        one measures power."""
        meters = baseload_meters(open_meters())
        with self._remote.recording():
            if not meters:
                yield
                return
            recorder = Recorder(meters, self._directory)
            recorder.start(MeteredProcess(pid, self._directory))
            try:
                yield
            finally:
                recorder.stop()

    def tick(self) -> None:
        """Exchange messages with the other nodes."""
        self._remote.tick()

    def figures(self, gflops: float, window_ns: tuple[int, int]) -> Power:
        """Energy of all nodes and GFLOPS per watt in the window (this node's CLOCK_MONOTONIC, ns).
        Converts the raw readings to tables."""
        each = [self._of_table(layout.READINGS_RAW, layout.READINGS, window_ns, gflops)]
        for place in range(1, self._placement.nodes):
            table, raw = node_tables(place)
            ahead_ns = self._remote.offsets_ns.get(place)
            if place in self._remote.problems or ahead_ns is None:
                each.append(
                    Power(
                        None,
                        None,
                        None,
                        None,
                        self._remote.problems.get(place, "the offset of its clock is unknown"),
                    )
                )
            else:
                each.append(
                    self._of_table(
                        raw, table, (window_ns[0] + ahead_ns, window_ns[1] + ahead_ns), gflops
                    )
                )
        return power_of_nodes(each, self._placement.hosts, gflops)

    def _of_table(
        self, raw_name: str, name: str, window_ns: tuple[int, int], gflops: float
    ) -> Power:
        raw = self._directory / raw_name
        if not raw.is_file():
            return Power(None, None, None, None, NO_SENSOR)
        readings = frames.read_raw_readings(raw)
        frames.write_table(readings, self._directory / name)
        raw.unlink()
        return power_of(channels_of_frame(readings), window_ns, gflops)


def power_of_nodes(each: Sequence[Power], hosts: Sequence[str], gflops: float) -> Power:
    """The sum over the nodes; unknown, with the nodes' names and reasons, where a node's energy is
    unknown or the sensors cover different things."""
    if len(each) == 1:
        return each[0]
    missing = [
        f"{host}: {power.reason}"
        for host, power in zip(hosts, each, strict=True)
        if power.energy_j is None
    ]
    if missing:
        return Power(None, None, None, None, "; ".join(missing)[:500])
    methods = tuple(dict.fromkeys(str(power.method) for power in each))
    if len(methods) > 1:
        return Power(
            None, None, None, None, f"the nodes' sensors differ: {'; '.join(methods)}"[:500]
        )
    energy_j, time_s = sum(power.energy_j or 0.0 for power in each), each[0].time_s
    lows, highs = [power.low_j for power in each], [power.high_j for power in each]
    low_j, high_j = (
        None if None in ends else sum(end or 0.0 for end in ends) for ends in (lows, highs)
    )
    rate = None if time_s is None else gflops * time_s / energy_j
    return Power(
        energy_j, time_s, rate, f"sum of {len(each)} nodes, each {methods[0]}", None, low_j, high_j
    )


def power_of(channels: Channels, window_ns: tuple[int, int], gflops: float) -> Power:
    """Energy in the window, and the rate divided by its mean power."""
    chosen = power_totals(channels, load_power_rules(), window_ns)
    energy, time_s = (
        window_energy(channels, chosen, *window_ns),
        (window_ns[1] - window_ns[0]) * SECONDS_PER_NS,
    )
    if energy is None:
        return Power(None, None, None, None, NO_SENSOR)
    if energy.energy_j is None or energy.energy_j <= 0 or time_s <= 0:
        return Power(
            None,
            None,
            None,
            describe_totals(chosen),
            energy.reason or "no energy was measured while the system was solved",
        )
    interval_j = energy.interval_j or (None, None)
    return Power(
        energy.energy_j,
        time_s,
        gflops * time_s / energy.energy_j,
        describe_totals(chosen),
        None,
        *interval_j,
    )
