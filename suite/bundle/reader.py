"""Reads the run directory (the bundle), sealed, unfinished or killed at any moment.

A bundle is hostile input: sizes are bounded, no link is followed, nothing is evaluated.
"""

import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from reference_impls import contract
from suite.bundle.layout import (
    COUNTERS,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    MAX_RAW_BYTES,
    MAX_TABLE_BYTES,
    READABLE_SCHEMAS,
    READINGS,
    READINGS_RAW,
    RUN,
    STEPS,
    SUMMARY,
    SYSTEM,
    node_baseloads,
    node_tables,
)
from suite.bundle.limits import RowLimit, possible_readings, possible_steps
from suite.bundle.log import Log, read_log
from suite.bundle.run_lock import refuse_running
from suite.errors import FileError, SuiteError
from suite.files.digest import sha256
from suite.files.json_file import read_json
from suite.files.schema import SchemaError, from_plain

if TYPE_CHECKING:
    import pandas

    from suite.bundle.channels import Channels
    from suite.bundle.steps import StepRecords

Result = TypeVar("Result")

MANY_READ = (RUN, SYSTEM, SUMMARY, COUNTERS)
"""JSON files that many rules read; the others may be large, and are read by one or two."""
FIRST_ROUND = "v0.1"
"""The round of bundles of schema 1, which do not name theirs."""

_RANK = re.compile(r"steps\.rank(\d{1,9})\.csv")


