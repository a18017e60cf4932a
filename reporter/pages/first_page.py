"""The first page that an owner of a machine sees: their run among reference results on the same
data, what it means, what to do next."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from reporter.board.boards import Leaderboard, LeaderboardRow, with_values
from reporter.board.columns import name_of_figure
from reporter.board.comparison import comparables, compare_pair
from reporter.board.dot_chart import Candidates, dot_chart
from reporter.board.making import DISTURBANCES
from reporter.data.frames import Frames, Row, is_known
from reporter.data.missed import TIME_TO_TARGET
from reporter.data.text import significant
from reporter.data.values import figures_by_entry
from reporter.pages.board_view import LeaderboardView, View
from reporter.pages.headlines import Headline
from reporter.pages.shared import (
    Charts,
    Page,
    SiteContents,
    place_charts,
    render_page,
    target_percent,
    trained_title,
)
from suite.bundle.layout import SYSTEM
from suite.bundle.reader import Bundle
from suite.catalog.data_sets import load_data_set
from suite.catalog.frameworks import load_frameworks
from suite.catalog.rounds import judging_round
from suite.catalog.scoring import load_scoring
from suite.errors import SuiteError
from suite.metrics.comparisons import Ratio
from suite.metrics.summary import NOT_REACHED

FIGURE = "time_to_epoch_s"
EXPECTED = ("energy_j", "instructions", "peak_memory_bytes", "foreign_cpu_share")
"""Figures that the page says are not measured where they are not."""


@dataclass(frozen=True)
class OwnEntry:
    """An entry of the owner's with the others of its leaderboard, and what they mean; ``quality``
    says which accuracy its training reached, and when."""

    title: str
    view: LeaderboardView
    sentence: str
    quality: str
    certainty: str
    not_measured: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, str], ...]


def first_page(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """index.html of a site that shows the runs of ``own_runs`` beside reference results."""
    own = set(contents.frames.select("runs", "run_id", contents.own_runs or ())["entry_id"])
    found = [
        _own_entry(row, board, own, contents.frames)
        for board in contents.boards
        for row in board.accepted
        if row.entry_id in own
    ]
    refused = [
        (
            row,
            [
                finding
                for run in contents.frames.rows_by("runs", "entry_id")(row.entry_id)
                for finding in contents.frames.verdicts[str(run["run_id"])].findings
            ],
        )
        for board in contents.boards
        for row in (*board.refused, *board.withdrawn)
        if row.entry_id in own
    ]
    entries = contents.frames.entries
    frames = contents.frames.of_entries(entries[entries["entry_id"].isin(own)])
    charts = place_charts("first", frames, contents, "", "first") if found else Charts((), (), ())
    shown = {"found": found, "refused": refused, "charts": charts, **contents.off_boards}
    yield from charts.files
    yield render_page(environment, "first_page.html", "index.html", "front", **shown)


def _own_entry(row: LeaderboardRow, board: Leaderboard, own: set[str], frames: Frames) -> OwnEntry:
    sentence, certainty = _meaning(row, board, own)
    others = _by_time(board.accepted)
    another = _another_framework(str(row.entry["framework"]), [other for other, _ in others])
    return OwnEntry(
        trained_title(board),
        _view(row, board, others, own),
        sentence,
        _quality(row, board),
        certainty,
        _not_measured(row, frames),
        _commands(row, another),
    )


def _view(
    row: LeaderboardRow, board: Leaderboard, others: Candidates, own: set[str]
) -> LeaderboardView:
    """Every entry has a row of its own: a person compares settings."""
    names = {other.entry_id: _name(other, own) for other, _ in others}
    column = row.cell(FIGURE)
    assert column is not None
    chart = dot_chart(board, column.column, others, lambda each: names[each.entry_id], "entry")
    charts = View("time", "entry", (chart,))
    return LeaderboardView(
        board, Headline("", "", ()), (charts,), frozenset(names[name] for name in own & set(names))
    )


def _name(row: LeaderboardRow, own: set[str]) -> str:
    """Whose it is, the machine, the framework, and what distinguishes it from its like."""
    whose = "yours" if row.entry_id in own else "reference"
    setting = f", {row.setting}" if row.setting else ""
    return f"{row.system}, {row.framework}{setting} ({whose})"


def _quality(row: LeaderboardRow, board: Leaderboard) -> str:
    """The accuracy, the target, and the time to it."""
    accuracy, time = row.cell("best_accuracy"), row.cell(TIME_TO_TARGET)
    best = accuracy.quantity if accuracy is not None and accuracy.raw else "not known"
    target = target_percent(board)
    if target is None:
        return f"Accuracy: {best}; this data has no target."
    if time is not None and time.raw:
        reached = f"reached in {time.quantity} (measured time to target)"
    elif time is not None and not time.why.endswith(NOT_REACHED):
        reached = time.why
    else:
        reached = f"not reached{f': {row.reached}' if int(row.entry['reached'] or 0) else ''}"
    return f"Accuracy: {best}; target {target}, {reached}."


def _meaning(row: LeaderboardRow, board: Leaderboard, own: set[str]) -> tuple[str, str]:
    """What the owner's time means beside that of the reference with the same framework, and how
    sure that is."""
    cell, name = row.cell(FIGURE), f"{row.system} trains an epoch of {trained_title(board)}"
    if cell is None or cell.value is None:
        why = cell.why if cell else "no run has this figure"
        return f"{name} with {row.framework}; its time per epoch is not known: {why}.", ""
    took = f"{name} with {row.framework} in {cell.quantity}"
    reference = _reference(row, board, own)
    beside = None if reference is None else reference.cell(FIGURE)
    if reference is None or beside is None or not beside.value:
        return f"{took}. There is no reference result with this framework on the same data.", ""
    ratio = cell.value / beside.value
    text = (
        f"{took}: {_times(ratio)} the reference machine, {_described(reference, board.frames)},"
        f" which takes {beside.quantity}."
    )
    verdict, disturbed = _verdict(row, reference, board), _disturbed(row)
    runs, needed = int(row.entry["runs"]), load_scoring().min_runs
    if isinstance(verdict, str):
        why = f"an interval needs {needed} runs; you have {runs}" if runs < needed else verdict
        over = "over the runs" if runs > 1 else "of the epoch times within the run"
        spread = f" {cell.around} is the standard deviation {over}." if cell.around else ""
        return text, f"The uncertainty is unknown: {why}.{spread}{disturbed}"
    differ = "they differ" if verdict.is_different else "they are not distinguishable"
    ends = f"{significant(verdict.low)} to {significant(verdict.high)}"
    confidence = load_scoring().pair_confidence
    return text, f"{confidence} interval of the ratio: {ends}; {differ}.{disturbed}"


def _disturbed(row: LeaderboardRow) -> str:
    """What made the owner's runs slower than the machine is."""
    found = [badge for badge in DISTURBANCES.values() if badge[1] in row.badges]
    return f" Disturbed: {', '.join(words for _, words in found)}." if found else ""


