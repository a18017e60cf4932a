"""Adds the trace of an external logger to a closed bundle: readings, kept trace, record in
run.json, figures and manifest.

The record in run.json (``attached``) says by which command and when, what was understood of the
file (``format``, that of the kept file), where the sensor is (``covers``, ``tier``) and how the
clocks were fitted (``fit``). :func:`trace_readings` follows from the kept trace and the record
alone.
"""

import gzip
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from reference_impls.contract import NS_PER_S, SECONDS_PER_NS
from suite import __version__
from suite.bundle import layout, manifest
from suite.bundle.arrays import Times, Values, median
from suite.bundle.attached import BEFORE, CHANGED, CLOCK_ERROR, KEPT, MEAN, SOURCE
from suite.bundle.reader import Bundle, CachedBundle, RunRecord
from suite.bundle.schemas import READING_TYPES
from suite.bundle.tables import TableWriter, table_batches
from suite.catalog.power import Coverage, Tier, rulebook_beside
from suite.errors import SuiteError
from suite.files.durable import publish
from suite.files.json_file import write_json
from suite.files.shell_command import shell_command
from suite.metrics.power_totals import power_rules
from suite.metrics.summary import derive_summary
from suite.metrics.traces.board_rails import labels_of
from suite.metrics.traces.clock_fit import ClockFit, fit_clock, given_clock, refuse_rate
from suite.metrics.traces.columns import TraceOptions
from suite.metrics.traces.course import Course, course_of
from suite.metrics.traces.own_clock import refuse_moved
from suite.metrics.traces.reading import ReadTrace, read_trace, stepped_text
from suite.metrics.traces.series import refuse_counter, turns_of
from suite.metrics.traces.sniffing import format_sentence, recognise_format
from suite.metrics.traces.trace_format import Rail, Trace, TraceFormat, open_unpacked

COMMAND = "suite power attach"
COVERAGES = (Coverage.BOARD, Coverage.MODULE, Coverage.WALL, Coverage.CHIP)
TIERS = (Tier.ANALYSER, Tier.WALL_METER, Tier.ON_BOARD)
MAX_KEPT_BYTES = 32 * 2**20
"""Of a file that is kept as it is; of a larger one its readings are kept."""
KEPT_FORMAT = TraceFormat(
    "utf-8", ",", ".", 1, 2, None, "number", "s", (0,), 0.0, (Rail(power=1),), ("time_s", "power_w")
)


@dataclass(frozen=True, eq=False)
class Attachment:
    """A trace that was read and fitted to a run, before anything is written. ``understood`` is one
    sentence on the file."""

    trace_path: Path
    read: ReadTrace
    how: TraceFormat
    understood: str
    course: Course
    fit: ClockFit
    covers: Coverage
    tier: Tier

    @property
    def is_kept_whole(self) -> bool:
        """The file is kept as it is."""
        return self.read.trace.averaged == 1 and self.read.size_bytes <= MAX_KEPT_BYTES


def prepare_attachment(
    bundle: Bundle,
    trace_path: Path,
    covers: Coverage,
    tier: Tier | None,
    options: TraceOptions,
    offset_s: float | None = None,
) -> Attachment:
    """Read a trace and fit its clock to the run; nothing is written. Without a ``tier`` the file's
    instrument tells it, else it is a wall meter. Raises SuiteError where that is not possible."""
    expect_finished(bundle)
    if covers not in COVERAGES or tier not in (None, *TIERS):
        raise SuiteError(
            f"--covers must be one of {', '.join(each.value for each in COVERAGES)}; --tier must be"
            f" one of {', '.join(each.value for each in TIERS)}."
        )
    how, read = read_logger(trace_path, options)
    covers, tier = labels_of(how, covers, tier)
    course = course_of(bundle)
    trace = read.trace
    if float(np.median(trace.power_w)) < 0:
        raise SuiteError(
            f"{trace_path} has a power below zero in most of its readings: the meter was connected"
            " the wrong way round; negate the column."
        )
    if offset_s is None:
        if how.time_kind == "index":
            refuse_rate(trace.t_s, trace.power_w, course, how.rate_hz)
        fit = fit_clock(trace.t_s, trace.power_w, course, is_absolute=trace.is_absolute)
        refuse_moved(trace, fit, course)
    else:
        fit = given_clock(trace.t_s, trace.power_w, course, offset_s)
    return Attachment(trace_path, read, how, format_sentence(how), course, fit, covers, tier)


