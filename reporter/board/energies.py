"""Tables of a board's energies: one per kind of instrument and what it covers, the best first.
Energies compare inside a table only."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reporter.board.ranking import Rank, rank_entries, unranked
from reporter.data.entry_scores import RANKED, EntryScores, Score, Status
from suite.catalog.scoring import EnergyStanding, Instrument, Scoring
from suite.metrics.comparisons import ERROR_UNKNOWN

WHY_UNRANKED = {
    EnergyStanding.INDICATIVE: (
        "indicative: only energies from a calibrated meter at the wall or at the board's input are"
        " ranked"
    ),
    EnergyStanding.ESTIMATE: "an estimate, not a measurement",
}


@dataclass(frozen=True)
class EnergyRow:
    """An entry in a table of energies, in joules of a training to the target."""

    entry_id: str
    energy: Score
    status: Status
    rank: Rank


@dataclass(frozen=True)
class EnergyTable:
    """The entries whose energy was measured by one kind of instrument, by their energy."""

    instrument: Instrument
    rows: tuple[EnergyRow, ...]

    @property
    def title(self) -> str:
        """ "wall meter, board"."""
        return f"{self.instrument.tier.value}, {self.instrument.covers.value}"


def energy_tables(scores: Mapping[str, EntryScores], scoring: Scoring) -> tuple[EnergyTable, ...]:
    """The tables that have a row, in the rulebook's order of instruments."""
    found = []
    for instrument in scoring.instruments():
        of_kind = {
            name: entry
            for name, entry in scores.items()
            if entry.instrument == (instrument.tier.value, instrument.covers.value)
            and entry.energy is not None
        }
        if of_kind:
            found.append(EnergyTable(instrument, _energy_rows(instrument, of_kind, scoring)))
    return tuple(found)


def _energy_rows(
    instrument: Instrument, entries: Mapping[str, EntryScores], scoring: Scoring
) -> tuple[EnergyRow, ...]:
    reasons = {name: _why_unranked(instrument, entry) for name, entry in entries.items()}
    energies = {name: entry.energy for name, entry in entries.items() if entry.energy is not None}
    ranked = {name: energy.measured for name, energy in energies.items() if reasons[name] is None}
    short = [name for name in ranked if entries[name].status is Status.SHORT]
    ranks = rank_entries(ranked, scoring, short)
    rows = [
        EnergyRow(
            name, energy, entries[name].status, ranks.get(name) or unranked(str(reasons[name]))
        )
        for name, energy in energies.items()
    ]
    return tuple(
        sorted(
            rows,
            key=lambda row: (
                row.status not in RANKED,
                row.rank.place or math.inf,
                row.energy.interval.value,
                row.entry_id,
            ),
        )
    )


def _why_unranked(instrument: Instrument, entry: EntryScores) -> str | None:
    if instrument.standing is not EnergyStanding.RANKED:
        return WHY_UNRANKED[instrument.standing]
    if entry.status not in RANKED:
        return entry.reason
    if entry.contradicted_by is not None:
        return (
            f"{entry.contradicted_by} contradicts this sensor: leave out the wrong one with `suite"
            " power leave-out`"
        )
    return ERROR_UNKNOWN if entry.energy is not None and entry.energy.interval.low is None else None


def instrument_order(sensor: Iterable[str | None], scoring: Scoring) -> int:
    """The place of a tier and a coverage in the order of tables; after all of them for an unknown
    kind."""
    kind, kinds = tuple(sensor), scoring.instruments()
    return next(
        (each.place for each in kinds if (each.tier.value, each.covers.value) == kind), len(kinds)
    )
