"""Reads the meters of a node that the harness is not on: ``python -m suite.execution.node_recorder QUESTION``, started there through SSH.

``QUESTION`` is JSON: ``data`` (a folder), ``page_cache`` (cold or warm), ``device`` (a profile's name), ``peer`` (another host) and
``baseload_s`` (for how long the idle node is measured, 0: it is not). It needs no package that a framework's environment lacks. What it says, line
by line on standard output:

1. what the node is: ``{"node", "link", "system"}``,
2. where power can be read, what was read for ``baseload_s``, as in baseload.csv,
3. ``{"page_cache"}``, once that is as asked,
4. after ``record PID`` was heard, readings as in readings.csv, once a second,
5. after ``end`` was heard, the last readings and ``{"meters"}``.

It ends, with all that it began, when standard input is closed or silent for ten seconds: the harness is gone, or the network cut.
"""

import json
import os
import select
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reference_impls.node import link_towards
from reference_impls.rank import SILENCE_S
from suite.bundle.layout import BASELOAD_RAW, READINGS_RAW
from suite.execution.baseload import baseload_meters, recorded_baseload
from suite.execution.recorder import FLUSH_S, Recorder
from suite.machine import system
from suite.machine.page_cache import prepare_page_cache
from suite.machine.process_tree import parent_of
from suite.meters.meter import MeteredProcess
from suite.meters.registry import open_meters

BEAT, RECORD, END = "beat", "record", "end"
"""The harness's words; ``beat`` says no more than that it lives."""


def main() -> int:
    """Answer and record until the harness says that the run has ended, or is gone."""
    asked = json.loads(sys.argv[1])
    data = Path(asked["data"])
    try:
        _say({"node": os.uname().nodename, "link": link_towards(asked["peer"]), "system": _machine(asked["device"], data)})
        with tempfile.TemporaryDirectory() as folder:
            _measure_baseload(Path(folder), asked["baseload_s"])
            _say({"page_cache": asdict(prepare_page_cache(data, asked["page_cache"]))})
            return _converse(Path(folder), data)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more as it ends
        return 1


def _machine(device: str, data: Path) -> dict[str, Any]:
    """The description without what it says of the framework, which is the same on every node."""
    described = asdict(system.describe(device, "", None, {}, data))
    of_framework = ("framework", "framework_version", "libraries")
    notes = {name: note for name, note in described.pop("notes").items() if name not in of_framework}
    return {**{name: value for name, value in described.items() if name not in of_framework}, "notes": notes}


def _measure_baseload(folder: Path, seconds: float) -> None:
    """Where power can be read, read it while nothing runs, for as long as the harness is there."""
    meters, stop_s = baseload_meters(open_meters()) if seconds else (), time.monotonic() + seconds
    if meters:
        with recorded_baseload(meters, folder):
            for _ in _heard():
                if time.monotonic() >= stop_s:
                    break
        _pass_on(folder / BASELOAD_RAW, 0)


def _converse(folder: Path, data: Path) -> int:
    """Begin, pass on and end as the harness says; 0 once it has heard everything."""
    recorder, passed = Recorder(open_meters(), folder), 0
    for words in _heard():
        if words[:1] == [RECORD]:
            recorder.start(MeteredProcess(parent_of(Path("/"), int(words[1])) or int(words[1]), data))
        passed += _pass_on(folder / READINGS_RAW, passed)
        if words == [END]:
            meters = recorder.stop()
            _pass_on(folder / READINGS_RAW, passed)
            _say({"meters": [asdict(meter) for meter in meters]})
            return 0
    recorder.stop()
    return 1


def _heard() -> Iterator[list[str]]:
    """The harness's lines, word by word, and an empty one whenever a second has passed; ends when the harness is gone or silent."""
    heard_s, rest = time.monotonic(), b""
    while time.monotonic() - heard_s < SILENCE_S:
        if not select.select([0], [], [], FLUSH_S)[0]:
            yield []
            continue
        piece = os.read(0, 4096)
        if not piece:
            return
        heard_s = time.monotonic()
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.decode().split()


def _pass_on(path: Path, passed: int) -> int:
    """Say what the recorder has written since; returns how many bytes that were. It writes whole lines."""
    try:
        with path.open("rb") as stream:
            stream.seek(passed)
            new = stream.read()
    except FileNotFoundError:
        return 0
    whole = new[: new.rfind(b"\n") + 1]
    sys.stdout.buffer.write(whole)
    sys.stdout.buffer.flush()
    return len(whole)


def _say(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
