"""A page per entry: its figures, and the runs that they are computed from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import jinja2

from reporter.board.boards import Board
from reporter.board.columns import FIGURE_COLUMNS, Cell, make_cell, name_of_figure
from reporter.board.systems import system_name
from reporter.data.entry_scores import MEASURED_J, OF_ENTRIES, SCORE_J, SCORE_S, EntryScores
from reporter.data.frames import IDENTITY, Frames, Row, records
from reporter.data.instrument_names import instrument_named
from reporter.data.missed import reached_text
from reporter.data.scores import PARTS
from reporter.data.shown_replications import ShownReplication, replication_badges
from reporter.data.text import significant
from reporter.data.values import entries_of
from reporter.pages.shared import Page, board_title, render_page
from reporter.pages.standings import Standing, standings_of
from suite.compliance.checker import BundleVerdict

EVIDENCE_OF_SCORES = {**{name: parts[1] for name, parts in PARTS.items()}, MEASURED_J: "energy_j"}
"""The figure of a run that a score's number leads to: that of a later epoch; of the measured
energy, that of the run."""


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
    labels, standings = entries_of(frames), standings_of(frames, boards)
    links = {
        row.entry_id: BoardLink(board.slug, board_title(board))
        for board in boards
        for row in board.rows
    }
    figures, runs, values = (
        frames.rows_by("entry_figures", "entry_id"),
        frames.rows_by("runs", "entry_id"),
        frames.rows_by("figures", "run_id"),
    )
    for entry in records(frames.entries):
        name, its_runs = entry["entry_id"], runs(entry["entry_id"])
        scores, replications = frames.scores[name], frames.replications.get(name, ())
        of_runs = [
            {row["figure"]: row["value"] for row in values(run["run_id"])}
            | _scores_of_run(scores, run["run_id"])
            for run in its_runs
        ]
        yield EntryEvidence(
            entry,
            labels[name]["label"],
            links.get(name),
            sorted(figures(name), key=lambda row: row["value"] is None),
            its_runs,
            [frames.verdicts[run["run_id"]] for run in its_runs],
            of_runs,
            scores,
            standings[name],
            replications,
            replication_badges(replications, entry["code_is_public"] is True),
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
    entry = evidence.entry
    shown = {
        **vars(evidence),
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
