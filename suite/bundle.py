"""The run directory (the bundle): what is in it, writing it as a run goes, reading it back at any moment, sealing it.

Reading takes a bundle as hostile input: sizes are bounded, no link is followed, nothing is evaluated.
"""

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reference_impls import contract
from suite.digest import sha256
from suite.errors import SuiteError
from suite.log import Log, read_log

if TYPE_CHECKING:
    import pandas

    from suite.channels import Channels
    from suite.mini_batches import MiniBatches

SCHEMA = 1
RUN, SYSTEM, SUMMARY, MANIFEST, OUTPUT = "run.json", "system.json", "summary.json", "MANIFEST.sha256", "output.txt"
COUNTERS, BASELOAD = "counters.json", "baseload.parquet"
STEPS, READINGS, READINGS_RAW, BASELOAD_RAW = "steps.parquet", "readings.parquet", "readings.csv", "baseload.csv"
MAX_JSON_BYTES = 16 * 2**20
MAX_TABLE_BYTES = 2**30
MAX_MANIFEST_BYTES = 4 * 2**20


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
    """A bundle on disk. Files are read when asked for; what is missing or broken raises :class:`BundleError`."""

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
            raise BundleError(path, f"is larger than {MAX_MANIFEST_BYTES} bytes")
        return path.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n")

    def log(self, rank: int = 0) -> Log:
        """A rank's log."""
        path = self.file(contract.log_name(rank))
        try:
            return read_log(path)
        except OSError as error:
            raise BundleError(path, f"cannot be read: {error.strerror}") from error

    def mini_batches(self) -> "MiniBatches":
        """Every mini-batch of the finished epochs."""
        from suite import mini_batches, tables

        if (self.path / STEPS).exists():
            return tables.read_mini_batches(self.file(STEPS))
        return mini_batches.of_frame(self.steps())

    def steps(self) -> "pandas.DataFrame":
        """The mini-batches as a frame, columns as contract.STEP_COLUMNS."""
        from suite import tables

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
        from suite import tables

        for name, read in ((READINGS, tables.read_readings), (READINGS_RAW, tables.read_raw_readings)):
            if (self.path / name).exists():
                return read(self.file(name))
        return tables.no_readings()

    def _channels(self, table: str, raw: str) -> "Channels":
        from suite import channels, tables

        if (self.path / table).exists():
            return tables.read_channels(self.file(table))
        if (self.path / raw).exists():
            return tables.read_raw_channels(self.file(raw))
        return channels.no_channels()

    def once(self, what: str, compute: Callable[[], Any]) -> Any:
        """Something that follows from the bundle's files, computed each time: they may change."""
        return compute()

    def file(self, name: str) -> Path:
        """The path of a plain file of this bundle; links and missing files raise :class:`BundleError`."""
        path = self.path / name
        if path.is_symlink():
            raise BundleError(path, "is a link; a bundle holds plain files only")
        if not path.is_file():
            raise BundleError(path, "is missing")
        if path.stat().st_size > MAX_TABLE_BYTES:
            raise BundleError(path, f"is larger than {MAX_TABLE_BYTES} bytes")
        return path


@dataclass(frozen=True)
class BundleReadOnce(Bundle):
    """A bundle whose log and tables are read once and kept: for who asks often, of a bundle that does not change. Nobody may change them."""

    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def log(self, rank: int = 0) -> Log:
        """A rank's log."""
        return cast(Log, self.once(f"log {rank}", lambda: Bundle.log(self, rank)))

    def mini_batches(self) -> "MiniBatches":
        """Every mini-batch."""
        return cast("MiniBatches", self.once("mini-batches", lambda: Bundle.mini_batches(self)))

    def channels(self) -> "Channels":
        """What the meters read."""
        return cast("Channels", self.once("channels", lambda: Bundle.channels(self)))

    def channels_of_node(self, place: int) -> "Channels":
        """What was read on another node."""
        return cast("Channels", self.once(f"channels {place}", lambda: Bundle.channels_of_node(self, place)))

    def baseload(self) -> "Channels":
        """What the power meters read before the run."""
        return cast("Channels", self.once("baseload", lambda: Bundle.baseload(self)))

    def baseload_of_node(self, place: int) -> "Channels":
        """What was read on another node before the run."""
        return cast("Channels", self.once(f"baseload {place}", lambda: Bundle.baseload_of_node(self, place)))

    def once(self, what: str, compute: Callable[[], Any]) -> Any:
        """What was computed the first time."""
        if what not in self._kept:
            self._kept[what] = compute()
        return self._kept[what]


