"""A copy of a sealed run of one rank as plain objects, to be edited and sealed again: chain,
tables, figures and manifest fit afterwards."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from proofs.outsider.edits import PARTS
from suite.bundle.data_record import DATA
from suite.files.json_file import write_json
from tests.faults.edits.editable_bundle import EditableBundle


class ForgedCopy(EditableBundle):
    """A run of one rank in memory, with its record of the data."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.data: Any = json.loads((path / DATA).read_text("utf-8"))

    def all(self, key: str) -> list[dict[str, Any]]:
        """All events with this key."""
        return [event for event in self.events if event["key"] == key]

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
            self.event("run_start")["metadata"]["mono_ns"],
            self.event("run_stop")["metadata"]["mono_ns"],
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
        for event in self.events:
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

    def save(self, recomputed: bool = True) -> None:
        """Write everything, recompute figures unless told otherwise, and seal."""
        write_json(self.path / DATA, self.data)
        super().save(recomputed)
