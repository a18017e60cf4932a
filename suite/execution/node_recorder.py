"""Records the meters of a remote node: ``python -m suite.execution.node_recorder SETTINGS``,
started there over SSH.

``SETTINGS`` is JSON: ``data`` (a folder), ``files`` (the data set's there; none listed: all),
``page_cache`` (cold or warm), ``device`` (a profile's name), ``with_identity`` (whether to describe
the board with its digest), ``left_out`` (names of the meters that are not read), ``peer`` (another
host), ``baseload_s`` (how long the idle node is measured; 0: not at all), ``silence_s`` (for how
long the harness may be silent) and ``goes_on`` (a recorder that replaces a lost one: it prepares
nothing, and reads no counter that begins at nought).
It needs no package that a framework's environment lacks. It writes to standard output, line by
line:

1. the node's description: ``{"machine", "link", "system"}``,
2. where power can be read, the readings of ``baseload_s``, as in baseload.csv,
3. ``{"page_cache"}``, once it is emptied or filled,
4. after it received ``record PID``, ``{"attached": true}``, once the meters are attached to the
   ranks, which wait for it; then readings as in readings.csv, once a second,
5. after it received ``running PID``, ``{"running": {PID: …}}``: whether that process exists; after
   ``clock``, ``{"clock"}``: its monotonic clock, ns,
6. after it received ``stop``, the last readings and ``{"meters", "memory_kills"}``; the latter
   counts the processes that the kernel killed for lack of memory meanwhile (null: unknown).

It exits, with everything that it started, when standard input closes or brings nothing for
``silence_s``, or before ``record`` for PREPARING_S: the harness is gone, or the network is cut.
"""

import json
import os
import select
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from reference_impls.machine_identity import machine_identity
from reference_impls.node import link_towards
from suite.bundle.layout import BASELOAD_RAW, READINGS_RAW
from suite.execution.baseload import baseload_meters, recorded_baseload
from suite.execution.recorder import FLUSH_S, Recorder
from suite.execution.run_records import local_redactor, without_names
from suite.files.appended import lines_after
from suite.files.redaction import DATA
from suite.machine import system
from suite.machine.page_cache import prepare_page_cache
from suite.machine.process_tree import is_running, parent_of
from suite.machine.procfs import kills_for_memory, kills_since
from suite.meters.meter import Meter, MeteredProcess, opens_first
from suite.meters.registry import chosen_meters

CLOCK, HEARTBEAT, RECORD, RUNNING, STOP = "clock", "heartbeat", "record", "running", "stop"
"""The harness's messages; a heartbeat only shows that the harness is alive."""

ATTACHED = "attached"

PREPARING_S = 900.0
"""For how long the harness may be silent while it prepares its own node and asks a witness."""


def main() -> int:
    """Record until the harness sends ``stop`` (exit code 0) or is gone (1)."""
    settings = json.loads(sys.argv[1])
    data, silence_s, goes_on = Path(settings["data"]), settings["silence_s"], settings["goes_on"]
    # new ones each time: a meter that was closed is not opened again
    meters = partial(chosen_meters, settings["left_out"])
    try:
        if not goes_on:
            described = {"link": link_towards(settings["peer"]), "system": _machine(settings, data)}
            _send({"machine": machine_identity(), **described})
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if not goes_on:
                if settings["baseload_s"]:
                    _measure_baseload(folder, meters(), settings["baseload_s"], silence_s)
                cache = prepare_page_cache(data, settings["page_cache"], settings["files"])
                _send({"page_cache": asdict(cache)})
            chosen = [meter for meter in meters() if not (goes_on and opens_first(meter))]
            return _record(folder, chosen, settings)
    except BrokenPipeError:
        # Python would report the closed pipe once more as it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _machine(settings: dict[str, Any], data: Path) -> Any:
    """The system description without the framework's fields, which are the same on every node."""
    described = asdict(
        system.describe_system(
            settings["device"], system.Software(), data, with_identity=settings["with_identity"]
        )
    )
    for name in ("framework", "framework_version", "libraries"):
        del described[name]
        described["notes"].pop(name, None)
    # this node's names: the harness knows its own
    return without_names(described, local_redactor([(data, f"{DATA}/{data.name}")]))


def _measure_baseload(
    folder: Path, all_meters: Sequence[Meter], seconds: float, silence_s: float
) -> None:
    """Where power can be read, record the idle node; ends early when the harness is gone."""
    meters, stop_s = baseload_meters(all_meters), time.monotonic() + seconds
    if meters:
        with recorded_baseload(meters, folder):
            for _ in _messages(silence_s):
                if time.monotonic() >= stop_s:
                    break
        _forward(folder / BASELOAD_RAW, 0)


def _record(folder: Path, meters: Sequence[Meter], settings: dict[str, Any]) -> int:
    """Start, forward and stop as the harness's messages say; 0 after ``stop``, 1 when the harness
    is gone."""
    recorder, position, kills = Recorder(meters, folder), 0, kills_for_memory()
    data = Path(settings["data"]), settings["files"]
    for message in _messages(settings["silence_s"]):
        if message[:1] == [RECORD]:
            pid = int(message[1])
            recorder.start(MeteredProcess(parent_of(Path("/"), pid) or pid, *data))
            recorder.wait_until_attached()
            _send({ATTACHED: True})
        position = _forward(folder / READINGS_RAW, position)
        if message[:1] == [RUNNING]:
            _send({RUNNING: {message[1]: is_running(Path("/"), int(message[1]))}})
        if message == [CLOCK]:
            _send({CLOCK: time.monotonic_ns()})
        if message == [STOP]:
            records = recorder.stop()
            _forward(folder / READINGS_RAW, position)
            _send(
                {
                    "meters": without_names([asdict(meter) for meter in records], local_redactor()),
                    "memory_kills": kills_since(kills),
                }
            )
            return 0
    recorder.stop()
    return 1


def _messages(silence_s: float) -> Iterator[list[str]]:
    """The harness's lines, split into words, and an empty list after every second without one; ends
    when the harness is gone, or silent for PREPARING_S, after ``record`` for ``silence_s``."""
    received_s, rest, limit_s = time.monotonic(), b"", max(PREPARING_S, silence_s)
    while time.monotonic() - received_s < limit_s:
        if not select.select([0], [], [], FLUSH_S)[0]:
            yield []
            continue
        piece = os.read(0, 4096)
        if not piece:
            return
        received_s = time.monotonic()
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            message = line.decode().split()
            limit_s = silence_s if message[:1] == [RECORD] else limit_s
            yield message


def _forward(path: Path, position: int) -> int:
    """Send the complete lines after a position of a file; returns the next position."""
    whole, position = lines_after(path, position)
    sys.stdout.buffer.write(whole)
    sys.stdout.buffer.flush()
    return position


def _send(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
