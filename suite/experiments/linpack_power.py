"""LINPACK's power: the run's meters, read while the system is solved."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from suite.bundle import frames, layout
from suite.bundle.arrays import span_s
from suite.bundle.channels import Channels
from suite.bundle.readings_table import channels_of_frame
from suite.catalog.power import load_power_rules, power_sources
from suite.execution.baseload import baseload_meters
from suite.execution.node_recorder import ATTACHED, STOP
from suite.execution.recorder import Recorder, recording
from suite.execution.remote_recorder import (
    START_TIMEOUT_S,
    STOP_TIMEOUT_S,
    RemoteRecorder,
    wait_for,
)
from suite.launch.placement import Placement
from suite.meters.meter import MeteredProcess
from suite.meters.registry import meter_classes, open_meters
from suite.metrics.energy_figures import NO_SENSOR, window_energy
from suite.metrics.linpack_record import LinpackPower
from suite.metrics.power_totals import describe_totals, power_totals

NO_PROCESS = 1
"""Power meters are attached to no process; a recorder on another node is told the first one."""


class PowerRecording:
    """Records the power meters of all nodes while the program runs, and computes the energy of
    solving.

    The readings of a host but the first are on its own clock. One that cannot be measured has none,
    and a sentence in ``_problems``, by its place in the hostfile.
    """

    def __init__(self, directory: Path, placement: Placement) -> None:
        self._directory, self._placement = directory, placement
        self._recorders: dict[int, RemoteRecorder] = {}
        self._ahead_ns: dict[int, int | None] = {}
        self._problems: dict[int, str] = {}

    @contextmanager
    def recording(self, pid: int) -> Iterator[None]:
        """Record while the body runs, which calls :meth:`tick` at least every five seconds. This
        node's meters are read where one measures power."""
        meters = baseload_meters(open_meters())
        with self._recording_elsewhere(), ExitStack() as stack:
            if meters:
                process = MeteredProcess(pid, self._directory)
                stack.enter_context(recording(Recorder(meters, self._directory), process))
            yield

    @contextmanager
    def _recording_elsewhere(self) -> Iterator[None]:
        power = power_sources(load_power_rules())
        settings = {
            "data": str(self._directory),
            "files": (),
            "page_cache": "warm",
            "device": "generic",
            "with_identity": False,
            "peer": None,
            "baseload_s": 0,
            "silence_s": self._placement.silence_s,
            "left_out": [meter.name for meter in meter_classes() if meter.name not in power],
        }
        where = (self._directory, self._placement.agent, (Path(sys.executable),))
        for place, host in enumerate(self._placement.hosts[1:], start=1):
            recorder = RemoteRecorder(host, place, *where, settings, goes_on=True)
            recorder.facts["page_cache"] = {}  # readings follow at once
            self._recorders[place] = recorder
        try:
            self._wait_for(ATTACHED, START_TIMEOUT_S)
            self._ahead_ns = {
                place: each.clock_offset_ns() for place, each in self._recorders.items()
            }
            yield
            for recorder in self._recorders.values():
                recorder.send(STOP)
            self._wait_for("meters", STOP_TIMEOUT_S)
        finally:
            for place, recorder in self._recorders.items():
                if recorder.problem is not None:
                    self._problems[place] = f"{recorder.host}: {recorder.problem}"
                recorder.disconnect()

    def _wait_for(self, fact: str, timeout_s: float) -> None:
        problem = f"its recorder did not answer within {timeout_s:g} s"
        wait_for(fact, self._recorders.values(), timeout_s, problem, self.tick)

    def tick(self) -> None:
        """Exchange messages with the other nodes."""
        for recorder in self._recorders.values():
            recorder.tick(NO_PROCESS)

    def figures(self, gflops: float, window_ns: tuple[int, int]) -> LinpackPower:
        """Energy of all nodes and GFLOPS per watt in the window (this node's CLOCK_MONOTONIC, ns).
        Converts the raw readings to tables."""
        each = [self._power_from(layout.READINGS_RAW, layout.READINGS, window_ns, gflops)]
        for place in range(1, self._placement.nodes):
            table, raw = layout.node_tables(place)
            ahead_ns, problem = self._ahead_ns.get(place), self._problems.get(place)
            if problem is not None or ahead_ns is None:
                each.append(unknown_power(problem or "the offset of its clock is unknown"))
            else:
                there_ns = (window_ns[0] + ahead_ns, window_ns[1] + ahead_ns)
                each.append(self._power_from(raw, table, there_ns, gflops))
        return power_of_nodes(each, self._placement.hosts, gflops)

    def _power_from(
        self, raw_name: str, name: str, window_ns: tuple[int, int], gflops: float
    ) -> LinpackPower:
        raw = self._directory / raw_name
        if not raw.is_file():
            return unknown_power(NO_SENSOR)
        readings = frames.read_raw_readings(raw)
        frames.write_table(readings, self._directory / name)
        raw.unlink()
        return power_of(channels_of_frame(readings), window_ns, gflops)


def unknown_power(reason: str) -> LinpackPower:
    """The power of a run of LINPACK that nothing measured."""
    return LinpackPower(None, None, None, None, reason)


def power_of_nodes(
    each: Sequence[LinpackPower], hosts: Sequence[str], gflops: float
) -> LinpackPower:
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
        return unknown_power("; ".join(missing)[:500])
    methods = tuple(dict.fromkeys(str(power.method) for power in each))
    if len(methods) > 1:
        return unknown_power(f"the nodes' sensors differ: {'; '.join(methods)}"[:500])
    energy_j, time_s = sum(power.energy_j or 0.0 for power in each), each[0].time_s
    lows, highs = [power.low_j for power in each], [power.high_j for power in each]
    low_j, high_j = (
        None if None in ends else sum(end or 0.0 for end in ends) for ends in (lows, highs)
    )
    rate = None if time_s is None else gflops * time_s / energy_j
    return LinpackPower(
        energy_j, time_s, rate, f"sum of {len(each)} nodes, each {methods[0]}", None, low_j, high_j
    )


def power_of(channels: Channels, window_ns: tuple[int, int], gflops: float) -> LinpackPower:
    """Energy in the window, and the rate divided by its mean power."""
    chosen = power_totals(channels, load_power_rules(), window_ns)
    energy, time_s = (
        window_energy(channels, chosen, *window_ns),
        span_s(window_ns),
    )
    if energy is None:
        return unknown_power(NO_SENSOR)
    if energy.energy_j is None or energy.energy_j <= 0 or time_s <= 0:
        return LinpackPower(
            None,
            None,
            None,
            describe_totals(chosen),
            energy.reason or "no energy was measured while LINPACK solved its equations",
        )
    interval_j = energy.interval_j or (None, None)
    return LinpackPower(
        energy.energy_j,
        time_s,
        gflops * time_s / energy.energy_j,
        describe_totals(chosen),
        None,
        *interval_j,
    )
