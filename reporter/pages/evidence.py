"""A page per run and per entry: the evidence for every figure."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from reference_impls.contract import TOKEN, log_name
from reporter.board.boards import Board
from reporter.board.columns import FIGURE_COLUMNS, Cell, make_cell, name_of_figure
from reporter.board.systems import system_name
from reporter.data.entry_scores import MEASURED_J, OF_ENTRIES, SCORE_J, SCORE_S, EntryScores
from reporter.data.frames import IDENTITY, Frames, Row, records
from reporter.data.framework_names import framework_name
from reporter.data.instrument_names import instrument_named
from reporter.data.missed import reached_text
from reporter.data.scores import PARTS
from reporter.data.shown_replications import ShownReplication, badges_of
from reporter.data.text import digits, in_full, plain
from reporter.data.timeline import Timeline, read_timeline
from reporter.data.values import entries_of
from reporter.figures import over_time
from reporter.figures.chart import Caption, Context
from reporter.pages.shared import Draw, Page, board_title, place_drawings, title_of
from reporter.pages.standings import Standing, standings_of
from suite.bundle.layout import (
    BASELOAD,
    COUNTERS,
    MANIFEST,
    OUTPUT,
    READINGS,
    RUN,
    STEPS,
    SUMMARY,
    SYSTEM,
)
from suite.bundle.log import MAX_LOG_BYTES, Log, LogEvent
from suite.bundle.node_records import NODES
from suite.bundle.reader import Bundle, CachedBundle, RunRecord
from suite.bundle.resumption import known_resumption
from suite.compliance.checker import BundleVerdict
from suite.metrics.summary import read_summary

COPIED = (
    RUN,
    SYSTEM,
    SUMMARY,
    COUNTERS,
    NODES,
    STEPS,
    READINGS,
    BASELOAD,
    log_name(0),
    OUTPUT,
    MANIFEST,
)
COLUMNS_OF_RANKS = (
    ("samples", "samples"),
    ("busy_ratio", "busy time over the mean of the ranks"),
    ("slowest_share", "slowest rank, share of the steps"),
    ("communication_s", "communication, s"),
    ("peak_rss_bytes", "peak memory, B"),
)
EVIDENCE_OF_SCORES = {**{name: parts[1] for name, parts in PARTS.items()}, MEASURED_J: "energy_j"}
"""The figure of a run that a score's number leads to: that of a later epoch; of the measured
energy, that of the run."""
FIRST_LINES, LAST_LINES = 200, 100
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
    """One run: its row, the rows of its figures and epochs, and the checker's verdict. Its page
    also reads the bundle's files."""

    run: Row
    figures: Sequence[Row]
    epochs: Sequence[Row]
    verdict: BundleVerdict


def evidence_of_runs(frames: Frames) -> Iterator[RunEvidence]:
    """The evidence of every run, one at a time."""
    figures, epochs = frames.rows_by("figures", "run_id"), frames.rows_by("epochs", "run_id")
    for run in records(frames.runs):
        name = run["run_id"]
        yield RunEvidence(run, figures(name), epochs(name), frames.verdicts[name])


def run_pages(
    evidence: RunEvidence, colours: Mapping[str, int], environment: jinja2.Environment
) -> Iterator[Page]:
    """runs/<id>/index.html, its charts, and copies of the bundle's files."""
    run, verdict, bundle = evidence.run, evidence.verdict, CachedBundle(Path(evidence.run["path"]))
    log, record, summary = bundle.log(), bundle.run(), read_summary(bundle)
    figures = sorted(evidence.figures, key=lambda figure: figure["value"] is None)
    links = {figure["figure"]: _evidence(figure, log) for figure in figures}
    cited = {number for of_figure in links.values() for number, _ in of_figure} | {
        finding.line for finding in verdict.findings if finding.line
    }
    place, names = f"runs/{run['run_id']}/", copied_files(bundle)
    charts = place_drawings(
        _drawers(read_timeline(bundle, log), evidence), Context("../../", colours), place
    )
    page = environment.get_template("run.html").render(
        root="../../",
        here="run",
        run=run,
        title=title_of(run),
        framework=framework_name(str(run["framework"])),
        command=_command(record.command),
        resumed=_resumed(record),
        verdict=verdict,
        figures=figures,
        evidence=links,
        digits=digits,
        in_full=in_full,
        how=_how,
        name_of=name_of_figure,
        epochs=evidence.epochs,
        system=bundle.json("system.json"),
        as_text=_as_text,
        ranks=list(_mappings_of(summary.get("ranks"))),
        columns_of_ranks=COLUMNS_OF_RANKS,
        is_number=_number,
        meters=[meter for meter in record.meters if isinstance(meter, Mapping)],
        files=[(name, (bundle.path / name).stat().st_size) for name in names],
        file_names=names,
        of_epochs=EPOCH_FIGURES,
        charts=charts,
        lines=list(_lines(bundle, cited)),
        window=_window(log),
        disturbances=list(disturbances(summary)),
    )
    yield Page(f"{place}index.html", page)
    yield from charts.files
    for name in names:
        yield Page(f"{place}{name}", bundle.file(name))


