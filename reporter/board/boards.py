"""Leaderboards: the entries of one workload, division, data set, round and precision, by score,
with their ranks and tables of energies."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reporter.board.columns import (
    FACETS,
    FIGURE_COLUMNS,
    SCORE_COLUMNS,
    Cell,
    Column,
    Facet,
    make_cell,
    show_facet,
)
from reporter.board.energies import EnergyTable, energy_tables, place_of
from reporter.board.ranking import Rank, rank_entries, unranked
from reporter.board.systems import system_name
from reporter.data.entries import (
    CODE,
    PRECISION,
    STRICT,
    TRAINED,
    describe,
    differences,
    make_labels,
)
from reporter.data.entry_scores import MEASURED_J, SCORE_J, SCORE_S, EntryScores, Status
from reporter.data.frames import (
    ACCEPTED,
    GENERATED,
    REFUSED,
    STUDIED,
    WITHDRAWN,
    Frames,
    known,
    rows_of,
)
from reporter.data.framework_names import framework_name
from reporter.data.machine_names import machine_title
from reporter.data.missed import TIME_TO_TARGET, reached_text
from reporter.data.shown_replications import ShownReplication, badges_of
from reporter.data.words import submitter_title
from suite.catalog.divisions import Division
from suite.catalog.load_limits import MAX_FOREIGN_SHARE
from suite.catalog.rounds import load_rounds
from suite.catalog.scoring import load_scoring

ORDER = (SCORE_S, TIME_TO_TARGET, "time_to_epoch_s")
"""Figures that rows are sorted by: the next one where the one before is unknown or equal."""
ENERGIES = {SCORE_S: (SCORE_J,), TIME_TO_TARGET: (MEASURED_J,)}
"""The energy of the training whose time a board shows first."""
ALWAYS = ("device", "framework")
PEAK_MEMORY = "peak_memory_bytes"
NOT_IN_SETTING = (
    "framework",
    "device",
    "nodes",
    "power_mode",
    "cpu_model",
    "gpu",
    "state",
    "availability",
    "suite_version",
)
"""Properties that a row names elsewhere, or that are left to the opened row."""
DISTURBANCES = {
    "throttled_events": (0, "throttled"),
    "foreign_cpu_share": (MAX_FOREIGN_SHARE, "other programs ran"),
}
"""Badges by figure: shown when the highest value of an entry's runs is above the limit."""
EVIDENCE_WORDS = {
    "audited_in": "audited in",
    "witnessed_by": "witnessed by",
    "signed_by": "signed by",
}
SEEDS = {
    "round": "of the round's nonce",
    "self-chosen": "of the submitter's nonce",
    "none": "chosen by the submitter",
}
"""Where the seeds of an entry came from, in words."""
OF_FRAMEWORK = ("framework_version", CODE)
"""Facets that matter between rows of one framework."""
NO_ROUND = "no round"
NOT_ACCEPTED = unranked("not ranked: it is not accepted")


@dataclass(frozen=True)
class BoardRow:
    """A row of a leaderboard. ``evidence`` is the entry's page, relative to the site's root;
    ``reached`` is empty unless a run missed the target.

    ``instrument`` is the place of the energy's instrument in the rulebook's order. ``system``,
    ``framework`` and ``setting`` are names to show; the last has the power mode, and what
    distinguishes entries of one system and framework.
    """

    entry: Mapping[str, Any]
    label: str
    system: str
    framework: str
    setting: str
    evidence: str
    rank: Rank
    scores: EntryScores
    instrument: int
    facets: tuple[str, ...]
    cells: tuple[Cell, ...]
    findings: int
    badges: tuple[str, ...]
    reached: str

    def cell(self, figure: str) -> Cell | None:
        """The cell of this figure; None where the board has no such column."""
        return next((cell for cell in self.cells if cell.column.figure == figure), None)


def with_values(rows: Iterable[BoardRow], figure: str) -> list[tuple[BoardRow, Cell]]:
    """The rows that have a value of this figure, with its cells."""
    return [
        (row, cell)
        for row in rows
        if (cell := row.cell(figure)) is not None and cell.value is not None
    ]


