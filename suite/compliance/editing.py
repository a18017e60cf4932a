"""Edits a copy of a bundle, honestly or like a forger: how the rules' rejecting fixtures are made."""

import json
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
    """A bundle's content as plain objects, to be changed in place and saved.

    ``run``, ``system`` and ``summary`` are the JSON files; ``events`` the log's records; ``steps`` and ``readings`` the tables.
    """

    def __init__(self, path: Path) -> None:
        bundle = Bundle(path)
        self.path = path
        self.run, self.system, self.summary = (bundle.json(name) for name in JSON_FILES)
        lines = bundle.file("log.txt").read_text(encoding="utf-8").splitlines()
        self.events: list[dict[str, Any]] = [json.loads(line[len(TOKEN) :]) for line in lines]
        self.steps: pandas.DataFrame = bundle.steps_frame()
        self.readings: pandas.DataFrame = bundle.readings_frame()

    @property
    def request(self) -> Any:
        """The request that run.json records."""
        return self.run["request"]

    def event(self, key: str, number: int = 0) -> dict[str, Any]:
        """The log's n-th event with this key."""
        return [event for event in self.events if event["key"] == key][number]

    def remove(self, key: str, number: int = 0) -> None:
        """Take an event out of the log."""
        self.events.remove(self.event(key, number))

    def at(self, source: str, channel: str | None = None) -> "pandas.Series":
        """Which readings are of this meter, or of this one of its channels."""
        return (self.readings["source"] == source) & ((self.readings["channel"] == channel) | (channel is None))

    def save(self, recomputed: bool = False) -> None:
        """Write everything back with a fitting chain and a fitting manifest; with ``recomputed``, summary and counters are made to fit, too."""
        from suite.bundle import frames

        chain, lines = FIRST_LINK, []
        for event in self.events:
            event["metadata"].pop("chain", None)
            line, chain = chained(chain, TOKEN + json.dumps(event))
            lines.append(line + "\n")
        (self.path / "log.txt").write_text("".join(lines), encoding="utf-8")
        frames.write_table(self.steps, self.path / STEPS)
        frames.write_table(self.readings, self.path / READINGS)
        for name, value in zip(JSON_FILES, (self.run, self.system, self.summary), strict=True):
            (self.path / name).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        if recomputed:
            self._derive_again()
        (self.path / MANIFEST).unlink()
        seal(self.path)

    def _derive_again(self) -> None:
        from suite.metrics.counters import derive_counters
        from suite.metrics.summary import derive

        bundle = Bundle(self.path)
        for name, value in ((SUMMARY, derive(bundle).to_dict()), (COUNTERS, derive_counters(bundle))):
            (self.path / name).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
