"""Leaderboards: the entries of one workload, division and data set, sorted and ranked."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reporter.board.columns import FACETS, FIGURE_COLUMNS, Cell, Column, Facet, make_cell, show_facet
from reporter.board.ranking import Rank, rank_entries
from reporter.data.entries import make_labels
from reporter.data.frames import ACCEPTED, GENERATED, REFUSED, STUDIED, WITHDRAWN, Frames, known, rows_of
from reporter.data.missed import reached_text, why_unranked
from reporter.data.values import values_of_runs
from suite.catalog.load_limits import MAX_FOREIGN_SHARE
from suite.catalog.rounds import load_rounds

RANKED_BY = "time_to_target_s"
ALWAYS = ("device", "framework")
DISTURBANCES = {"throttled_events": (0, "throttled"), "foreign_cpu_share": (MAX_FOREIGN_SHARE, "other programs ran")}
"""Badges by figure: shown when the highest value of an entry's runs is above the limit."""
EVIDENCE_WORDS = {"audited_in": "audited in", "witnessed_by": "witnessed by", "signed_by": "signed by"}
SEEDS = {"round": "seeds of the round's nonce", "self-chosen": "seeds of the submitter's nonce", "none": "seeds chosen by the submitter"}
"""Badges by where the seeds of an entry came from."""
NO_ROUND = "no round"
UNRANKED = Rank(None, 0, "not ranked")


@dataclass(frozen=True)
class BoardRow:
    """A row of a leaderboard. ``evidence`` is the entry's page, relative to the site's root; ``reached`` is empty unless a run missed the target."""

    entry: Mapping[str, Any]
    label: str
    evidence: str
    rank: Rank
    facets: tuple[str, ...]
    cells: tuple[Cell, ...]
    findings: int
    badges: tuple[str, ...]
    reached: str


@dataclass(frozen=True)
class Board:
    """``facets`` are the properties in which rows differ, ``same`` those that all rows share, as (heading, value)."""

    slug: str
    workload: str
    division: str
    data: str
    round: str
    own_data: bool
    frames: Frames
    facets: tuple[Facet, ...]
    same: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    accepted: tuple[BoardRow, ...]
    refused: tuple[BoardRow, ...]
    withdrawn: tuple[BoardRow, ...]

    @property
    def runs(self) -> int:
        """Number of runs of the accepted entries."""
        return sum(int(row.entry["runs"]) for row in self.accepted)

    @property
    def is_compared(self) -> bool:
        """Whether at least one entry has enough runs for a rank."""
        return any(row.rank.rank is not None for row in self.accepted)


def make_boards(frames: Frames) -> list[Board]:
    """One board per round, workload, division and data set; the newest round and workloads' own data sets first.

    Generated data and stall analyses are excluded. Runs that name no round of the rulebook are refused; they have boards of their own.
    """
    published = frames.entries[~frames.entries["state"].isin((GENERATED, STUDIED))]
    groups = published.assign(round=published["round"].fillna(NO_ROUND)).groupby(["workload", "division", "data", "round"], sort=True)
    boards = [_board(frames.of_entries(entries), *key) for key, entries in groups]
    age = {each.name: age for age, each in enumerate(reversed(load_rounds()))}
    return sorted(boards, key=lambda board: (age.get(board.round, len(age)), board.workload, not board.own_data, board.division, board.data))


def _board(frames: Frames, workload: str, division: str, data: str, judged_by: str) -> Board:
    entries, needed = list(rows_of(frames.entries)), {column.figure for column in FIGURE_COLUMNS} | set(DISTURBANCES)
    figures: dict[str, dict[str, Any]] = {}
    names = [name for name in frames.entry_figures["figure"].unique() if name in needed]
    for row in rows_of(frames.select("entry_figures", "figure", names)):
        figures.setdefault(row["entry_id"], {})[row["figure"]] = row
    facets = {entry["entry_id"]: _facets(entry, figures.get(entry["entry_id"], {})) for entry in entries}
    differ = tuple(facet for facet in FACETS if facet.name in ALWAYS or _differs(facet, facets.values()))
    same = tuple((facet.heading, _joined(facet, facets.values())) for facet in FACETS if facet not in differ)
    columns = tuple(column for column in FIGURE_COLUMNS if any(column.figure in found for found in figures.values()))
    rows = list(_rows(frames, entries, figures, facets, differ, columns))
    states = {state: tuple(row for row in rows if row.entry["state"] == state) for state in (ACCEPTED, REFUSED, WITHDRAWN)}
    own_data = all(bool(entry["own_data"]) for entry in entries)
    slug = "-".join(_slug(word) for word in (workload, division, data, judged_by))
    accepted = frames.accepted()
    by_state = (states[ACCEPTED], states[REFUSED], states[WITHDRAWN])
    return Board(slug, workload, division, data, judged_by, own_data, accepted, differ, same, columns, *by_state)


