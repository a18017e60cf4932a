"""A leaderboard: the entries of one workload, division, data set, round and precision, by score,
with their ranks and tables of energies."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from reporter.board.columns import SCORE_COLUMNS, Cell, Column, Facet
from reporter.board.energies import EnergyTable
from reporter.board.ranking import Rank
from reporter.data.entry_scores import MEASURED_J, RANKED, SCORE_J, SCORE_S, EntryScores, Status
from reporter.data.frames import Frames, Row, is_known
from reporter.data.missed import TIME_TO_TARGET
from reporter.data.shown_replications import OWN_REPLAY, SELF_REPORTED
from suite.catalog.scoring import load_scoring

EPOCH_S, EPOCH_J = "time_to_epoch_s", "energy_per_epoch_j"
ORDER = (SCORE_S, TIME_TO_TARGET, EPOCH_S)
"""Figures that rows are sorted by: the next one where the one before is unknown or equal."""
ENERGIES = {SCORE_S: SCORE_J, TIME_TO_TARGET: MEASURED_J, EPOCH_S: EPOCH_J}
"""The energy of the training, or of the epoch, whose time a board shows first."""
PLACED = (*RANKED, Status.PROVISIONAL)
"""Of entries that are in one order by score."""
PEAK_MEMORY = "peak_memory_bytes"


@dataclass(frozen=True)
class LeaderboardRow:
    """A row of a leaderboard. ``evidence`` is the entry's page, relative to the site's root;
    ``reached`` is empty unless a run missed the target.

    ``provenance`` is *self-reported*, or names who audited or reproduced it. ``instrument`` is the
    place of the energy's instrument in the rulebook's order. ``system``, ``framework`` and
    ``setting`` are names to show; the last has the power mode, and what distinguishes entries of
    one system and framework.
    """

    entry: Row
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
    provenance: str

    @property
    def is_confirmed(self) -> bool:
        """Whether it may stand in a headline: confirmed, or measured in enough runs where it has no
        score."""
        return self.scores.status in RANKED or (
            self.scores.status in (Status.UNRANKED, Status.CHARACTERISATION)
            and self.scores.time is None
            and int(self.entry["runs"]) >= load_scoring().min_runs
        )

    @property
    def why_not_counted(self) -> str:
        """ "not counted: the entry has 2 of the 3 runs needed"; empty for a confirmed entry."""
        if self.is_confirmed:
            return ""
        runs, wanted = int(self.entry["runs"]), load_scoring().min_runs
        if runs < wanted:
            return f"not counted: the entry has {runs} of the {wanted} runs needed"
        return f"not counted: {self.scores.reason or self.rank.reason or 'not confirmed'}"

    @property
    def is_nominated(self) -> bool:
        """Whether its submitter chose it, before the runs, to stand for the device."""
        return self.entry["is_nominated"] is True

    @property
    def power_mode(self) -> str:
        """The power mode's name; empty where it is unknown."""
        mode = self.entry["power_mode"]
        return str(mode).partition(":")[0] if is_known(mode) else ""

    @property
    def entry_id(self) -> str:
        """The entry's id."""
        return str(self.entry["entry_id"])

    @property
    def is_vouched(self) -> bool:
        """Whether somebody else than the submitter stands behind the figures."""
        return self.provenance not in (SELF_REPORTED, OWN_REPLAY)

    def cell(self, figure: str) -> Cell | None:
        """The cell of this figure; None where the board has no such column."""
        return next((cell for cell in self.cells if cell.column.figure == figure), None)

    def value(self, figure: str) -> float | None:
        """The value of this figure in its column's unit; None where it is unknown."""
        cell = self.cell(figure)
        return None if cell is None else cell.value


def with_values(rows: Iterable[LeaderboardRow], figure: str) -> list[tuple[LeaderboardRow, Cell]]:
    """The rows that have a value of this figure, with its cells."""
    return [
        (row, cell)
        for row in rows
        if (cell := row.cell(figure)) is not None and cell.value is not None
    ]