@dataclass(frozen=True)
class Board:
    """``facets`` are the properties in which rows differ, ``same`` those that all rows share, as
    (heading, value).

    ``accepted`` are the confirmed and provisional rows by score, then the unranked ones;
    ``projected`` stand apart. ``precision`` is that of all rows of the closed division; empty in
    the open one.
    """

    slug: str
    workload: str
    division: str
    data: str
    round: str
    precision: str
    own_data: bool
    frames: Frames
    facets: tuple[Facet, ...]
    same: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    accepted: tuple[BoardRow, ...]
    projected: tuple[BoardRow, ...]
    refused: tuple[BoardRow, ...]
    withdrawn: tuple[BoardRow, ...]
    energies: tuple[EnergyTable, ...]

    @property
    def runs(self) -> int:
        """Number of runs of the accepted entries, projected ones left out."""
        return sum(int(row.entry["runs"]) for row in self.accepted)

    @property
    def ranked(self) -> tuple[BoardRow, ...]:
        """The rows with a rank."""
        return tuple(row for row in self.accepted if row.rank.best is not None)

    @cached_property
    def compared(self) -> tuple[BoardRow, ...]:
        """The rows that can be compared with one another: accepted ones, projected ones
        included."""
        return (*self.accepted, *self.projected)

    @cached_property
    def time(self) -> Column:
        """The figure that the board shows first: the score; where no entry has one, what was
        measured."""
        return self._first_known(ORDER) or SCORE_COLUMNS[0]

    @cached_property
    def energy(self) -> Column | None:
        """The energy beside that time, of the same training; None where no entry has one."""
        return self._first_known((*ENERGIES.get(self.time.figure, ()), "energy_per_epoch_j"))

    @cached_property
    def memory(self) -> Column | None:
        """Peak memory; None where no entry has it."""
        return self._first_known((PEAK_MEMORY,))

    @cached_property
    def in_order(self) -> tuple[BoardRow, ...]:
        """The accepted rows by the board's time: confirmed and provisional ones by score; where no
        entry has one, all with a measured time."""
        return tuple(row for row in self.accepted if self._is_placed(row))

    def _is_placed(self, row: BoardRow) -> bool:
        cell = row.cell(self.time.figure)
        is_scored = self.time.figure != SCORE_S or row.scores.status in (
            Status.CONFIRMED,
            Status.PROVISIONAL,
        )
        return is_scored and cell is not None and cell.value is not None

    @cached_property
    def others(self) -> tuple[Column, ...]:
        """The other columns that are not empty in every row; the energy of the run only where it is
        not that of the training to the target."""
        left_out = (self.time, self.energy, self.memory)
        repeated = (
            "energy_j"
            if all(
                self._has(row, MEASURED_J) or not self._has(row, "energy_j") for row in self._rows
            )
            else ""
        )
        return tuple(
            column
            for column in self.columns
            if column not in left_out and column.figure != repeated and self.is_known(column.figure)
        )

    @staticmethod
    def _has(row: BoardRow, figure: str) -> bool:
        cell = row.cell(figure)
        return cell is not None and bool(cell.raw)

    @cached_property
    def unknown(self) -> tuple[tuple[Column, str], ...]:
        """The columns that are empty in every row, with the reason of the first row."""
        cells = {
            column: next((row.cell(column.figure) for row in self.compared), None)
            for column in self.columns
            if not self.is_known(column.figure)
        }
        return tuple((column, cell.why) for column, cell in cells.items() if cell is not None)

    def is_known(self, figure: str) -> bool:
        """Whether a row has a value of this figure."""
        return figure in self._known

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(cell.column.figure for row in self._rows for cell in row.cells if cell.raw)

    @property
    def _rows(self) -> tuple[BoardRow, ...]:
        return (*self.accepted, *self.projected, *self.refused, *self.withdrawn)

    def _first_known(self, figures: Iterable[str]) -> Column | None:
        columns = {column.figure: column for column in self.columns}
        return next((columns[figure] for figure in figures if self.is_known(figure)), None)

    @cached_property
    def why_no_ranks(self) -> str | None:
        """Why no entry has a rank, the most frequent reason; None where one has a rank."""
        reasons = Counter(str(row.rank.reason) for row in self.accepted)
        return (
            max(sorted(reasons), key=reasons.__getitem__) if reasons and not self.ranked else None
        )


