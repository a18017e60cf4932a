"""Edges of phases are noticed as the implementation writes them, without its help."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reference_impls.contract import (
    LogWriter,
    RecordFile,
    StepRecord,
    StepWriter,
    log_name,
    steps_name,
)
from suite.execution import edge_watch
from suite.execution.edge_watch import EVENT, IN_MODIFY, EdgeWatch, _modified_files
from suite.execution.recorder import Recorder
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading


class Edges:
    """Counts the edges; each can be waited for."""

    def __init__(self) -> None:
        self.times_s: list[float] = []
        self._event = threading.Event()

    def __call__(self) -> None:
        self.times_s.append(time.monotonic())
        self._event.set()

    def wait(self) -> None:
        assert self._event.wait(120)
        self._event.clear()


@pytest.fixture
def watched(tmp_path: Path) -> Any:
    edges = Edges()
    watch = EdgeWatch(tmp_path, edges)
    watch.start()
    yield (
        edges,
        LogWriter(RecordFile(str(tmp_path / log_name(0)))),
        StepWriter(RecordFile(str(tmp_path / steps_name(0)))),
    )
    watch.stop()


def test_the_beginning_and_end_of_every_phase_is_an_edge(watched: Any) -> None:
    edges, log, _ = watched
    edges.wait()  # the columns of the step records
    for phase in ("init", "run", "epoch", "eval"):
        log.start(f"{phase}_start")
        edges.wait()
        log.stop(f"{phase}_stop")
        edges.wait()


def test_other_lines_of_the_log_are_none(watched: Any) -> None:
    edges, log, _ = watched
    edges.wait()
    for number in range(100):
        log.point("seed", number)
    log.start("epoch_start")
    edges.wait()
    assert len(edges.times_s) == 2


def test_an_epochs_end_is_noticed_before_its_records_are_written(
    watched: Any, eventually: Callable[[Callable[[], Any]], Any]
) -> None:
    edges, log, steps = watched
    edges.wait()
    log.start("epoch_start")
    edges.wait()
    records = [StepRecord(1, step, 0, 64, step, 0.1, 0.2, 0.3, 0.0, 2.3) for step in range(100_000)]
    began_s = time.monotonic()
    steps.write(records)
    written_s = time.monotonic()
    edges.wait()
    assert began_s <= edges.times_s[2] < written_s


class Counter:
    """A meter that is read at edges, whose readings can be waited for."""

    name, period_s, description, at_edges = "counter", 3600.0, "scripted", True

    def __init__(self) -> None:
        self.readings = 0

    def availability(self) -> MeterAvailability:
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Nothing to open."""

    def read(self) -> list[Reading]:
        self.readings += 1
        return [Reading(time.monotonic_ns(), self.name, "events", float(self.readings), "events")]

    def close(self) -> None:
        """Nothing to close."""


class Other(Counter):
    name, at_edges = "other", False


def test_the_recorder_reads_counters_at_edges_and_no_other_meter(
    tmp_path: Path, eventually: Callable[[Callable[[], Any]], Any]
) -> None:
    counter, other = Counter(), Other()
    recorder = Recorder((counter, other), tmp_path)
    recorder.start(MeteredProcess(1, tmp_path))
    eventually(lambda: counter.readings == other.readings == 1)
    log = LogWriter(RecordFile(str(tmp_path / log_name(0))))
    for readings in (2, 3, 4):
        log.start("epoch_start")
        eventually(lambda readings=readings: counter.readings == readings)
    records = {record.name: record for record in recorder.stop()}
    assert (counter.readings, other.readings) == (5, 2)  # both once more at the end
    assert records["counter"].readings == 5


def event(name: str) -> bytes:
    padded = name.encode().ljust(16, b"\0")
    return EVENT.pack(1, IN_MODIFY, 0, len(padded)) + padded


def test_the_names_of_all_events_are_read() -> None:
    of_folder = EVENT.pack(1, IN_MODIFY, 0, 0)
    names = list(_modified_files(event("log.txt") + of_folder + event("steps.csv")))
    assert names == ["log.txt", "", "steps.csv"]


def test_an_edge_is_told_once_and_one_of_the_steps_after_a_fiftieth_of_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_watch, "time", SimpleNamespace(monotonic=lambda: now_s))
    watch, log, now_s = EdgeWatch(tmp_path, lambda: None), tmp_path / log_name(0), 0.02
    assert not watch._is_edge({log.name}), "it is not there yet"
    log.write_text('"key": "epoch_start"\n')
    assert watch._is_edge({log.name}) and not watch._is_edge({log.name})
    assert not watch._is_edge({steps_name(0)})
    now_s = 0.021
    assert watch._is_edge({log.name, steps_name(0)}) and not watch._is_edge({steps_name(1)})


def test_a_directory_that_cannot_be_watched_stops_nothing(tmp_path: Path) -> None:
    watch = EdgeWatch(tmp_path / "missing", lambda: None)
    watch.start()
    assert watch.stop() == 0.0
