"""A copy of a sealed run as plain objects, to be edited and sealed again: chain, tables, figures
and manifest fit afterwards."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from proofs.outsider.edits import PARTS, exchange_heads, read_log, write_log
from suite.bundle.frames import read_readings, read_steps, write_table
from suite.bundle.manifest import seal
from suite.bundle.reader import Bundle
from suite.files.json_file import write_json
from suite.metrics.event_counts import derive_counters
from suite.metrics.summary import derive

Event = dict[str, Any]
_JSON = {
    "run": "run.json",
    "system": "system.json",
    "data": "data.json",
    "power": "power.json",
    "nodes": "nodes.json",
    "witness": "witness.json",
}


class ForgedCopy:
    """A run directory in memory: JSON files by name (without ``.json``), the logs' events by rank,
    and the tables as frames."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.json: dict[str, Any] = {
            name: json.loads((path / file).read_text("utf-8"))
            for name, file in _JSON.items()
            if (path / file).exists()
        }
        self.logs: list[list[Event]] = [
            read_log(path / _log_name(rank))
            for rank in range(64)
            if (path / _log_name(rank)).exists()
        ]
        self.steps = read_steps(path / "steps.parquet")
        self.readings = read_readings(path / "readings.parquet")
        self.baseload = (
            read_readings(path / "baseload.parquet")
            if (path / "baseload.parquet").exists()
            else None
        )

    @property
    def run(self) -> dict[str, Any]:
        """run.json."""
        return dict.__getitem__(self.json, "run")

    @property
    def request(self) -> dict[str, Any]:
        """The request in run.json."""
        return dict.__getitem__(self.run, "request")

    @property
    def system(self) -> dict[str, Any]:
        """system.json."""
        return dict.__getitem__(self.json, "system")

    def events(self, key: str, rank: int = 0) -> list[Event]:
        """All events of a rank's log with this key."""
        return [event for event in self.logs[rank] if event["key"] == key]

    def everywhere(self, key: str) -> Iterator[Event]:
        """All events of all ranks' logs with this key."""
        for rank in range(len(self.logs)):
            yield from self.events(key, rank)

    def set_logged(self, key: str, value: Any) -> None:
        """Give all events with this key one value, in every rank's log."""
        for event in self.everywhere(key):
            event["value"] = value

    def meter(self, name: str) -> dict[str, Any]:
        """The record of a meter in run.json."""
        return next(meter for meter in self.run["meters"] if meter["name"] == name)

    def of(self, source: str, channel: str | None = None) -> Any:
        """Mask of a meter's readings, or of one channel's."""
        mask = self.readings["source"] == source
        return mask if channel is None else mask & (self.readings["channel"] == channel)

    def option(self, name: str, value: str | None) -> None:
        """Change, add or (None) take out an option of the recorded command."""
        command = self.run["command"]
        if name in command:
            at = command.index(name)
            command[at : at + 2] = [] if value is None else [name, value]
        elif value is not None:
            command += [name, value]

    def window(self) -> tuple[int, int]:
        """run_start and run_stop on the monotonic clock."""
        return (
            self.events("run_start")[0]["metadata"]["mono_ns"],
            self.events("run_stop")[0]["metadata"]["mono_ns"],
        )

    def retime(
        self,
        moved: Callable[[Any], Any],
        readings: bool = True,
        wall: bool = True,
        steps: bool = True,
    ) -> None:
        """Map the monotonic time of all records by an increasing function of an int64 array; parts
        of steps are scaled with their steps."""
        start = int(self.logs[0][0]["metadata"]["mono_ns"])
        for log in self.logs:
            for event in log:
                new = int(moved(np.array([event["metadata"]["mono_ns"]], dtype=np.int64))[0])
                if wall:
                    event["time_ms"] += round((new - event["metadata"]["mono_ns"]) / 1e6)
                event["metadata"]["mono_ns"] = new
        if steps:
            before = self.steps["start_ns"].to_numpy(np.int64)
            length = self.steps[PARTS].sum(axis=1).to_numpy()
            after = moved(before)
            ratio = (moved(before + (length * 1e9).astype(np.int64)) - after) / np.maximum(
                length * 1e9, 1
            )
            self.steps["start_ns"] = after
            for part in PARTS:
                self.steps[part] *= ratio
        if readings:
            self.readings["t_ns"] = moved(self.readings["t_ns"].to_numpy(np.int64))
        assert start >= 0

    def restate_meters(self) -> None:
        """Make the meters' records fit the readings: count, median period, longest gap."""
        for meter in self.run["meters"]:
            if meter["name"] == "recorder":
                meter["readings"] = len(self.readings)
                continue
            own = self.readings[self.readings["source"] == meter["name"]]
            meter["readings"] = len(own)
            if meter["achieved_period_s"] is not None and len(own):
                channel = own["channel"].value_counts().idxmax()
                gaps = np.diff(own.loc[own["channel"] == channel, "t_ns"].to_numpy(np.int64)) / 1e9
                meter["achieved_period_s"] = float(np.median(gaps)) if len(gaps) else None
                meter["longest_gap_s"] = float(gaps.max()) if len(gaps) else None

    def save(self, figures: bool = True) -> None:
        """Write everything; recompute figures unless told otherwise; seal."""
        for name, file in _JSON.items():
            if name in self.json:
                write_json(self.path / file, self.json[name])
        logs = dict(enumerate(self.logs))
        if len(logs) > 1:
            exchange_heads(logs)
        for rank, events in logs.items():
            write_log(self.path / _log_name(rank), events)
        write_table(self.steps, self.path / "steps.parquet")
        write_table(self.readings, self.path / "readings.parquet")
        if self.baseload is not None:
            write_table(self.baseload, self.path / "baseload.parquet")
        reseal(self.path, figures)


def reseal(path: Path, figures: bool = True) -> None:
    """Recompute summary.json and counters.json (if told to) and the manifest."""
    if figures:
        bundle = Bundle(path)
        write_json(path / "counters.json", derive_counters(bundle))
        write_json(path / "summary.json", derive(Bundle(path)).to_dict())
    seal(path)


def _log_name(rank: int) -> str:
    return "log.txt" if rank == 0 else f"log.rank{rank}.txt"
