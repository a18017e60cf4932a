"""The run directory (the bundle): what is in it, writing it as a run goes, reading it back at any moment, sealing it.

Reading takes a bundle as hostile input: sizes are bounded, no link is followed, nothing is evaluated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reference_impls import contract
from suite.bundle.layout import (
    BASELOAD,
    BASELOAD_RAW,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    MAX_TABLE_BYTES,
    READINGS,
    READINGS_RAW,
    RUN,
    SCHEMA,
    STEPS,
    node_baseloads,
    node_tables,
)
from suite.bundle.log import Log, read_log
from suite.errors import FileError
from suite.files.json_file import read_json

if TYPE_CHECKING:
    import pandas

    from suite.bundle.channels import Channels
    from suite.bundle.mini_batches import MiniBatches


@dataclass(frozen=True)
class RunRecord:
    """``run.json``: what was asked, by which command, with what result. ``status`` is running, finished, failed or interrupted."""

    schema: int
    run_id: str
    suite_version: str
    command: tuple[str, ...]
    started_time_ms: int
    status: str
    exit_code: int | None
    message: str | None
    device_evidence: str
    request: Mapping[str, Any]
    meters: tuple[Mapping[str, Any], ...] = ()
    findings_allowed: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk. Files are read when asked for; what is missing or broken raises :class:`FileError`."""

    path: Path

    @property
    def is_sealed(self) -> bool:
        """A manifest exists: the run came to its end and nothing was to be added."""
        return (self.path / MANIFEST).is_file()

    def run(self) -> RunRecord:
        """What was asked and how it ended."""
        return _record(RunRecord, self.json(RUN), self.path / RUN)

    def json(self, name: str) -> dict[str, Any]:
        """One of the JSON files, as an object."""
        return read_json(self.file(name))

    def manifest(self) -> list[str]:
        """The manifest's lines."""
        path = self.file(MANIFEST)
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise FileError(path, f"is larger than {MAX_MANIFEST_BYTES} bytes")
        return path.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n")

    def log(self, rank: int = 0) -> Log:
        """A rank's log."""
        path = self.file(contract.log_name(rank))
        try:
            return read_log(path)
        except OSError as error:
            raise FileError(path, f"cannot be read: {error.strerror}") from error

    def mini_batches(self) -> "MiniBatches":
        """Every mini-batch of the finished epochs."""
        from suite.bundle import mini_batches, tables

        if (self.path / STEPS).exists():
            return tables.read_mini_batches(self.file(STEPS))
        return mini_batches.of_frame(self.steps())

    def steps(self) -> "pandas.DataFrame":
        """The mini-batches as a frame, columns as contract.STEP_COLUMNS."""
        from suite.bundle import tables

        if (self.path / STEPS).exists():
            return tables.read_steps(self.file(STEPS))
        return tables.read_raw_steps(self.raw_steps(), self.log().finished_epochs())

    def raw_steps(self) -> list[Path]:
        """The ranks' plain step records, as an implementation left them."""
        others = sorted(self.path.glob(contract.steps_name(1).replace("1", "*")), key=lambda path: int(path.name.split("rank")[1].split(".")[0]))
        return [self.file(contract.steps_name(0)), *(self.file(path.name) for path in others)]

    def channels(self) -> "Channels":
        """What the meters read; nothing when no meter wrote."""
        return self._channels(READINGS, READINGS_RAW)

    def channels_of_node(self, place: int) -> "Channels":
        """What was read on the node in this place of nodes.json, on that node's clock."""
        return self._channels(*node_tables(place))

    def baseload(self) -> "Channels":
        """What the power meters read while the machine was idle before the run; nothing without such a window."""
        return self._channels(BASELOAD, BASELOAD_RAW)

    def baseload_of_node(self, place: int) -> "Channels":
        """What was read before the run on the node in this place of nodes.json, on that node's clock; nothing without such a window."""
        return self._channels(*node_baseloads(place))

    def readings(self) -> "pandas.DataFrame":
        """What the meters read as a frame, columns t_ns, source, channel, value, unit."""
        from suite.bundle import tables

        for name, read in ((READINGS, tables.read_readings), (READINGS_RAW, tables.read_raw_readings)):
            if (self.path / name).exists():
                return read(self.file(name))
        return tables.no_readings()

    def _channels(self, table: str, raw: str) -> "Channels":
        from suite.bundle import channels, tables

        if (self.path / table).exists():
            return tables.read_channels(self.file(table))
        if (self.path / raw).exists():
            return tables.read_raw_channels(self.file(raw))
        return channels.no_channels()

    def cached(self, what: str, compute: Callable[[], Any]) -> Any:
        """Something that follows from the bundle's files, computed each time: they may change."""
        return compute()

    def file(self, name: str) -> Path:
        """The path of a plain file of this bundle; links and missing files raise :class:`FileError`."""
        path = self.path / name
        if path.is_symlink():
            raise FileError(path, "is a link; a bundle holds plain files only")
        if not path.is_file():
            raise FileError(path, "is missing")
        if path.stat().st_size > MAX_TABLE_BYTES:
            raise FileError(path, f"is larger than {MAX_TABLE_BYTES} bytes")
        return path


@dataclass(frozen=True)
class CachedBundle(Bundle):
    """A bundle whose log and tables are read once and kept: for who asks often, of a bundle that does not change. Nobody may change them."""

    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def log(self, rank: int = 0) -> Log:
        """A rank's log."""
        return cast(Log, self.cached(f"log {rank}", lambda: Bundle.log(self, rank)))

    def mini_batches(self) -> "MiniBatches":
        """Every mini-batch."""
        return cast("MiniBatches", self.cached("mini-batches", lambda: Bundle.mini_batches(self)))

    def channels(self) -> "Channels":
        """What the meters read."""
        return cast("Channels", self.cached("channels", lambda: Bundle.channels(self)))

    def channels_of_node(self, place: int) -> "Channels":
        """What was read on another node."""
        return cast("Channels", self.cached(f"channels {place}", lambda: Bundle.channels_of_node(self, place)))

    def baseload(self) -> "Channels":
        """What the power meters read before the run."""
        return cast("Channels", self.cached("baseload", lambda: Bundle.baseload(self)))

    def baseload_of_node(self, place: int) -> "Channels":
        """What was read on another node before the run."""
        return cast("Channels", self.cached(f"baseload {place}", lambda: Bundle.baseload_of_node(self, place)))

    def cached(self, what: str, compute: Callable[[], Any]) -> Any:
        """What was computed the first time."""
        if what not in self._kept:
            self._kept[what] = compute()
        return self._kept[what]


def _record(kind: type[RunRecord], values: Mapping[str, Any], path: Path) -> RunRecord:
    names = set(kind.__dataclass_fields__)
    if set(values) != names:
        raise FileError(path, f"has unknown keys {sorted(set(values) - names)} or misses keys {sorted(names - set(values))}")
    if values["schema"] != SCHEMA:
        raise FileError(path, f"has schema {values['schema']!r}; this version of the suite reads schema {SCHEMA}")
    if not isinstance(values["request"], dict) or not all(isinstance(values[name], list) for name in ("command", "meters", "findings_allowed")):
        raise FileError(path, "has a key of the wrong type: request is an object; command, meters and findings_allowed are lists")
    lists = {name: tuple(values[name]) for name in ("command", "meters", "findings_allowed")}
    return kind(**{**values, **lists})
