"""A page per entry: its figures, and the runs that they are computed from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import jinja2

from reporter.board.boards import Leaderboard
from reporter.board.columns import FIGURE_COLUMNS, Cell, make_cell, name_of_figure
from reporter.data.entry_scores import MEASURED_J, OF_ENTRIES, SCORE_J, SCORE_S, EntryScores
from reporter.data.frames import IDENTITY, Frames, Row, records
from reporter.data.instrument_names import instrument_named
from reporter.data.machine_names import system_name
from reporter.data.missed import reached_text
from reporter.data.scores import PARTS
from reporter.data.shown_replications import ShownReplication, replication_badges
from reporter.data.text import significant
from reporter.data.values import entries_of
from reporter.pages.shared import Page, board_title, render_page, unknown_figures
from reporter.pages.standings import Standing, standings_of
from suite.compliance.checker import BundleVerdict

EVIDENCE_OF_SCORES = {**{name: parts[1] for name, parts in PARTS.items()}, MEASURED_J: "energy_j"}
"""The figure of a run that a score's number leads to: that of a later epoch; of the measured
energy, that of the run."""
LINKED = frozenset((*(column.figure for column in FIGURE_COLUMNS), "fetch_stall_s"))
"""Figures that leaderboards and charts link to."""


@dataclass(frozen=True)
class LeaderboardLink:
    """The leaderboard of an entry, with its title."""

    slug: str
    title: str


@dataclass(frozen=True)
class EntryEvidence:
    """An entry, the rows of its runs and their verdicts; :func:`with_figures` adds its rows of
    figures and the runs' values by figure."""

    entry: Row
    label: str
    board: LeaderboardLink | None
    runs: Sequence[Row]
    verdicts: Sequence[BundleVerdict]
    scores: EntryScores
    standing: Standing
    replications: Sequence[ShownReplication]
    badges: Sequence[str]
    figures: Sequence[Row] = ()
    values: Sequence[Mapping[str, float | None]] = ()


def evidence_of_entries(frames: Frames, boards: Sequence[Leaderboard]) -> Iterator[EntryEvidence]:
    """Every entry, one at a time, without its figures."""
    labels, standings = entries_of(frames), standings_of(frames, boards)
    runs, links = frames.rows_by("runs", "entry_id"), dict[str, LeaderboardLink]()
    for board in boards:
        link = LeaderboardLink(board.slug, board_title(board))
        links |= {row.entry_id: link for row in board.rows}
    for entry in records(frames.entries):
        name, its_runs = entry["entry_id"], runs(entry["entry_id"])
        replications = frames.replications.get(name, ())
        yield EntryEvidence(
            entry,
            labels[name]["label"],
            links.get(name),
            its_runs,
            [frames.verdicts[run["run_id"]] for run in its_runs],
            frames.scores[name],
            standings[name],
            replications,
            replication_badges(replications, entry["code_is_public"] is True),
        )


def with_figures(evidence: EntryEvidence, frames: Frames) -> EntryEvidence:
    """The evidence with its figures, which the page of an unchanged entry does not need."""
    of_run = frames.rows_by("figures", "run_id")
    values = [
        {row["figure"]: row["value"] for row in of_run(run["run_id"])}
        | _scores_of_run(evidence.scores, run["run_id"])
        for run in evidence.runs
    ]
    figures = frames.rows_by("entry_figures", "entry_id")(evidence.entry["entry_id"])
    return replace(evidence, figures=figures, values=values)


def _scores_of_run(scores: EntryScores, run_id: str) -> dict[str, float]:
    """The run's values of the entry's scores, at the epochs of the entry."""
    found = {name: scores.score(name) for name in OF_ENTRIES}
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
    entry, figures = evidence.entry, _figures(evidence)
    known = list(_known(evidence, figures))
    names = {figure["figure"] for figure in known}
    shown = {
        **vars(evidence),
        "known": known,
        "unknown": unknown_figures(figure for figure in figures if figure["figure"] not in names),
        "runs": list(zip(evidence.runs, evidence.verdicts, evidence.values, strict=True)),
        "reached": reached_text(entry),
        "evidence_of": EVIDENCE_OF_SCORES,
        "digits": significant,
        "identity": IDENTITY,
        "name_of": name_of_figure,
        "headlines": list(_headlines(evidence.figures)),
        "system": system_name(entry),
        "framework": str(entry["implementation_name"]),
    }
    return render_page(environment, "entry.html", entry_place(entry["entry_id"]), "entry", **shown)


def _figures(evidence: EntryEvidence) -> Sequence[Row]:
    """The entry's figures; of a single run those that others link to: its page has them all."""
    return [
        figure
        for figure in evidence.figures
        if len(evidence.runs) > 1 or figure["figure"] in LINKED
    ]


def _known(evidence: EntryEvidence, figures: Sequence[Row]) -> Iterator[Row]:
    """The figures that the entry or one of its runs has a value of, those of the entry first."""
    for figure in sorted(figures, key=lambda row: row["value"] is None):
        values = (of_run.get(figure["figure"]) for of_run in evidence.values)
        if figure["value"] is not None or any(value is not None for value in values):
            yield figure


HEADLINES = (
    (SCORE_S, "time_to_target_s", "time_to_epoch_s"),
    (SCORE_J, MEASURED_J, "energy_per_epoch_j"),
    ("best_accuracy",),
    ("peak_memory_bytes",),
)
"""Figures at the top of an entry's page: of each group the first that is known."""


def _headlines(figures: Sequence[Row]) -> Iterator[tuple[Cell, str]]:
    """The cells at the top of an entry's page, each with how it was measured."""
    found = {figure["figure"]: figure for figure in figures}
    cells = {
        column.figure: make_cell(column, found[column.figure])
        for column in FIGURE_COLUMNS
        if column.figure in found
    }
    energy = found.get("energy_per_epoch_j", {})
    instrument = instrument_named(energy.get("tier"), energy.get("covers"))
    for group in HEADLINES:
        shown = next((cells[name] for name in group if name in cells and cells[name].raw), None)
        if shown is not None:
            yield shown, instrument if shown.column.is_energy else ""
