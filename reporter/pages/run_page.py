"""A page per run: the evidence for every figure."""

import gzip
import shlex
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jinja2

from reference_impls.contract import TOKEN, log_name
from reporter.board.columns import name_of_figure
from reporter.data.frames import Frames, Row, grouped
from reporter.data.link_losses import link_loss
from reporter.data.machine_names import machine_title
from reporter.data.text import number_in_full, one_line, significant
from reporter.data.timeline import Timeline, read_timeline
from reporter.figures import over_time
from reporter.figures.chart import Context, Described
from reporter.pages.run_headline import run_headline, with_digits
from reporter.pages.shared import Page, place_drawings, render_page, title_of, unknown_figures
from suite.bundle.attached import BEFORE, CHANGED, KEPT
from suite.bundle.layout import HOSTS, READINGS, SYSTEM
from suite.bundle.log import Log, LogEvent
from suite.bundle.node_records import NODES
from suite.bundle.reader import Bundle, CachedBundle, RunRecord
from suite.bundle.resumption import known_resumption
from suite.compliance.checker import BundleVerdict
from suite.compliance.rules.files import ALONE
from suite.compliance.values import is_number
from suite.errors import FileError
from suite.files.archive import add_file
from suite.files.counted import counted
from suite.files.evidence_files import EvidenceFiles
from suite.metrics.summary import read_summary

COPIED = (*ALONE, NODES, HOSTS, KEPT, *(f"{BEFORE}/{name}" for name in CHANGED.values()))
"""Names of files that every manifest may list; other nodes' and ranks' have numbers in theirs."""
COLUMNS_OF_RANKS = (
    ("samples", "samples"),
    ("busy_ratio", "busy time / mean busy time of all ranks"),
    ("slowest_share", "share of steps in which this rank was the slowest"),
    ("communication_s", "communication, s"),
    ("peak_rss_bytes", "peak memory, B"),
)
ARCHIVE, LEVEL = "bundle.tar.gz", 6
MAX_LINE_LENGTH = 600
EPOCH_FIGURES = frozenset(
    (
        "first_epoch_s",
        "initialisation_s",
        "time_to_epoch_s",
        "fetch_stall_s",
        "copy_s",
        "compute_s",
        "communication_s",
        "overhead_s",
        "worker_start_s",
        "compute_share",
        "accelerator_utilisation",
        "samples_per_s",
    )
)


@dataclass(frozen=True)
class RunEvidence:
    """One run: its row, the checker's verdict, and the rows of its figures and epochs. Its page
    also reads the bundle's files."""

    run: Row
    verdict: BundleVerdict
    figures: Sequence[Row]
    epochs: Sequence[Row]


def evidence_of_run(run: Row, frames: Frames) -> RunEvidence:
    """The evidence of one run."""
    name = run["run_id"]
    figures, epochs = (frames.rows_by(each, "run_id")(name) for each in ("figures", "epochs"))
    return RunEvidence(run, frames.verdicts[name], figures, epochs)


@dataclass(frozen=True)
class FigureEvidence:
    """What a figure is from: a file of the bundle, the page's table of epochs, and lines of the
    log, as (line number, event)."""

    source: str
    has_epochs: bool
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class RunPages:
    """What the pages of a run are made from: its evidence, the frameworks' colours, and how the
    bundle's files come to them."""

    evidence: RunEvidence
    colours: Mapping[str, int]
    files: EvidenceFiles = EvidenceFiles.COPY


def run_pages(pages: RunPages, environment: jinja2.Environment) -> Iterator[Page]:
    """runs/<id>/index.html, its charts, and the bundle's files."""
    run, bundle = pages.evidence.run, CachedBundle(Path(pages.evidence.run["path"]))
    place, packed = f"runs/{run['run_id']}/", copied_files(bundle)
    is_packed = pages.files is EvidenceFiles.ARCHIVE
    with tempfile.TemporaryDirectory() if is_packed else nullcontext("") as folder:
        files = {ARCHIVE: _archive(Path(folder) / ARCHIVE, packed)} if is_packed else packed
        yield from _page(pages, bundle, place, files, environment)
        for name, file in files.items():
            yield Page(f"{place}{name}", file, pages.files is EvidenceFiles.LINK)