@dataclass(frozen=True)
class Leaderboard:
    """``facets`` are the properties in which rows differ, ``same`` those that all rows share, as
    (heading, value).

    ``accepted`` are the ranked and provisional rows by score, then the unranked ones.
    ``precision`` is that of all rows of the closed division; empty in the open one.
    ``is_reference``: its rows are reference systems, which stand apart from devices.
    """

    slug: str
    workload: str
    division: str
    data: str
    round: str
    precision: str
    is_reference: bool
    own_data: bool
    frames: Frames
    facets: tuple[Facet, ...]
    same: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    accepted: tuple[LeaderboardRow, ...]
    refused: tuple[LeaderboardRow, ...]
    withdrawn: tuple[LeaderboardRow, ...]
    energies: tuple[EnergyTable, ...]

    @property
    def runs(self) -> int:
        """Number of runs of the accepted entries."""
        return sum(int(row.entry["runs"]) for row in self.accepted)

    @property
    def ranked(self) -> tuple[LeaderboardRow, ...]:
        """The rows with a rank."""
        return tuple(row for row in self.accepted if row.rank.place is not None)

    @cached_property
    def time(self) -> Column:
        """The figure that the board shows first: the score; where no entry has one, what was
        measured."""
        return self._first_known(ORDER) or SCORE_COLUMNS[0]

    @cached_property
    def energy(self) -> Column | None:
        """The energy beside that time: of the same training, else of an epoch; None where no entry
        has one."""
        return self._first_known((ENERGIES[self.time.figure], EPOCH_J))

    @cached_property
    def memory(self) -> Column | None:
        """Peak memory; None where no entry has it."""
        return self._first_known((PEAK_MEMORY,))

    @cached_property
    def in_order(self) -> tuple[LeaderboardRow, ...]:
        """The accepted rows by the board's time: confirmed and provisional ones by score; where no
        entry has one, all with a measured time."""
        return tuple(row for row in self.accepted if self._is_placed(row))

    def _is_placed(self, row: LeaderboardRow) -> bool:
        is_scored = self.time.figure != SCORE_S or row.scores.status in PLACED
        return is_scored and row.value(self.time.figure) is not None

    @cached_property
    def other_columns(self) -> tuple[Column, ...]:
        """The other columns that are not empty in every row; the energy of the run only where it is
        not that of the training to the target."""
        left_out = (self.time, self.energy, self.memory)
        adds_energy = any(
            row.value("energy_j") is not None and row.value(MEASURED_J) is None for row in self.rows
        )
        return tuple(
            column
            for column in self.columns
            if column not in left_out
            and self.is_known(column.figure)
            and (adds_energy or column.figure != "energy_j")
        )

    @cached_property
    def unknown(self) -> tuple[tuple[Column, str], ...]:
        """The columns that are empty in every row, with the reason of the first row."""
        cells = {
            column: next((row.cell(column.figure) for row in self.accepted), None)
            for column in self.columns
            if not self.is_known(column.figure)
        }
        return tuple((column, cell.why) for column, cell in cells.items() if cell is not None)

    def is_known(self, figure: str) -> bool:
        """Whether a row has a value of this figure."""
        return figure in self._known

    @cached_property
    def _known(self) -> frozenset[str]:
        return _figures_of(self.rows)

    @property
    def rows(self) -> tuple[LeaderboardRow, ...]:
        """The rows of all sections."""
        return (*self.accepted, *self.refused, *self.withdrawn)

    def _first_known(self, figures: Iterable[str]) -> Column | None:
        """Of the accepted rows, where there are any: no other row changes what they show."""
        columns = {column.figure: column for column in self.columns}
        known = _figures_of(self.accepted or self.rows)
        return next((columns[figure] for figure in figures if figure in known), None)

    @cached_property
    def why_no_ranks(self) -> str | None:
        """Why no entry has a rank, the most frequent reason; None where one has a rank."""
        reasons = Counter(str(row.rank.reason) for row in self.accepted)
        return (
            max(sorted(reasons), key=reasons.__getitem__) if reasons and not self.ranked else None
        )


def _figures_of(rows: Iterable[LeaderboardRow]) -> frozenset[str]:
    """The figures that a row has a value of."""
    return frozenset(cell.column.figure for row in rows for cell in row.cells if cell.raw)