def expect_finished(bundle: Bundle) -> None:
    """Raise SuiteError for a bundle that cannot be changed afterwards."""
    run = bundle.run()
    if run.schema != layout.SCHEMA:
        raise SuiteError(
            f"{bundle.path} was made by suite {run.suite_version}, whose bundles cannot be changed:"
            " make the run again with this version."
        )
    if not bundle.is_sealed:
        finish = shell_command("suite finish", bundle.path)
        raise SuiteError(f"{bundle.path} is not sealed (status {run.status}); `{finish}` seals it.")
    if run.status != "finished":
        raise SuiteError(
            f"{bundle.path} did not finish (status {run.status}), and only a finished run has an"
            " energy: make the run again."
        )


def read_logger(path: Path, options: TraceOptions) -> tuple[TraceFormat, ReadTrace]:
    """The format and the readings; rows in turn that name no series are asked for, or added up.
    Raises SuiteError for a clock that was set back within the file."""
    how = recognise_format(path, options)
    read = read_trace(path, how)
    if read.trace.stepped_s:
        raise SuiteError(f"{path} cannot be attached: {stepped_text(read.trace)}.")
    if not how.is_energy:
        refuse_counter(read.trace.power_w)
    if np.mean(read.trace.power_w) < 0:
        raise SuiteError(
            f"The power in {path} is below 0 on average: the clamp was put on the wrong way round,"
            " or a battery was discharging. Export the power with the other sign."
        )
    is_known = how.turns > 1 or read.trace.averaged > 1
    turns = 1 if is_known else turns_of(read.trace.t_s, read.trace.power_w)
    if turns == 1 or options.series or how.series_columns:
        return how, read
    if how.adds:
        how = replace(how, turns=turns)
        return how, read_trace(path, how)
    raise SuiteError(
        f"In {path} the power, or the time between rows, repeats every {turns} rows, as if"
        f" {turns} devices wrote in turn. If they did, add --sum; if one device wrote all rows,"
        " add --series 1, and check that it measured throughout."
    )


def write_trace(path: Path, found: Attachment, command: Sequence[str]) -> None:
    """Write a trace into the bundle at ``path`` and seal it again; an earlier trace is replaced.
    The files are changed in place."""
    bundle = Bundle(path)
    earlier = bundle.run()
    if not keep_files(path):
        _restore_files(path)
    _keep(path, found)
    t_ns, power_w = trace_readings(found.read.trace, found.fit, found.course)
    _write_readings(path, t_ns, power_w, found)
    run = _with_record(bundle.run(), found, t_ns, command, earlier.attached)
    # why an earlier trace was left out says nothing of this one
    left_out = {k: why for k, why in (earlier.meters_left_out or {}).items() if k != SOURCE}
    write_json(path / layout.RUN, replace(run, meters_left_out=left_out or None))
    _write_rules(path)
    seal_again(path)


def seal_again(path: Path) -> None:
    """Compute the figures of a changed bundle, and seal it."""
    write_json(path / layout.SUMMARY, derive_summary(CachedBundle(path)).to_dict())
    (path / layout.MANIFEST).unlink()
    manifest.seal(path)


def trace_readings(trace: Trace, fit: ClockFit, course: Course) -> tuple[Times, Values]:
    """The trace's readings around the run on the run's clock, ns, and their power, W; one more
    reading at each end."""
    run_s = fit.to_run_s(trace.t_s)
    first = max(0, int(np.searchsorted(run_s, course.begin_s)) - 1)
    last = int(np.searchsorted(run_s, course.end_s, side="right")) + 1
    t_ns = course.origin_ns + np.round(run_s[first:last] * NS_PER_S).astype(np.int64)
    t_ns, unique = np.unique(t_ns, return_index=True)
    return t_ns, trace.power_w[first:last][unique]


def channel_name(covers: Coverage, tier: Tier) -> str:
    """The channel of a trace's power."""
    return f"{covers.value}.{tier.value}"


def own_readings(path: Path) -> Iterator[pyarrow.RecordBatch]:
    """The readings of the run's own meters, as they were before a trace was attached."""
    table = path / BEFORE / layout.READINGS
    return iter(table_batches(table, READING_TYPES) if table.exists() else ())


def keep_files(path: Path) -> bool:
    """Keep the files that will change as the run left them; False where they are kept already."""
    before = path / BEFORE
    if before.exists():
        return False
    before.mkdir()
    for name, kept in CHANGED.items():
        if (path / name).exists():
            shutil.copyfile(path / name, before / kept)
    return True


def _restore_files(path: Path) -> None:
    """Put the files from before an earlier trace back in their place."""
    for name, kept in CHANGED.items():
        if (path / BEFORE / kept).exists():
            shutil.copyfile(path / BEFORE / kept, path / name)


