"""A page per run and per entry: where every number comes from."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jinja2

from reference_impls.contract import TOKEN
from reporter.columns import name_of_figure
from reporter.figures import charts_for
from reporter.figures.chart import digits, entries_of
from reporter.frames import IDENTITY, known
from reporter.pages.shared import Contents, Page, place_drawings, records
from reporter.text import plain
from reporter.timeline import with_timeline
from suite.bundle import MANIFEST, SUMMARY, Bundle
from suite.log import Event, Log

JSON_FILES, TABLES = (
    ("run.json", "system.json", "summary.json", "counters.json", "nodes.json"),
    ("steps.parquet", "readings.parquet", "baseload.parquet"),
)
COPIED = (*JSON_FILES, *TABLES, "log.txt", "output.txt", MANIFEST)
COLUMNS_OF_RANKS = (
    ("samples", "samples"),
    ("busy_ratio", "busy, over the mean of the ranks"),
    ("slowest_share", "the slowest, share of the steps"),
    ("waited_s", "waited for others, s"),
    ("peak_rss_bytes", "peak memory, B"),
)
FIRST_LINES, LAST_LINES = 200, 100
LONGEST_LINE = 600
OF_EPOCHS = frozenset(
    (
        "first_epoch_s",
        "time_to_epoch_s",
        "fetch_stall_s",
        "copy_s",
        "compute_s",
        "communication_s",
        "overhead_s",
        "accelerator_utilisation",
        "throughput",
    )
)


def run_pages(contents: Contents, environment: jinja2.Environment, run: Mapping[str, Any]) -> Iterator[Page]:
    """runs/<id>/index.html, from the frames of that run alone; the raw files lie beside it."""
    bundle, verdict = Bundle(Path(run["path"])), contents.frames.verdicts[run["run_id"]]
    log, record, summary = bundle.log(), bundle.run(), bundle.json(SUMMARY)
    figures = _known_first(contents.frames.figures)
    evidence = {figure["figure"]: _evidence(figure, log) for figure in figures}
    pointed_at = {number for links in evidence.values() for number, _ in links} | {finding.line for finding in verdict.findings if finding.line}
    place = f"runs/{run['run_id']}/"
    of_run = with_timeline(contents.frames, str(run["run_id"]), bundle)
    charts = place_drawings([(chart, partial(chart.draw, of_run)) for chart in charts_for("run")], contents, "../../", place)
    page = environment.get_template("run.html").render(
        root="../../",
        here="run",
        run={key: None if not known(value) else value for key, value in run.items()},
        command=_command(record.command),
        verdict=verdict,
        figures=figures,
        evidence=evidence,
        digits=digits,
        name_of=name_of_figure,
        epochs=list(records(contents.frames.epochs)),
        system=bundle.json("system.json"),
        said=_said,
        ranks=list(_mappings(summary.get("ranks"))),
        columns_of_ranks=COLUMNS_OF_RANKS,
        is_number=_number,
        meters=[meter for meter in record.meters if isinstance(meter, Mapping)],
        files=[(name, (bundle.path / name).stat().st_size) for name in copied_files(bundle)],
        file_names=copied_files(bundle),
        of_epochs=OF_EPOCHS,
        charts=charts,
        lines=list(_lines(bundle, pointed_at)),
        window=_window(log),
        disturbances=list(disturbances(summary)),
    )
    yield Page(f"{place}index.html", page)
    yield from charts.files


def copied_files(bundle: Bundle) -> list[str]:
    """The plain files of a bundle that are offered for download."""
    of_others = sorted(
        path.name for pattern in ("log.rank*.txt", "readings.node*.parquet", "baseload.node*.parquet") for path in bundle.path.glob(pattern)
    )
    return [name for name in (*COPIED, *of_others) if (bundle.path / name).is_file() and not (bundle.path / name).is_symlink()]


def entry_pages(contents: Contents, environment: jinja2.Environment) -> Iterator[Page]:
    """entries/<id>.html: the runs that an entry's figures are made of."""
    template, labels, frames = environment.get_template("entry.html"), entries_of(contents.frames), contents.frames
    figures: dict[str, dict[str, Any]] = {}
    for row in records(frames.figures):
        figures.setdefault(row["run_id"], {})[row["figure"]] = row
    of_entry: dict[str, list[Any]] = {}
    for run in records(frames.runs):
        of_entry.setdefault(run["entry_id"], []).append(run)
    entry_figures: dict[str, list[Any]] = {}
    for row in records(frames.entry_figures):
        entry_figures.setdefault(row["entry_id"], []).append(row)
    for rows in entry_figures.values():
        rows.sort(key=lambda row: row["value"] is None)
    boards = {row.entry["entry_id"]: board for board in contents.boards for row in (*board.accepted, *board.refused, *board.withdrawn)}
    for entry in records(frames.entries):
        runs, name = of_entry[entry["entry_id"]], entry["entry_id"]
        chosen = entry_figures.get(name, [])
        page = template.render(
            root="../", here="entry", entry=entry, label=labels[name]["label"], board=boards.get(name), runs=runs, figures=chosen, of_runs=figures,
            digits=digits, verdicts=frames.verdicts, identity=IDENTITY, name_of=name_of_figure,
        )  # fmt: skip
        yield Page(f"entries/{name}.html", page)


