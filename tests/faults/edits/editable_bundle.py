"""Edits a copy of a bundle, as a forger would: the faults of the rules are made with it."""

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_impls.contract import FIRST_LINK, TOKEN, chained
from suite.bundle.layout import COUNTERS, MANIFEST, READINGS, RUN, STEPS, SUMMARY, SYSTEM
from suite.bundle.manifest import seal
from suite.bundle.reader import Bundle

if TYPE_CHECKING:
    import pandas

JSON_FILES = (RUN, SYSTEM, SUMMARY)


class EditableBundle:
    """A bundle's content as plain objects, to be edited in place and saved.

    ``run``, ``system`` and ``summary`` are the JSON files, ``events`` the records of rank 0's log,
    ``steps`` and ``readings`` the frames, read and written back only if an edit looks at them.
    """

    def __init__(self, path: Path) -> None:
        bundle = Bundle(path)
        self.path = path
        self.run, self.system, self.summary = (bundle.json(name) for name in JSON_FILES)
        lines = bundle.file("log.txt").read_text(encoding="utf-8").splitlines()
        self.events: list[dict[str, Any]] = [json.loads(line[len(TOKEN) :]) for line in lines]

    @cached_property
    def steps(self) -> "pandas.DataFrame":
        """Its step records."""
        return Bundle(self.path).steps_frame()

    @cached_property
    def readings(self) -> "pandas.DataFrame":
        """Its readings."""
        return Bundle(self.path).readings_frame()

    @property
    def request(self) -> Any:
        """The request that run.json records."""
        return self.run["request"]

    def event(self, key: str, number: int = 0) -> dict[str, Any]:
        """The log's n-th event with this key, counted from 0."""
        return [event for event in self.events if event["key"] == key][number]

    def remove(self, key: str, number: int = 0) -> None:
        """Remove the n-th event with this key from the log."""
        self.events.remove(self.event(key, number))

    def at(self, source: str, channel: str | None = None) -> "pandas.Series":
        """Mask of the readings of a meter, or of one of its channels."""
        return (self.readings["source"] == source) & (
            (self.readings["channel"] == channel) | (channel is None)
        )

    def save(self, recomputed: bool = False) -> None:
        """Write everything back with a chain and a manifest that fit; with ``recomputed``, summary
        and counters are recomputed first."""
        from suite.bundle import frames  # start-up: loads pyarrow

        chain, lines = FIRST_LINK, []
        for event in self.events:
            event["metadata"].pop("chain", None)
            line, chain = chained(chain, TOKEN + json.dumps(event))
            lines.append(line + "\n")
        (self.path / "log.txt").write_text("".join(lines), encoding="utf-8")
        for name, table in (("steps", STEPS), ("readings", READINGS)):
            if name in vars(self):
                frames.write_table(vars(self)[name], self.path / table)
        for name, value in zip(JSON_FILES, (self.run, self.system, self.summary), strict=True):
            (self.path / name).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        if recomputed:
            self._recompute()
        (self.path / MANIFEST).unlink()
        seal(self.path)

    def _recompute(self) -> None:
        import numpy as np  # start-up

        from suite.metrics.event_counts import derive_counters  # start-up: loads numpy
        from suite.metrics.summary import derive_summary  # start-up: loads numpy

        bundle = Bundle(self.path)
        with np.errstate(all="ignore"):  # the edited values may be impossible
            derived = {SUMMARY: derive_summary(bundle).to_dict(), COUNTERS: derive_counters(bundle)}
        for name, value in derived.items():
            (self.path / name).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def count_readings(bundle: EditableBundle) -> None:
    """Let the meters' records count the readings that there are."""
    counts = bundle.readings.groupby("source").size()
    for meter in bundle.run["meters"]:
        if meter["name"] != "recorder":
            meter["readings"] = int(counts.get(meter["name"], 0))
