"""Power meters of other nodes while a program runs there that is no training: LINPACK."""

import json
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from suite.bundle.layout import node_baseloads, node_tables
from suite.catalog.power import load_power_rules, power_sources
from suite.execution.node_recorder import ATTACHED, STOP
from suite.execution.remote_recorders import POLL_S, RemoteRecorder
from suite.launch.placement import Placement
from suite.launch.remote_shell import module_script, remote_command
from suite.meters.registry import meter_classes

START_TIMEOUT_S, STOP_TIMEOUT_S = 60.0, 5.0
NO_PROCESS = 1
"""Power meters are attached to no process; the recorder is told the first one."""


class RemotePower:
    """Reads the power meters of every host but the first into ``readings.node<k>.csv`` in
    ``directory``, on that node's clock.

    A node that cannot be measured has no readings and a sentence in ``problems``, by its place in
    the hostfile. ``offsets_ns`` is how far a node's clock is ahead of this one's.
    """

    def __init__(self, placement: Placement, directory: Path) -> None:
        self.problems: dict[int, str] = {}
        self.offsets_ns: dict[int, int] = {}
        self._placement, self._directory = placement, directory
        self._recorders: dict[int, RemoteRecorder] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record while the body runs; call :meth:`tick` in it, at least every five seconds."""
        for place, host in enumerate(self._placement.hosts[1:], start=1):
            command = self._command(host)
            tables = (self._directory / names(place)[1] for names in (node_baseloads, node_tables))
            self._recorders[place] = RemoteRecorder(command, command, *tables)
            self._recorders[place].facts["page_cache"] = {}  # readings follow at once
        try:
            self._await(ATTACHED, START_TIMEOUT_S)
            for place, recorder in self._recorders.items():
                offset_ns = recorder.clock_offset_ns()
                if offset_ns is not None:
                    self.offsets_ns[place] = offset_ns
            yield
            for recorder in self._recorders.values():
                recorder.send(STOP)
            self._await("meters", STOP_TIMEOUT_S)
        finally:
            for place, recorder in self._recorders.items():
                if recorder.problem is not None:
                    self.problems[place] = f"{self._placement.hosts[place]}: {recorder.problem}"
                recorder.disconnect()

    def tick(self) -> None:
        """Send heartbeats and receive readings."""
        for recorder in self._recorders.values():
            recorder.tick(NO_PROCESS)

    def _await(self, key: str, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        while pending := [
            each
            for each in self._recorders.values()
            if each.problem is None and key not in each.facts
        ]:
            if time.monotonic() > deadline_s:
                for recorder in pending:
                    recorder.fail(f"its recorder did not answer within {timeout_s:g} s")
                return
            select.select([each.output for each in pending], [], [], POLL_S)
            self.tick()

    def _command(self, host: str) -> list[str]:
        power = power_sources(load_power_rules())
        settings = {
            "data": str(self._directory),
            "page_cache": "warm",
            "device": "generic",
            "with_identity": False,
            "peer": None,
            "baseload_s": 0,
            "goes_on": True,
            "silence_s": self._placement.silence_s,
            "left_out": [meter.name for meter in meter_classes() if meter.name not in power],
        }
        script = module_script(
            (Path(sys.executable),), "suite.execution.node_recorder", json.dumps(settings)
        )
        return remote_command(host, self._placement.agent, script)