def _drawers(timeline: Timeline, evidence: RunEvidence) -> list[tuple[Caption, Draw]]:
    """Power and load charts. Power is the first node's, so that the baseload, a sum over nodes, is
    drawn for a single node only."""
    figures = evidence.figures if evidence.run["nodes"] == 1 else ()
    baseload_w = next(
        (figure["value"] for figure in figures if figure["figure"] == "baseload_power_w"), None
    )
    return [
        (over_time.POWER, lambda _: over_time.draw_power(timeline, baseload_w)),
        (over_time.LOAD, lambda _: over_time.draw_load(timeline)),
    ]


def copied_files(bundle: Bundle) -> list[str]:
    """Names of the bundle's regular files that can be downloaded."""
    of_other_nodes = sorted(
        path.name
        for pattern in ("log.rank*.txt", "readings.node*.parquet", "baseload.node*.parquet")
        for path in bundle.path.glob(pattern)
    )
    return [
        name
        for name in (*COPIED, *of_other_nodes)
        if (bundle.path / name).is_file() and not (bundle.path / name).is_symlink()
    ]


@dataclass(frozen=True)
class BoardLink:
    """The leaderboard of an entry, with its title."""

    slug: str
    title: str


@dataclass(frozen=True)
class EntryEvidence:
    """An entry with its rows, those of its runs, their verdicts, and their values by figure."""

    entry: Row
    label: str
    board: BoardLink | None
    figures: Sequence[Row]
    runs: Sequence[Row]
    verdicts: Sequence[BundleVerdict]
    values: Sequence[Mapping[str, float | None]]
    scores: EntryScores
    standing: Standing
    replications: Sequence[ShownReplication]
    badges: Sequence[str]


def evidence_of_entries(frames: Frames, boards: Sequence[Board]) -> Iterator[EntryEvidence]:
    """The evidence of every entry, one at a time."""
    labels = entries_of(frames)
    links: dict[str, BoardLink] = {}
    for board in boards:
        link = BoardLink(board.slug, board_title(board))
        links |= {
            row.entry["entry_id"]: link
            for row in (*board.accepted, *board.projected, *board.refused, *board.withdrawn)
        }
    standings = standings_of(frames, boards)
    figures, runs, values = (
        frames.rows_by("entry_figures", "entry_id"),
        frames.rows_by("runs", "entry_id"),
        frames.rows_by("figures", "run_id"),
    )
    for entry in records(frames.entries):
        name, its_runs = entry["entry_id"], runs(entry["entry_id"])
        yield EntryEvidence(
            entry,
            labels[name]["label"],
            links.get(name),
            sorted(figures(name), key=lambda row: row["value"] is None),
            its_runs,
            [frames.verdicts[run["run_id"]] for run in its_runs],
            [
                {
                    **{row["figure"]: row["value"] for row in values(run["run_id"])},
                    **_scores_of_run(frames.scores[name], run["run_id"]),
                }
                for run in its_runs
            ],
            frames.scores[name],
            standings[name],
            frames.replications.get(name, ()),
            badges_of(frames.replications.get(name, ()), entry["code_is_public"] is True),
        )