def _keep(path: Path, found: Attachment) -> None:
    """Write the trace beside the readings, packed; the same trace gives the same bytes."""
    with (
        publish(path / KEPT) as temporary,
        temporary.open("wb") as raw,
        gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed,
    ):
        if found.is_kept_whole:
            with open_unpacked(found.trace_path) as stream:
                packed.write(stream.read(MAX_KEPT_BYTES + 1))
            return
        packed.write(b"time_s,power_w\n")
        trace = found.read.trace
        for time_s, power_w in zip(trace.t_s.tolist(), trace.power_w.tolist(), strict=True):
            packed.write(f"{time_s!r},{power_w!r}\n".encode())


def _write_readings(path: Path, t_ns: Times, power_w: Values, found: Attachment) -> None:
    run_ns = [found.course.origin_ns, found.course.origin_ns + round(found.course.run_s * NS_PER_S)]
    batches = [
        _batch(t_ns, power_w, channel_name(found.covers, found.tier), "W"),
        _batch(np.array(run_ns, np.int64), np.full(2, found.fit.half_width_s), CLOCK_ERROR, "s"),
    ]
    if found.read.trace.is_mean:
        means_s = np.full(2, median(np.diff(found.read.trace.t_s)))
        batches.append(_batch(np.array(run_ns, np.int64), means_s, MEAN, "s"))
    with publish(path / layout.READINGS) as temporary:
        writer = TableWriter(temporary, READING_TYPES)
        for batch in (*own_readings(path), *batches):
            writer.write(batch)
        writer.close()


def _batch(t_ns: Times, values: Values, channel: str, unit: str) -> pyarrow.RecordBatch:
    texts = [
        pyarrow.array([text] * len(t_ns), pyarrow.string()) for text in (SOURCE, channel, unit)
    ]
    columns = [pyarrow.array(t_ns), texts[0], texts[1], pyarrow.array(values), texts[2]]
    return pyarrow.RecordBatch.from_arrays(columns, names=list(READING_TYPES))


def _with_record(
    run: RunRecord,
    found: Attachment,
    t_ns: Times,
    command: Sequence[str],
    earlier: Mapping[str, Any] | None,
) -> RunRecord:
    spacings_s = np.diff(t_ns) * SECONDS_PER_NS
    period_s = median(spacings_s)
    meter = {
        "name": SOURCE,
        "period_s": period_s,
        "available": True,
        "reason": "",
        "readings": len(t_ns) + (4 if found.read.trace.is_mean else 2),
        "failures": 0,
        "last_error": None,
        "cost_s": 0.0,
        "achieved_period_s": period_s,
        "longest_gap_s": float(spacings_s.max()),
        "moments": "fixed",
        "jitter_s": float(spacings_s.std(ddof=1)) if len(spacings_s) > 1 else None,
        "settings": {"trace": found.trace_path.name},
    }
    return replace(run, meters=(*run.meters, meter), attached=_record(found, command, earlier))


def _record(
    found: Attachment, command: Sequence[str], earlier: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    trace = found.read.trace
    return {
        "by": COMMAND,
        "command": list(command),
        "time_ms": int(time.time() * 1000),
        "suite_version": __version__,
        "covers": found.covers.value,
        "tier": found.tier.value,
        "understood": found.understood,
        "trace": {
            "name": found.trace_path.name,
            "size_bytes": found.read.size_bytes,
            "sha256": found.read.sha256,
            "rows": trace.rows,
            "unreadable": trace.unreadable,
            "late": trace.late,
            "averaged": trace.averaged,
            "is_absolute": trace.is_absolute,
            "is_mean": trace.is_mean,
            "kept": KEPT,
            "is_kept_whole": found.is_kept_whole,
        },
        "format": asdict(found.how if found.is_kept_whole else KEPT_FORMAT),
        "fit": asdict(found.fit),
        "replaces": None if earlier is None else earlier.get("trace", {}).get("sha256"),
    }


def _write_rules(path: Path) -> None:
    """Add the rules of attached traces to those that the bundle carries, in the rulebook's
    order."""
    carried = power_rules(Bundle(path)) if (path / layout.POWER).exists() else ()
    rulebook = rulebook_beside(carried)
    own = [rule for rule in carried if rule not in rulebook]
    rules = [*own, *(rule for rule in rulebook if rule in carried or SOURCE in rule.sources)]
    write_json(
        path / layout.POWER, {"schema": layout.SCHEMA, "rules": [asdict(rule) for rule in rules]}
    )