@dataclass(frozen=True)
class RunRecord:
    """``run.json``: the request, the command that was typed, and how the run ended. ``status`` is
    running, finished, failed or interrupted.

    ``closed_later`` is None where the process that ran the run closed its bundle; else ``by`` whom
    and when (``time_ms``) it was closed later, with the ``suite_version`` and the ``reason``.
    ``schema`` is that of the bundle's files; ``request`` follows the current contract whatever the
    schema. ``round`` is the round that the run was made for; None if the file names none. ``nonce``
    says where the seed came from (suite.catalog.seeds.NonceUse); None: the user chose it.
    ``power_pulse`` holds the loads that the suite made before and after the run for a logger's
    clock, ``attached`` the trace that was added later and its clock fit
    (suite.metrics.traces.attaching), ``meters_left_out`` why somebody left a meter out of the
    energies afterwards, by meter; None without them. ``implementation`` describes the program that
    trained (suite.catalog.seeds.describe_implementation); None in bundles of earlier versions.
    ``study`` marks a run that was made for a study (suite.bundle.study_mark), ``resumed`` one that
    continues an interrupted run (suite.bundle.resumption); None for others. ``isolation`` says what
    the implementation was started in (suite.launch.isolation), and with ``released_ns`` when
    (monotonic clock); None where nobody asked for any. ``lifetime`` says when the harness worked
    for the run outside the training (suite.bundle.lifetime); None in bundles of earlier versions.
    """

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
    round: str | None = None
    nonce: Mapping[str, Any] | None = None
    closed_later: Mapping[str, Any] | None = None
    power_pulse: Mapping[str, Any] | None = None
    attached: Mapping[str, Any] | None = None
    meters_left_out: Mapping[str, str] | None = None
    implementation: Mapping[str, Any] | None = None
    study: Mapping[str, Any] | None = None
    isolation: Mapping[str, Any] | None = None
    lifetime: Mapping[str, Any] | None = None
    resumed: Mapping[str, Any] | None = None

    @property
    def is_changed(self) -> bool:
        """Somebody attached a trace or left a meter out after the run: the bundle keeps the files
        from before (suite.bundle.attached)."""
        return self.attached is not None or self.meters_left_out is not None


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk. Files are read on demand; a missing or malformed one raises
    :class:`FileError`."""

    path: Path

    @property
    def is_sealed(self) -> bool:
        """A manifest exists: the run ended and its bundle was closed."""
        return (self.path / MANIFEST).is_file()

    def expect_there(self) -> None:
        """Raise SuiteError unless there is something at this path."""
        if not self.path.exists():
            raise SuiteError(f"{self.path} does not exist; give the path of a run directory.")

    def expect_run(self) -> None:
        """Raise SuiteError unless a run was begun in this directory."""
        self.expect_there()
        if not (self.path / RUN).is_file():
            raise SuiteError(
                f"{self.path} is not a run directory (it has no {RUN}); give the path that "
                "`suite run` printed."
            )

    def expect_sealed(self, purpose: str) -> None:
        """Raise SuiteError unless the bundle was closed; ``purpose`` says which run is needed:
        "audit a run that `suite run` finished"."""
        self.expect_there()
        refuse_running(self.path)
        if not self.is_sealed:
            raise SuiteError(f"{self.path} is not sealed; {purpose}.")

    def run(self) -> RunRecord:
        """The request and how the run ended."""
        return self.cached("run", lambda: _run_record(self.json(RUN), self.path / RUN))

    @property
    def is_first_schema(self) -> bool:
        """Whether the harness recorded it in schema 1: its meters were not read at edges, and the
        start of loaders was a fetch stall."""
        return (self.path / RUN).is_file() and self.run().schema == 1

    def json(self, name: str) -> dict[str, Any]:
        """One of the JSON files, as an object."""
        if name in MANY_READ:
            return self.cached(name, lambda: read_json(self.file(name)))
        return read_json(self.file(name))

    def manifest(self) -> list[str]:
        """The manifest's lines."""
        path = self.file(MANIFEST)
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise FileError(path, f"is larger than {MAX_MANIFEST_BYTES} bytes")
        return path.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n")

    def log(self, rank: int = 0) -> Log:
        """A rank's log."""
        return self.cached(f"log {rank}", lambda: self._read_log(rank))

    def finished_epochs(self) -> int:
        """Number of epochs that ended; 0 where the log cannot be read."""
        try:
            return len(self.log().finished_epochs())
        except FileError:
            return 0

    def steps(self) -> "StepRecords":
        """The step records of the finished epochs."""
        from suite.bundle.tables import join_steps  # start-up: pyarrow

        return self.cached("steps", lambda: join_steps(self.step_batches()))

    def step_batches(self) -> "Iterator[StepRecords]":
        """The step records of the finished epochs, batch by batch: for records of any length in
        little memory."""
        from suite.bundle.tables import raw_step_batches, step_batches  # start-up: pyarrow

        if (self.path / STEPS).exists():
            return step_batches(self.file(STEPS), self._possible_steps())
        return raw_step_batches(self.raw_steps(), self.log().finished_epochs())

    def steps_frame(self) -> "pandas.DataFrame":
        """The step records as a frame, columns as contract.STEP_COLUMNS."""
        import pandas  # start-up

        steps = self.steps()
        return pandas.DataFrame({name: getattr(steps, name) for name in contract.STEP_COLUMNS})

    def raw_steps(self) -> list[Path]:
        """The ranks' CSV files of step records, as an implementation wrote them."""
        ranks = {
            int(found[1]): path.name
            for path in self.path.glob("steps.rank*.csv")
            if (found := _RANK.fullmatch(path.name))
        }
        return [
            self.file(contract.steps_name(0)),
            *(self.file(ranks[rank]) for rank in sorted(ranks)),
        ]

    def channels(self, place: int = 0) -> "Channels":
        """The readings, by channel, of the node at this index of nodes.json (the harness's is the
        first), on that node's clock; empty when no meter wrote."""
        return self._channels(*node_tables(place))

    def baseload(self, place: int = 0) -> "Channels":
        """Readings of the power meters on a node that was idle before the run, likewise; empty
        without such a window."""
        return self._channels(*node_baseloads(place))

    def readings_frame(self) -> "pandas.DataFrame":
        """The readings as a frame, columns t_ns, source, channel, value, unit."""
        from suite.bundle import frames  # start-up: pandas

        for name, read in (
            (READINGS, frames.read_readings),
            (READINGS_RAW, frames.read_raw_readings),
        ):
            if (self.path / name).exists():
                return read(self.file(name))
        return frames.no_readings()

    def _channels(self, table: str, raw: str) -> "Channels":
        return self.cached(table, lambda: self._read_channels(table, raw))

    def _read_log(self, rank: int) -> Log:
        path = self.file(contract.log_name(rank))
        try:
            log = read_log(path)
        except OSError as error:
            raise FileError(path, f"cannot be read: {error.strerror}") from error
        if not log.events and self.is_sealed and self.run().status == "finished":
            why = f": {log.problems[0].what}" if log.problems else ""
            raise FileError(path, f"has no events, although the run finished{why}")
        return log

    def _read_channels(self, table: str, raw: str) -> "Channels":
        from suite.bundle.channels import no_channels  # start-up: NumPy

        # start-up: pyarrow
        from suite.bundle.readings_table import ReadingsMemory, read_channels, read_raw_channels

        memory = self.cached("memory of readings", ReadingsMemory)
        if (self.path / table).exists():
            return read_channels(self.file(table), self._possible_readings(), memory)
        if (self.path / raw).exists():
            return read_raw_channels(self.file(raw), memory)
        return no_channels()

    def _possible_steps(self) -> RowLimit:
        try:
            return possible_steps(self.run().request)
        except FileError:  # of a record that is no run's, or that cannot be read
            return possible_steps({})

    def _possible_readings(self) -> RowLimit:
        try:
            return possible_readings(self.log())
        except FileError:
            return possible_readings(None)

    def cached(self, what: str, compute: Callable[[], Result]) -> Result:
        """A value derived from the bundle's files; here computed each time, because the files may
        change."""
        return compute()

    def sha256(self, file: Path) -> str:
        """SHA-256 of one of the bundle's files."""
        return self.cached(f"sha256 of {file}", lambda: sha256(file))

    def file(self, name: str) -> Path:
        """Path of a plain file of this bundle; raises FileError for a link, a missing or an
        oversized file."""
        path, inside = self.path / name, Path(name)
        if inside.is_absolute() or ".." in inside.parts:
            raise FileError(path, "is outside the bundle")
        if any((self.path / each).is_symlink() for each in inside.parents[:-1]):
            raise FileError(path, "is a link; a bundle holds plain files only")
        try:
            state = path.lstat()
        except (FileNotFoundError, NotADirectoryError, ValueError):  # a NUL in the name
            raise FileError(path, "is missing") from None
        if stat.S_ISLNK(state.st_mode):
            raise FileError(path, "is a link; a bundle holds plain files only")
        if not stat.S_ISREG(state.st_mode):
            raise FileError(path, "is missing")
        most = MAX_RAW_BYTES if path.suffix == ".csv" else MAX_TABLE_BYTES
        if state.st_size > most:
            raise FileError(path, f"is larger than {most} bytes")
        return path