def _page(
    pages: RunPages,
    bundle: CachedBundle,
    place: str,
    files: Mapping[str, Path],
    environment: jinja2.Environment,
) -> Iterator[Page]:
    """The page, with links to these files."""
    evidence = pages.evidence
    described = [
        over_time.epochs_accuracy(evidence.epochs),
        *_described(read_timeline(bundle, bundle.log()), evidence),
    ]
    charts = place_drawings(described, Context("../../", pages.colours))
    yield render_page(
        environment,
        "run.html",
        f"{place}index.html",
        "run",
        charts=charts,
        files=[(name, file.stat().st_size) for name, file in files.items()],
        digits=significant,
        with_digits=with_digits,
        how=_method_words,
        in_full=number_in_full,
        name_of=name_of_figure,
        as_text=_as_text,
        is_number=is_number,
        columns_of_ranks=COLUMNS_OF_RANKS,
        **_shown(evidence, bundle),
    )


def _archive(target: Path, files: Mapping[str, Path]) -> Path:
    """Write the files under these names as a compressed tar, whose bytes depend on them alone."""
    with (
        target.open("wb") as sink,
        gzip.GzipFile("", "wb", LEVEL, sink, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for name, file in files.items():
            add_file(tar, file, name)
    return target


def _shown(evidence: RunEvidence, bundle: CachedBundle) -> dict[str, Any]:
    """What the page says of the run, by its names in the template."""
    run, verdict, log = evidence.run, evidence.verdict, bundle.log()
    record, summary = bundle.run(), read_summary(bundle)
    target, who = log.value("target_accuracy"), str(run["implementation_name"])
    by_name = {str(figure["figure"]): figure for figure in evidence.figures}
    figures = [figure for figure in evidence.figures if figure["value"] is not None]
    known = grouped(figures, lambda figure: _evidence(figure, log))
    cited = {number for each in known for number, _ in each.lines}
    cited |= {finding.line for finding in verdict.findings if finding.line}
    return {
        "run": run,
        "title": title_of(run),
        "headline": run_headline(
            f"{who} on {machine_title(run)}, seed {run['seed']},",
            by_name,
            verdict,
            float(target) if is_number(target) else None,
        ),
        "framework": who,
        "command": command_line(record.command),
        "resumed": _resumed(record),
        "verdict": verdict,
        "known": list(known.items()),
        "unknown": unknown_figures(evidence.figures),
        "epochs": evidence.epochs,
        "system": bundle.json(SYSTEM),
        "ranks": _mappings_of(summary.get("ranks")),
        "meters": _mappings_of(list(record.meters)),
        "lines": list(_lines(bundle, cited)),
        "window": _window(log),
        "disturbances": list(disturbance_sentences(summary)),
    }


def _described(timeline: Timeline, evidence: RunEvidence) -> Sequence[Described]:
    """Power and load charts. Of several nodes they are the first one's, so that the baseload, a sum
    over nodes, is drawn for a single node only."""
    is_alone = evidence.run["nodes"] == 1
    figures = evidence.figures if is_alone else ()
    baseload_w = next(
        (figure["value"] for figure in figures if figure["figure"] == "baseload_power_w"), None
    )
    charts = over_time.described(timeline, baseload_w)
    if is_alone:
        return charts
    return [
        (replace(told, about=f"{told.about} Of the first node only."), draw)
        for told, draw in charts
    ]


def copied_files(bundle: Bundle) -> dict[str, Path]:
    """The bundle's plain files that can be downloaded, by their names in it."""
    of_other_nodes = sorted(
        path.name
        for pattern in ("log.rank*.txt", "readings.node*.parquet", "baseload.node*.parquet")
        for path in bundle.path.glob(pattern)
    )
    found = dict[str, Path]()
    for name in (*COPIED, *of_other_nodes):
        with suppress(FileError):  # missing, a link, or too large
            found[name] = bundle.file(name)
    return found


def _method_words(figure: Row) -> str:
    """How a known figure was obtained, and how densely its readings lie."""
    level = f"EE HPC WG: {figure['level']}" if figure["level"] else ""
    period = f"a reading every {significant(figure['period_s'])} s" if figure["period_s"] else ""
    coverage = (
        f"{100 * figure['coverage']:.1f} % of the time covered"
        if figure["coverage"] is not None
        else ""
    )
    return "; ".join(part for part in (figure["method"], level, period, coverage) if part)


def _as_text(value: object) -> str:
    """A value of system.json as text: items of lists separated by semicolons, pairs of mappings by
    commas."""
    if isinstance(value, list):
        return "; ".join(_as_text(one) for one in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_as_text(one)}" for key, one in value.items() if one is not None)
    return str(value)


def _evidence(figure: Mapping[str, Any], log: Log) -> FigureEvidence:
    """What a known figure was computed from."""
    name, source = str(figure["figure"]), str(figure["source"])
    events = (event for event in _events(figure, log) if event is not None)
    numbered = tuple((event.line, one_line(event.key, 40)) for event in events)
    return FigureEvidence(source, name in EPOCH_FIGURES, numbered)


def _events(figure: Mapping[str, Any], log: Log) -> Sequence[LogEvent | None]:
    """The events of the log that a known figure was computed from."""
    name, value = figure["figure"], figure["value"]
    ends, target = [log.first("run_start"), log.first("run_stop")], log.value("target_accuracy")
    evaluations = [each for each in log.all("eval_accuracy") if is_number(each.value)]
    if name in ("time_to_target_s", "epochs_to_target"):
        reached = [each for each in evaluations if is_number(target) and each.value >= target]
        return [ends[0], *reached[:1]]
    if name == "uncounted_s":
        return log.all("uncounted_start")[:5]
    if name == "best_accuracy":
        return [each for each in evaluations if each.value == value][:1]
    return ends if name == "gross_time_s" or figure["source"] == READINGS else []


def disturbance_sentences(summary: Mapping[str, Any]) -> Iterator[str]:
    """A sentence per throttling event, step of the wall clock, changed setting and loss of a link,
    of the first node and of each other one; malformed records are skipped."""
    yield from _of_machine(summary.get("disturbances"))
    for node in _mappings_of(summary.get("nodes"))[1:]:
        for sentence in _of_machine(node.get("disturbances")):
            yield f"{one_line(node.get('node'), 60)}: {sentence}"


def _of_machine(found: object) -> Iterator[str]:
    lists = found if isinstance(found, Mapping) else {}
    for event in _with_numbers(lists.get("throttling"), "start_s", "count"):
        duration = (
            f"for {significant(event['held_s'], 3)} s"
            if is_number(event.get("held_s"))
            else f"{event['count']:g} times"
        )
        channel, start_s = one_line(event.get("channel"), 60), significant(event["start_s"], 4)
        yield f"{channel}: {start_s} s after run_start, {duration}"
    for step in _with_numbers(lists.get("clock_steps"), "at_s", "step_s"):
        yield (
            f"{significant(step['at_s'], 4)} s after run_start, the wall clock jumped by"
            f" {significant(step['step_s'], 4)} s; durations are not affected"
        )
    for change in _with_numbers(lists.get("settings"), "at_s", "before", "after"):
        values = f"from {significant(change['before'], 4)} to {significant(change['after'], 4)}"
        yield (
            f"{one_line(change.get('channel'), 60)} was changed {values}"
            f" {one_line(change.get('unit'), 10)}, {significant(change['at_s'], 4)} s after "
            "run_start"
        )
    yield from map(link_loss, _with_numbers(lists.get("links"), "start_s", "held_s", "count"))


def _with_numbers(values: object, *names: str) -> Iterator[Mapping[str, Any]]:
    """The records that have numbers of these names."""
    return (
        each for each in _mappings_of(values) if all(is_number(each.get(name)) for name in names)
    )


def _mappings_of(values: object) -> list[Mapping[str, Any]]:
    return (
        [value for value in values if isinstance(value, Mapping)]
        if isinstance(values, list)
        else []
    )


def _window(log: Log) -> tuple[int, int] | None:
    """run_start and run_stop on the monotonic clock, ns."""
    ends = [log.first("run_start"), log.first("run_stop")]
    times = [event.mono_ns for event in ends if event is not None and event.mono_ns is not None]
    return (times[0], times[1]) if len(times) == 2 else None


def _lines(bundle: Bundle, cited: set[int]) -> Iterator[tuple[int, str]]:
    """The cited lines of the log, as (line number, line)."""
    lines = bundle.file(log_name(0)).read_text("utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        if number in cited and TOKEN in line:
            yield number, one_line(line, MAX_LINE_LENGTH)


def _resumed(record: RunRecord) -> str | None:
    """What a resumed run says of the run that it continues; None for other runs."""
    before = known_resumption(record.resumed)
    if before is None:
        return None
    return (
        f"This run continues run {one_line(before.run_id, 100)} after epoch {before.epoch}. The"
        f" earlier run trained with {counted(before.ranks, 'rank')} on"
        f" {counted(before.nodes, 'node')} and ended early: {one_line(before.reason)}"
    )


def command_line(arguments: Sequence[Any]) -> str:
    """The command line to repeat the run, for a shell, without the program's path and the option
    --output."""
    kept, skip = ["suite"], False
    for argument in arguments[1:]:
        if not skip and argument != "--output":
            kept.append(shlex.quote(str(argument)))
        skip = argument == "--output" and not skip
    return one_line(" ".join(kept), 2000)