def _times(ratio: float) -> str:
    return (
        f"{significant(ratio, 2)} times as long as"
        if ratio >= 1
        else f"{significant(1 / ratio, 2)} times as fast as"
    )


def _reference(row: LeaderboardRow, board: Leaderboard, own: set[str]) -> LeaderboardRow | None:
    """The fastest reference result with the same framework."""
    alike = [
        other
        for other in board.accepted
        if other.entry["framework"] == row.entry["framework"] and other.entry_id not in own
    ]
    return next((other for other, _ in _by_time(alike)), None)


def _by_time(rows: Sequence[LeaderboardRow]) -> Candidates:
    """The rows whose time per epoch is known, the shortest first."""
    found = with_values(rows, FIGURE)
    return sorted(found, key=lambda pair: (pair[1].value, pair[0].entry_id))


def _described(row: LeaderboardRow, frames: Frames) -> str:
    """The machine by its name, with the cores that were online."""
    try:
        run = frames.rows_by("runs", "entry_id")(row.entry_id)[0]
        cores = Bundle(Path(str(run["path"]))).json(SYSTEM).get("cpu_cores")
    except (SuiteError, OSError):
        cores = None
    return (
        f"{row.system} with {cores} cores" if isinstance(cores, int) and cores > 1 else row.system
    )


def _verdict(row: LeaderboardRow, reference: LeaderboardRow, board: Leaderboard) -> Ratio | str:
    entries = [row.entry, reference.entry]
    found = comparables(board.frames, entries, FIGURE)
    own, other = (found[str(entry["entry_id"])] for entry in entries)
    if own.reason and not other.reason and own.value is None:
        return own.reason
    return compare_pair(own, other)


def _not_measured(row: LeaderboardRow, frames: Frames) -> tuple[tuple[str, str], ...]:
    """Expected figures that are unknown, with the reason."""
    figures = figures_by_entry(frames, EXPECTED)[row.entry_id]
    return tuple(
        (
            name_of_figure(name),
            str(figures[name]["reason"]) if name in figures else "it was not read",
        )
        for name in EXPECTED
        if name not in figures or not is_known(figures[name]["value"])
    )


def _another_framework(own: str, rows: Sequence[LeaderboardRow]) -> str | None:
    """A framework of the closed division besides ``own``: that of the first of these rows that has
    one, else the first by name."""
    others = [each.name for each in load_frameworks() if each.serves_closed and each.name != own]
    return next(
        (
            name
            for name in (*(str(row.entry["framework"]) for row in rows), *others)
            if name in others
        ),
        None,
    )


def _commands(row: LeaderboardRow, another: str | None) -> tuple[tuple[str, str], ...]:
    """What to do next, as (why, command); ``another`` is a framework to try."""
    entry = row.entry
    run = (
        f"suite run --division open --device auto --workload {entry['workload']} --data"
        f" {shlex.quote(str(entry['data']))}"
    )
    repeat = f"for seed in 2 3; do {run} --framework {entry['framework']} --seed $seed; done"
    closed = (
        f"suite run --division closed --device auto --workload {entry['workload']} --framework"
        f" {entry['framework']}"
    )
    wanted: Sequence[tuple[bool, str, str]] = (
        (int(entry["runs"]) < 3, "Two more runs, for an interval", repeat),
        (
            another is not None,
            "The same training in another framework",
            f"suite env create {another} && {run} --framework {another}",
        ),
        (True, "What this machine can measure, and how to add a power sensor", "suite doctor"),
        (not entry["own_data"], *_with_own_data(entry, closed)),
        (
            True,
            "Show your runs beside the reference results again",
            "suite report runs build/demo/run --beside-reference --output site --force",
        ),
    )
    return tuple((why, command) for is_wanted, why, command in wanted if is_wanted)


def _with_own_data(entry: Row, closed: str) -> tuple[str, str]:
    """Why and how to make a ``closed`` run on the workload's own data; where these cannot be
    downloaded, the run says how they are prepared."""
    data = load_data_set(judging_round(entry["round"]).workload(str(entry["workload"])).data)
    size = sum(file.download_size_bytes or 0 for file in data.files)
    large = f" (a download of {size / 1e6:.0f} MB)" if size else ""
    prepare = f"suite data prepare {data.name} --download && " if data.can_be_downloaded else ""
    why = f"A result for the leaderboard, with the workload's own data{large}"
    return why, f"{prepare}{closed}"