def _known_first(figures: Any) -> list[dict[str, Any]]:
    """What is known, then what is not with its reasons; each in the order of the bundle."""
    return sorted(records(figures), key=lambda figure: figure["value"] is None)


def _said(value: object) -> str:
    """A value of system.json in words: lists, and the facts of each thing in them, set apart by signs and not by brackets."""
    if isinstance(value, list):
        return "; ".join(_said(one) for one in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_said(one)}" for key, one in value.items() if one is not None)
    return str(value)


def _evidence(figure: Mapping[str, Any], log: Log) -> list[tuple[int, str]]:
    """The lines of the log that a figure was computed from, as (number, event)."""
    if figure["value"] is None:
        return []
    evaluations = log.all("eval_accuracy")
    if figure["figure"] in ("time_to_target_s", "epochs_to_target"):
        target = log.value("target_accuracy")
        reached = [event for event in evaluations if _number(event.value) and _number(target) and event.value >= target]
        return _numbered([log.first("run_start"), *reached[:1]])
    if figure["figure"] == "best_accuracy":
        return _numbered([event for event in evaluations if _number(event.value) and event.value == figure["value"]][:1])
    if figure["source"].startswith("readings"):
        return _numbered([log.first("run_start"), log.first("run_stop")])
    return []


def disturbances(summary: Mapping[str, Any]) -> Iterator[str]:
    """What held a run back or moved its wall clock, and when, a sentence each; what a bundle says in another shape is passed over."""
    found = summary.get("disturbances")
    lists = found if isinstance(found, Mapping) else {}
    for event in _mappings(lists.get("throttling")):
        if _number(event.get("start_s")) and _number(event.get("count")):
            held = f", for {digits(event['held_s'], 3)} s" if _number(event.get("held_s")) else f", {event['count']:g} times"
            yield f"{plain(event.get('channel'), 60)}: {digits(event['start_s'], 4)} s after run_start{held}"
    for step in _mappings(lists.get("clock_steps")):
        if _number(step.get("at_s")) and _number(step.get("step_s")):
            moved = f"{digits(step['step_s'], 4)} s"
            yield f"the wall clock was set by {moved}, {digits(step['at_s'], 4)} s after run_start; durations are not touched by it"


def _mappings(values: object) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list) else []


def _numbered(events: Sequence[Event | None]) -> list[tuple[int, str]]:
    return [(event.line, plain(event.key, 40)) for event in events if event is not None]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _window(log: Log) -> tuple[int, int] | None:
    """run_start and run_stop on the monotonic clock, ns."""
    ends = [log.first("run_start"), log.first("run_stop")]
    times = [event.mono_ns for event in ends if event is not None and event.mono_ns is not None]
    return (times[0], times[1]) if len(times) == 2 else None


def _lines(bundle: Bundle, pointed_at: set[int]) -> Iterator[tuple[int, str]]:
    """The log's first and last lines and those that something points at; a number of 0 stands for lines that are left out."""
    lines = bundle.file("log.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    left_out = 0
    for number, line in enumerate(lines, start=1):
        if TOKEN not in line:
            continue
        if number <= FIRST_LINES or number > len(lines) - LAST_LINES or number in pointed_at:
            if left_out:
                yield 0, f"{left_out} lines are left out here; log.txt has them."
                left_out = 0
            yield number, plain(line, LONGEST_LINE)
        else:
            left_out += 1


def _command(words: tuple[Any, ...]) -> str:
    """The command as it can be typed again: the program by its name only, without the place the run was written to."""
    kept, skip = ["suite"], False
    for word in words[1:]:
        if not skip and word != "--output":
            kept.append(shlex.quote(str(word)))
        skip = word == "--output" and not skip
    return plain(" ".join(kept), 2000)