def make_boards(frames: Frames) -> list[Board]:
    """One board per round, workload, division and data set, of the closed division also per
    precision; the newest round and workloads' own data sets first.

    Generated data and stall analyses are excluded. Runs that name no round of the rulebook are
    refused; they have boards of their own.
    """
    published = frames.entries[~frames.entries["state"].isin((GENERATED, STUDIED))]
    compared_in = published[PRECISION].where(published["division"] == Division.CLOSED.value, "")
    keys = ["workload", "division", "data", "round", "compared_in"]
    groups = published.assign(
        round=published["round"].fillna(NO_ROUND), compared_in=compared_in
    ).groupby(keys, sort=True)
    boards = [_board(frames.of_entries(entries), *key) for key, entries in groups]
    age = {each.name: age for age, each in enumerate(reversed(load_rounds()))}
    return sorted(
        boards,
        key=lambda board: (
            age.get(board.round, len(age)),
            board.workload,
            not board.own_data,
            *_place(board),
        ),
    )


def _place(board: Board) -> tuple[str, ...]:
    """Among the boards of a workload's data; the strict precision before the others."""
    return board.division, board.data, "" if board.precision == STRICT else board.precision


def _board(
    frames: Frames, workload: str, division: str, data: str, judged_by: str, precision: str
) -> Board:
    entries, needed = (
        list(rows_of(frames.entries)),
        {column.figure for column in FIGURE_COLUMNS} | set(DISTURBANCES),
    )
    figures: dict[str, dict[str, Any]] = {}
    names = [name for name in frames.entry_figures["figure"].unique() if name in needed]
    for row in rows_of(frames.select("entry_figures", "figure", names)):
        figures.setdefault(row["entry_id"], {})[row["figure"]] = row
    facets = {
        entry["entry_id"]: _facets(entry, figures.get(entry["entry_id"], {})) for entry in entries
    }
    is_open = division == Division.OPEN.value
    always = (*ALWAYS, TRAINED[0]) if is_open else ALWAYS
    differ = tuple(
        facet for facet in FACETS if facet.name in always or _differs(facet, facets.values())
    )
    # the workload's, and of each implementation its own
    hidden = () if is_open else (*TRAINED, CODE)
    same = tuple(
        (facet.heading, _joined(facet, facets.values()))
        for facet in FACETS
        if facet not in differ and facet.name not in hidden
    )
    columns = tuple(
        column
        for column in FIGURE_COLUMNS
        if any(column.figure in found for found in figures.values())
    )
    rows = list(_rows(frames, entries, figures, facets, differ, columns))
    accepted, projected, refused, withdrawn = (
        tuple(row for row in rows if _section(row) == name)
        for name in (ACCEPTED, PROJECTED, REFUSED, WITHDRAWN)
    )
    own_data = all(bool(entry["own_data"]) for entry in entries)
    others = () if precision in ("", STRICT) else (precision,)
    slug = "-".join(_slug(word) for word in (workload, division, data, judged_by, *others))
    energies = energy_tables(
        {row.entry["entry_id"]: row.scores for row in accepted}, load_scoring()
    )
    return Board(
        slug,
        workload,
        division,
        data,
        judged_by,
        precision,
        own_data,
        frames.accepted(),
        differ,
        same,
        columns,
        accepted,
        projected,
        refused,
        withdrawn,
        energies,
    )


PROJECTED = "projected"


def _section(row: BoardRow) -> str:
    """The table of a board that the row is in."""
    state = str(row.entry["state"])
    return PROJECTED if state == ACCEPTED and row.scores.status is Status.PROJECTED else state


def _differs(facet: Facet, rows: Iterable[Mapping[str, str]]) -> bool:
    """Whether rows differ in it; for versions and code, whether rows of the same framework do."""
    if facet.name in OF_FRAMEWORK:
        pairs = {(row["framework"], row[facet.name]) for row in rows}
        return len(pairs) > len({framework for framework, _ in pairs})
    return len({row[facet.name] for row in rows}) > 1


def _joined(facet: Facet, rows: Iterable[Mapping[str, str]]) -> str:
    if facet.name in OF_FRAMEWORK:
        return ", ".join(sorted({f"{row['framework']} {row[facet.name]}" for row in rows}))
    shared = next(iter(rows))[facet.name]
    return submitter_title(shared) if facet.name == "organization" else shared