@dataclass(frozen=True)
class CachedBundle(Bundle):
    """A bundle whose records, log and tables are read once. Use it for bundles that do not change;
    treat results as immutable."""

    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def cached(self, what: str, compute: Callable[[], Result]) -> Result:
        """A value derived from the bundle's files, computed the first time; so is the FileError of
        a file that cannot be read."""
        if what not in self._cache:
            try:
                self._cache[what] = compute()
            except FileError as error:
                self._cache[what] = error
        if isinstance(self._cache[what], FileError):
            raise self._cache[what]
        return cast("Result", self._cache[what])


def _run_record(values: Mapping[str, Any], path: Path) -> RunRecord:
    schema, request = values.get("schema"), values.get("request")
    if isinstance(schema, bool) or schema not in READABLE_SCHEMAS:
        readable = ", ".join(map(str, READABLE_SCHEMAS))
        raise FileError(
            path, f"has schema {schema!r}; this version of the suite reads the schemas {readable}"
        )
    if schema == 1:  # the same request; only the step records' columns have other names
        values = {"round": FIRST_ROUND, **values}
        if isinstance(request, dict) and request.get("contract_version") == 1:
            values["request"] = {**request, "contract_version": contract.CONTRACT_VERSION}
    try:
        return from_plain(values, RunRecord, "")
    except SchemaError as error:
        raise FileError(path, f"is not a valid run record ({str(error)[:300]})") from error