def _scores_of_run(scores: EntryScores, run_id: str) -> dict[str, float]:
    """The run's values of the entry's scores, at the epochs of the entry."""
    found = {name: scores.of(name) for name in OF_ENTRIES}
    return {
        name: score.by_run[run_id]
        for name, score in found.items()
        if score is not None and run_id in score.by_run
    }


def replication_files(evidence: EntryEvidence) -> Iterator[Page]:
    """replications/<id>.json: the records of the entry's replications, byte by byte."""
    for each in evidence.replications:
        yield Page(f"replications/{each.replication_id}.json", each.file)


def entry_place(name: str) -> str:
    """The place of the page of the entry with this id."""
    return f"entries/{name}.html"


def entry_page(evidence: EntryEvidence, environment: jinja2.Environment) -> Page:
    """entries/<id>.html: an entry's figures and the runs that they are computed from."""
    runs, place = (
        list(zip(evidence.runs, evidence.verdicts, evidence.values, strict=True)),
        entry_place(evidence.entry["entry_id"]),
    )
    page = environment.get_template("entry.html").render(
        root="../",
        here="entry",
        entry=evidence.entry,
        label=evidence.label,
        board=evidence.board,
        runs=runs,
        figures=evidence.figures,
        reached=reached_text(evidence.entry),
        scores=evidence.scores,
        evidence_of=EVIDENCE_OF_SCORES,
        replications=evidence.replications,
        badges=evidence.badges,
        standing=evidence.standing,
        place=place,
        digits=digits,
        identity=IDENTITY,
        name_of=name_of_figure,
        headlines=list(_headlines(evidence.figures)),
        system=system_name(evidence.entry),
        framework=framework_name(str(evidence.entry["framework"])),
    )
    return Page(place, page)


HEADLINES = (
    (SCORE_S, "time_to_target_s", "time_to_epoch_s"),
    (SCORE_J, MEASURED_J, "energy_per_epoch_j"),
    ("best_accuracy",),
    ("peak_memory_bytes",),
)
"""Figures at the top of an entry's page: of each group the first that is known."""


def _headlines(figures: Sequence[Row]) -> Iterator[tuple[Cell, str]]:
    """The cells at the top of an entry's page, each with how it was measured."""
    columns, found = (
        {column.figure: column for column in FIGURE_COLUMNS},
        {figure["figure"]: figure for figure in figures},
    )
    energy = found.get("energy_per_epoch_j", {})
    instrument = instrument_named(energy.get("tier"), energy.get("covers"))
    for group in HEADLINES:
        cells = [make_cell(columns[name], found[name]) for name in group if name in found]
        shown = next((cell for cell in cells if cell.raw), None)
        if shown is not None:
            yield shown, instrument if shown.column.is_energy else ""


def _how(figure: Row) -> str:
    """How a figure was obtained, or why it is unknown; its interval, and how densely its readings
    lie."""
    interval = (
        f"95 % interval {in_full(figure['low'], 4)} to {in_full(figure['high'], 4)}"
        if figure["low"] is not None
        else ""
    )
    level = f"EE HPC WG: {figure['level']}" if figure["level"] else ""
    period = f"a reading every {digits(figure['period_s'])} s" if figure["period_s"] else ""
    coverage = (
        f"{100 * figure['coverage']:.1f} % of the time covered"
        if figure["coverage"] is not None
        else ""
    )
    return "; ".join(
        part
        for part in (figure["reason"] or figure["method"], interval, level, period, coverage)
        if part
    )


def _as_text(value: object) -> str:
    """A value of system.json as text: items of lists separated by semicolons, pairs of mappings by
    commas."""
    if isinstance(value, list):
        return "; ".join(_as_text(one) for one in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_as_text(one)}" for key, one in value.items() if one is not None)
    return str(value)


def _evidence(figure: Mapping[str, Any], log: Log) -> list[tuple[int, str]]:
    """The log lines that a figure was computed from, as (line number, event)."""
    if figure["value"] is None:
        return []
    evaluations = log.all("eval_accuracy")
    if figure["figure"] in ("time_to_target_s", "epochs_to_target"):
        target = log.value("target_accuracy")
        reached = [
            event
            for event in evaluations
            if _number(event.value) and _number(target) and event.value >= target
        ]
        return _numbered([log.first("run_start"), *reached[:1]])
    if figure["figure"] == "gross_time_s":
        return _numbered([log.first("run_start"), log.first("run_stop")])
    if figure["figure"] == "uncounted_s":
        return _numbered(log.all("uncounted_start")[:5])
    if figure["figure"] == "best_accuracy":
        return _numbered(
            [
                event
                for event in evaluations
                if _number(event.value) and event.value == figure["value"]
            ][:1]
        )
    if figure["source"] == READINGS:
        return _numbered([log.first("run_start"), log.first("run_stop")])
    return []