def node_tables(place: int) -> tuple[str, str]:
    """Names of a node's readings: the table, and the plain file while the run goes on."""
    return f"readings.node{place}.parquet", f"readings.node{place}.csv"


def node_baseloads(place: int) -> tuple[str, str]:
    """Names of what was read on a node before the run, likewise."""
    return f"baseload.node{place}.parquet", f"baseload.node{place}.csv"


class BundleError(SuiteError):
    """A file of a bundle is missing or cannot be read; ``path`` names it."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}.")
        self.path, self.what = path, what


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file that may be hostile: bounded size, no NaN, no nesting bomb."""
    if path.stat().st_size > MAX_JSON_BYTES:
        raise BundleError(path, f"is larger than {MAX_JSON_BYTES} bytes")
    try:
        value = json.loads(path.read_bytes().decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BundleError(path, f"is not valid JSON ({str(error)[:200]})") from error
    if not isinstance(value, dict):
        raise BundleError(path, "must hold a JSON object")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _record(kind: type[RunRecord], values: Mapping[str, Any], path: Path) -> RunRecord:
    names = set(kind.__dataclass_fields__)
    if set(values) != names:
        raise BundleError(path, f"has unknown keys {sorted(set(values) - names)} or misses keys {sorted(names - set(values))}")
    if values["schema"] != SCHEMA:
        raise BundleError(path, f"has schema {values['schema']!r}; this version of the suite reads schema {SCHEMA}")
    if not isinstance(values["request"], dict) or not all(isinstance(values[name], list) for name in ("command", "meters", "findings_allowed")):
        raise BundleError(path, "has a key of the wrong type: request is an object; command, meters and findings_allowed are lists")
    lists = {name: tuple(values[name]) for name in ("command", "meters", "findings_allowed")}
    return kind(**{**values, **lists})


def write_json(path: Path, value: Any) -> None:
    """Write a dataclass or plain value as JSON, whole or not at all (temporary file, fsync, rename)."""
    plain = value if isinstance(value, Mapping) else asdict(value)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(plain, stream, indent=1, allow_nan=False)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def convert_tables(path: Path) -> None:
    """Turn the plain step records and readings of a bundle into Parquet; each plain file goes once its table is written."""
    from suite import tables

    log = Bundle(path).log()
    if (path / contract.steps_name(0)).exists():
        raw_steps = Bundle(path).raw_steps()
        tables.write_table(tables.read_raw_steps(raw_steps, log.finished_epochs()), path / STEPS)
        for raw in raw_steps:
            raw.unlink()
    of_nodes = (sorted(path.glob(names(0)[1].replace("0", "*"))) for names in (node_tables, node_baseloads))
    for raw in (path / READINGS_RAW, path / BASELOAD_RAW, *chain.from_iterable(of_nodes)):
        if raw.exists():
            tables.write_table(tables.read_raw_readings(raw), raw.with_suffix(".parquet"))
            raw.unlink()


def seal(path: Path) -> None:
    """Write the manifest over every file of the bundle: from here on a changed byte shows."""
    lines = [f"{sha256(file)}  {file.relative_to(path).as_posix()}\n" for file in sorted(path.rglob("*")) if file.is_file() and file.name != MANIFEST]
    temporary = path / f".{MANIFEST}"
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.replace(path / MANIFEST)