def _rows(
    frames: Frames,
    entries: list[dict[str, Any]],
    figures: Mapping[str, Mapping[str, Any]],
    facets: Mapping[str, Mapping[str, str]],
    differ: tuple[Facet, ...],
    columns: tuple[Column, ...],
) -> Iterator[BoardRow]:
    """The rows: confirmed and provisional ones by score, then the others; equal ones by entry
    id."""
    labels, scores = (
        make_labels(entries),
        {entry["entry_id"]: frames.scores[entry["entry_id"]] for entry in entries},
    )
    ranks = _ranks(
        {
            name: scores[name]
            for name in (entry["entry_id"] for entry in entries if entry["state"] == ACCEPTED)
        }
    )
    by_id, settings = {entry["entry_id"]: entry for entry in entries}, _settings(entries)
    findings = _findings(frames)
    for name in sorted(
        labels, key=lambda name: (*_order(scores[name], figures.get(name, {})), name)
    ):
        entry, found = by_id[name], figures.get(name, {})
        yield BoardRow(
            entry,
            labels[name],
            system_name(entry),
            framework_name(str(entry["framework"])),
            settings[name],
            f"entries/{name}.html",
            ranks.get(name, NOT_ACCEPTED),
            scores[name],
            place_of(
                scores[name].instrument or _kind(found.get("energy_per_epoch_j", {})),
                load_scoring(),
            ),
            tuple(facets[name][facet.name] for facet in differ),
            tuple(make_cell(column, found.get(column.figure)) for column in columns),
            findings[name],
            _badges(entry, found, frames.replications.get(name, ())),
            reached_text(entry),
        )


def _findings(frames: Frames) -> dict[str, int]:
    """The number of the checker's findings of each entry's runs."""
    found: dict[str, int] = {}
    for run, entry_id in zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True):
        found[entry_id] = found.get(entry_id, 0) + len(frames.verdicts[run].findings)
    return found


def _settings(entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Of each entry, its power mode and what distinguishes it from the others of its system and
    framework."""
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for entry in entries:
        alike.setdefault((system_name(entry), str(entry["framework"])), []).append(entry)
    settings = {}
    for members in alike.values():
        differing = differences(members, NOT_IN_SETTING)
        for entry in members:
            mode = (
                [str(entry["power_mode"]).partition(":")[0]] if known(entry["power_mode"]) else []
            )
            words = (describe(name, value) for name, value in differing[str(entry["entry_id"])])
            settings[str(entry["entry_id"])] = " · ".join([*mode, *words])
    return settings


def _ranks(scores: Mapping[str, EntryScores]) -> dict[str, Rank]:
    """The rank of every accepted entry, or why it has none."""
    confirmed = {
        name: one.time.measured
        for name, one in scores.items()
        if one.status is Status.CONFIRMED and one.time is not None
    }
    others = {
        name: unranked(one.reason or "") for name, one in scores.items() if name not in confirmed
    }
    return {**rank_entries(confirmed, load_scoring()), **others}


def _order(scores: EntryScores, figures: Mapping[str, Any]) -> tuple[float, ...]:
    """Confirmed and provisional entries in one order by score; behind them the others, by score or
    by what was measured."""
    behind = float(scores.status not in (Status.CONFIRMED, Status.PROVISIONAL))
    values = [figures.get(name, {}).get("value") for name in ORDER]
    return behind, *(float(value) if known(value) else float("inf") for value in values)


def _facets(entry: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, str]:
    availability = entry["availability"] if known(entry["availability"]) else "not submitted"
    special = {
        "device": machine_title(entry),
        "energy": _sensor(figures.get("energy_per_epoch_j", {})),
        "availability": availability,
    }
    special["nonce_kind"] = SEEDS.get(entry["nonce_kind"], "of several kinds")
    return {
        facet.name: special.get(facet.name) or show_facet(entry.get(facet.name)) for facet in FACETS
    }


def _kind(energy: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return energy.get("tier"), energy.get("covers")


def _sensor(energy: Mapping[str, Any]) -> str:
    if known(energy.get("tier")):
        return f"{energy['tier']}, {energy['covers']}"
    return "unknown sensor" if known(energy.get("value")) else "not measured"


def _badges(
    entry: Mapping[str, Any], figures: Mapping[str, Any], replications: tuple[ShownReplication, ...]
) -> tuple[str, ...]:
    disturbed = (
        badge
        for name, (limit, badge) in DISTURBANCES.items()
        if known(high := figures.get(name, {}).get("high")) and high > limit
    )
    people = (
        f"{words} {entry[name]}" for name, words in EVIDENCE_WORDS.items() if known(entry[name])
    )
    attached = (
        ("energy from a trace that was attached after the run",)
        if figures.get("energy_per_epoch_j", {}).get("attached")
        else ()
    )
    return (
        *disturbed,
        *attached,
        *people,
        *badges_of(replications, entry["code_is_public"] is True),
    )


def _slug(word: str) -> str:
    return (
        "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in word.lower())
        or "-"
    )
