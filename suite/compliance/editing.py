"""Edits a copy of a bundle, honestly or like a forger: how the rules' rejecting fixtures are made."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_impls.contract import FIRST_LINK, TOKEN, chained
from suite.bundle import MANIFEST, RUN, STEPS, SUMMARY, SYSTEM, Bundle, seal

if TYPE_CHECKING:
    import pandas

JSON_FILES = (RUN, SYSTEM, SUMMARY)


class EditableBundle:
    """A bundle's content as plain objects, to be changed in place and saved.

    ``run``, ``system`` and ``summary`` are the JSON files; ``events`` the log's records; ``steps`` the step table.
    """

    def __init__(self, path: Path) -> None:
        bundle = Bundle(path)
        self.path = path
        self.run, self.system, self.summary = (bundle.json(name) for name in JSON_FILES)
        lines = bundle.file("log.txt").read_text(encoding="utf-8").splitlines()
        self.events: list[dict[str, Any]] = [json.loads(line[len(TOKEN) :]) for line in lines]
        self.steps: pandas.DataFrame = bundle.steps()

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

    def save(self) -> None:
        """Write everything back with a fitting chain, fitting derived figures and a fitting manifest."""
        from suite import tables

        chain, lines = FIRST_LINK, []
        for event in self.events:
            event["metadata"].pop("chain", None)
            line, chain = chained(chain, TOKEN + json.dumps(event))
            lines.append(line + "\n")
        (self.path / "log.txt").write_text("".join(lines), encoding="utf-8")
        tables.write_table(self.steps, self.path / STEPS)
        for name, value in zip(JSON_FILES, (self.run, self.system, self.summary), strict=True):
            (self.path / name).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        (self.path / MANIFEST).unlink()
        seal(self.path)