def disturbances(summary: Mapping[str, Any]) -> Iterator[str]:
    """A sentence per throttling event, per step of the wall clock and per changed setting;
    malformed records are skipped."""
    found = summary.get("disturbances")
    lists = found if isinstance(found, Mapping) else {}
    for event in _mappings_of(lists.get("throttling")):
        if _number(event.get("start_s")) and _number(event.get("count")):
            duration = (
                f", for {digits(event['held_s'], 3)} s"
                if _number(event.get("held_s"))
                else f", {event['count']:g} times"
            )
            yield (
                f"{plain(event.get('channel'), 60)}: {digits(event['start_s'], 4)} s after"
                f" run_start{duration}"
            )
    for step in _mappings_of(lists.get("clock_steps")):
        if _number(step.get("at_s")) and _number(step.get("step_s")):
            moved = f"{digits(step['step_s'], 4)} s"
            yield (
                f"the wall clock was set by {moved}, {digits(step['at_s'], 4)} s after run_start;"
                " durations are not affected"
            )
    for change in _mappings_of(lists.get("settings")):
        if all(_number(change.get(name)) for name in ("at_s", "before", "after")):
            values = (
                f"from {digits(change['before'], 4)} to {digits(change['after'], 4)}"
                f" {plain(change.get('unit'), 10)}"
            )
            yield (
                f"{plain(change.get('channel'), 60)} was changed {values},"
                f" {digits(change['at_s'], 4)} s after run_start"
            )


def _mappings_of(values: object) -> list[Mapping[str, Any]]:
    return (
        [value for value in values if isinstance(value, Mapping)]
        if isinstance(values, list)
        else []
    )


def _numbered(events: Sequence[LogEvent | None]) -> list[tuple[int, str]]:
    return [(event.line, plain(event.key, 40)) for event in events if event is not None]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _window(log: Log) -> tuple[int, int] | None:
    """run_start and run_stop on the monotonic clock, ns."""
    ends = [log.first("run_start"), log.first("run_stop")]
    times = [event.mono_ns for event in ends if event is not None and event.mono_ns is not None]
    return (times[0], times[1]) if len(times) == 2 else None


def _lines(bundle: Bundle, cited: set[int]) -> Iterator[tuple[int, str]]:
    """The log's first and last lines and all cited lines, as (line number, line); number 0 marks
    omitted lines."""
    file = bundle.file(log_name(0))
    if file.stat().st_size > MAX_LOG_BYTES:
        return  # its events were not read either
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    omitted = 0
    for number, line in enumerate(lines, start=1):
        if TOKEN not in line:
            continue
        if number <= FIRST_LINES or number > len(lines) - LAST_LINES or number in cited:
            if omitted:
                yield 0, f"{omitted} lines omitted here; see log.txt."
                omitted = 0
            yield number, plain(line, MAX_LINE_LENGTH)
        else:
            omitted += 1


def _resumed(record: RunRecord) -> str | None:
    """What a resumed run says of the run that it continues; None for other runs."""
    before = known_resumption(record.resumed)
    if before is None:
        return None
    return (
        f"Resumed after epoch {before.epoch} of run {plain(before.run_id, 100)}, which trained on"
        f" {_counted(before.ranks, 'rank')} of {_counted(before.nodes, 'node')} and ended:"
        f" {plain(before.reason)}"
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _command(arguments: tuple[Any, ...]) -> str:
    """The command line to repeat the run, without the program's path and the option --output."""
    kept, skip = ["suite"], False
    for argument in arguments[1:]:
        if not skip and argument != "--output":
            kept.append(shlex.quote(str(argument)))
        skip = argument == "--output" and not skip
    return plain(" ".join(kept), 2000)