def _differs(facet: Facet, rows: Iterable[Mapping[str, str]]) -> bool:
    """Whether rows differ in it; for versions, whether rows of the same framework do."""
    if facet.name == "framework_version":
        pairs = {(row["framework"], row[facet.name]) for row in rows}
        return len(pairs) > len({framework for framework, _ in pairs})
    return len({row[facet.name] for row in rows}) > 1


def _joined(facet: Facet, rows: Iterable[Mapping[str, str]]) -> str:
    if facet.name == "framework_version":
        return ", ".join(sorted({f"{row['framework']} {row[facet.name]}" for row in rows}))
    return next(iter(rows))[facet.name]


def _rows(
    frames: Frames,
    entries: list[dict[str, Any]],
    figures: Mapping[str, Mapping[str, Any]],
    facets: Mapping[str, Mapping[str, str]],
    differ: tuple[Facet, ...],
    columns: tuple[Column, ...],
) -> Iterator[BoardRow]:
    """The rows sorted by time to target, then time per epoch, then entry id."""
    labels, values = make_labels(entries), values_of_runs(frames.accepted(), RANKED_BY)
    ranked = {
        entry["entry_id"]: values[entry["entry_id"]]
        for entry in entries
        if entry["state"] == ACCEPTED and why_unranked(entry) is None and len(values.get(entry["entry_id"], [])) == (entry["reached"] or 0)
    }
    ranks = {**rank_entries(ranked), **{entry["entry_id"]: Rank(None, 0, reason) for entry in entries if (reason := why_unranked(entry))}}
    runs: dict[str, list[str]] = {}
    for run, entry_id in zip(frames.runs["run_id"], frames.runs["entry_id"], strict=True):
        runs.setdefault(entry_id, []).append(run)
    for entry in sorted(entries, key=lambda entry: (*_order(figures.get(entry["entry_id"], {})), entry["entry_id"])):
        name, found = entry["entry_id"], figures.get(entry["entry_id"], {})
        yield BoardRow(
            entry,
            labels[name],
            f"entries/{name}.html",
            ranks.get(name, UNRANKED),
            tuple(facets[name][facet.name] for facet in differ),
            tuple(make_cell(column, found.get(column.figure)) for column in columns),
            sum(len(frames.verdicts[run].findings) for run in runs[name]),
            _badges(entry, found),
            reached_text(entry),
        )


def _order(figures: Mapping[str, Any]) -> tuple[float, float]:
    values = [figures.get(name, {}).get("value") for name in (RANKED_BY, "time_to_epoch_s")]
    first, second = (float(value) if known(value) else float("inf") for value in values)
    return first, second


def _facets(entry: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, str]:
    availability = entry["availability"] if known(entry["availability"]) else "not submitted"
    special = {"energy": _sensor(figures.get("energy_per_epoch_j", {})), "availability": availability}
    return {facet.name: special.get(facet.name) or show_facet(entry.get(facet.name)) for facet in FACETS}


def _sensor(energy: Mapping[str, Any]) -> str:
    if known(energy.get("tier")):
        return f"{energy['tier']}, {energy['covers']}"
    return "unknown sensor" if known(energy.get("value")) else "not measured"


def _badges(entry: Mapping[str, Any], figures: Mapping[str, Any]) -> tuple[str, ...]:
    disturbed = (badge for name, (limit, badge) in DISTURBANCES.items() if known(high := figures.get(name, {}).get("high")) and high > limit)
    people = (f"{words} {entry[name]}" for name, words in EVIDENCE_WORDS.items() if known(entry[name]))
    return (*disturbed, SEEDS.get(entry["nonce_kind"], "seeds of several kinds"), *people)


def _slug(word: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in word.lower()) or "-"
