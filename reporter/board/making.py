"""Makes leaderboards from frames: groups entries, ranks and labels them."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reporter.board.boards import ORDER, Leaderboard, LeaderboardRow
from reporter.board.columns import (
    FACETS,
    FIGURE_COLUMNS,
    PROVENANCE,
    Column,
    Facet,
    make_cell,
    show_facet,
)
from reporter.board.energies import energy_tables, instrument_order
from reporter.board.ranking import Rank, rank_entries, unranked
from reporter.board.systems import is_reference_system
from reporter.data.entries import (
    CODE,
    PRECISION,
    STRICT,
    TRAINED,
    describe_property,
    entry_differences,
    make_labels,
)
from reporter.data.entry_scores import RANKED, EntryScores, Status
from reporter.data.figure_fields import kind_of_sensor
from reporter.data.frames import (
    ACCEPTED,
    GENERATED,
    REFUSED,
    STUDIED,
    WITHDRAWN,
    Frames,
    Row,
    grouped,
    is_known,
    rows_of,
)
from reporter.data.machine_names import machine_title, system_name
from reporter.data.missed import is_short, reached_text
from reporter.data.shown_replications import (
    AND,
    OWN_REPLAY,
    SELF_REPORTED,
    ShownReplication,
    provenance_of,
    replication_badges,
)
from reporter.data.values import figures_by_entry
from reporter.data.words import submitter_title
from suite.catalog.divisions import Division
from suite.catalog.load_limits import MAX_FOREIGN_SHARE
from suite.catalog.organizations import cannot_vouch
from suite.catalog.rounds import load_rounds
from suite.catalog.scoring import load_scoring

KEYS = ("workload", "division", "data", "round", "precision", "is_reference")
"""What all entries of a board share."""
ALWAYS = ("device", "framework")
NOT_IN_SETTING = (
    "framework",
    "device",
    "nodes",
    "power_mode",
    "cpu_model",
    "gpu",
    "node_machines",
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
EPOCH_ENERGY = "energy_per_epoch_j"
NOT_ACCEPTED = unranked("not ranked: the entry is not accepted")


def make_boards(frames: Frames, beside_reference: bool = False) -> list[Leaderboard]:
    """One board per round, workload, division and data set, of the closed division also per
    precision; the newest round and workloads' own data sets first.

    Reference systems have boards of their own, unless ``beside_reference``. Generated data and
    stall analyses are excluded. Runs that name no round of the rulebook are refused; they have
    boards of their own.
    """
    published = frames.entries[~frames.entries["state"].isin((GENERATED, STUDIED))]
    compared_in = published[PRECISION].where(published["division"] == Division.CLOSED.value, "")
    is_reference = [
        not beside_reference and is_reference_system(entry) for entry in rows_of(published)
    ]
    keys = ["workload", "division", "data", "round", "compared_in", "is_reference"]
    groups = published.assign(
        round=published["round"].fillna(NO_ROUND),
        compared_in=compared_in,
        is_reference=is_reference,
    ).groupby(keys, sort=True)
    boards = [
        # pandas 2 gives a bool of NumPy's, which JSON does not know
        _board(frames.of_entries(entries), dict(zip(KEYS, (*key[:-1], bool(key[-1])), strict=True)))
        for key, entries in groups
    ]
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


def _place(board: Leaderboard) -> tuple[str | bool, ...]:
    """Among the boards of a workload's data; the strict precision before the others, devices before
    reference systems."""
    precision = "" if board.precision == STRICT else board.precision
    return board.division, board.data, precision, board.is_reference


def _board(frames: Frames, of_board: Mapping[str, Any]) -> Leaderboard:
    """The board with these values of KEYS."""
    figures = figures_by_entry(
        frames, {*DISTURBANCES, *(column.figure for column in FIGURE_COLUMNS)}
    )
    facets = {
        name: _facets(entry, figures[name], _provenance(frames, entry, figures[name]))
        for entry in rows_of(frames.entries)
        if (name := entry["entry_id"])
    }
    is_open = of_board["division"] == Division.OPEN.value
    differ, same = _differing(list(facets.values()), is_open)
    columns = tuple(
        each for each in FIGURE_COLUMNS if any(each.figure in found for found in figures.values())
    )
    shown = {
        name: tuple(of_entry[facet.name] for facet in differ) for name, of_entry in facets.items()
    }
    rows = tuple(_board_rows(frames, figures, shown, columns))
    sections = {
        name: tuple(row for row in rows if row.entry["state"] == name)
        for name in (ACCEPTED, REFUSED, WITHDRAWN)
    }
    scores = {row.entry_id: row.scores for row in sections[ACCEPTED]}
    return Leaderboard(
        slug="-".join(map(_slug, _address(**of_board))),
        **of_board,
        own_data=bool(frames.entries["own_data"].all()),
        frames=frames.accepted(),
        facets=differ,
        same=same,
        columns=columns,
        energies=energy_tables(scores, load_scoring()),
        accepted=sections[ACCEPTED],
        refused=sections[REFUSED],
        withdrawn=sections[WITHDRAWN],
    )


def _address(
    workload: str, division: str, data: str, round: str, precision: str, is_reference: bool
) -> Iterator[str]:
    """The words of a board's slug."""
    yield from (workload, division, data, round)
    if precision not in ("", STRICT):
        yield precision
    if is_reference:
        yield "reference"


def _differing(
    rows: Sequence[Mapping[str, str]], is_open: bool
) -> tuple[tuple[Facet, ...], tuple[tuple[str, str], ...]]:
    """The facets in which rows differ, and what they share in the others, as (heading, value).

    What was trained is the workload's in the closed division, where each implementation has its own
    code."""
    always = (*ALWAYS, TRAINED[0]) if is_open else ALWAYS
    hidden = () if is_open else (*TRAINED, CODE)
    differ = tuple(facet for facet in FACETS if facet.name in always or _differs(facet, rows))
    same = tuple(
        (facet.heading, _joined(facet, rows))
        for facet in FACETS
        if facet not in differ and facet.name not in hidden
    )
    return differ, same


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


def _board_rows(
    frames: Frames,
    figures: Mapping[str, Mapping[str, Row]],
    facets: Mapping[str, tuple[str, ...]],
    columns: tuple[Column, ...],
) -> Iterator[LeaderboardRow]:
    """The rows: confirmed ones by score, provisional ones, then the others; equal ones by entry
    id."""
    entries = {entry["entry_id"]: entry for entry in rows_of(frames.entries)}
    labels, settings = make_labels(list(entries.values())), _settings(entries.values())
    ranks, findings, scoring = _ranks(frames), _findings(frames), load_scoring()
    unread = frames.with_unread_sensors()
    order = {
        name: (*_order(frames.scores[name], ranks.get(name), figures[name]), name)
        for name in entries
    }
    for name in sorted(entries, key=order.__getitem__):
        entry, found, scores = entries[name], figures[name], frames.scores[name]
        yield LeaderboardRow(
            entry,
            labels[name],
            system_name(entry),
            str(entry["implementation_name"]),
            settings[name],
            f"entries/{name}.html",
            ranks.get(name, NOT_ACCEPTED),
            scores,
            instrument_order(
                scores.instrument or kind_of_sensor(found.get(EPOCH_ENERGY, {})), scoring
            ),
            facets[name],
            tuple(make_cell(column, found.get(column.figure)) for column in columns),
            findings[name],
            (
                *(["the board's own sensors were not read"] if name in unread else []),
                *_badges(entry, found, frames.replications.get(name, ())),
            ),
            reached_text(entry),
            _provenance(frames, entry, found),
        )


def _findings(frames: Frames) -> dict[str, int]:
    """The number of the checker's findings of each entry's runs."""
    found = dict.fromkeys(frames.entries["entry_id"], 0)
    for run, entry_id in frames.entry_of.items():
        found[entry_id] += len(frames.verdicts[run].findings)
    return found


def _settings(entries: Iterable[Row]) -> dict[str, str]:
    """Of each entry, its power mode and what distinguishes it from the others of its system and
    framework."""
    alike = grouped(entries, lambda entry: (system_name(entry), str(entry["framework"])))
    settings = {}
    for members in alike.values():
        differing = entry_differences(members, NOT_IN_SETTING)
        for entry in members:
            mode = (
                [str(entry["power_mode"]).partition(":")[0]]
                if is_known(entry["power_mode"])
                else []
            )
            words = (
                describe_property(name, value) for name, value in differing[str(entry["entry_id"])]
            )
            settings[str(entry["entry_id"])] = " · ".join([*mode, *words])
    return settings


def _ranks(frames: Frames) -> dict[str, Rank]:
    """The rank of every accepted entry, or why it has none."""
    accepted = frames.entries[frames.entries["state"] == ACCEPTED]
    scores = {name: frames.scores[name] for name in accepted["entry_id"]}
    confirmed = {
        name: one.time.measured
        for name, one in scores.items()
        if one.status in RANKED and one.time is not None
    }
    others = {
        name: unranked(one.reason or "") for name, one in scores.items() if name not in confirmed
    }
    short = [name for name in confirmed if scores[name].status is Status.SHORT]
    return {**rank_entries(confirmed, load_scoring(), short), **others}


def _order(scores: EntryScores, rank: Rank | None, figures: Mapping[str, Any]) -> tuple[float, ...]:
    """Ranked entries by place, behind them the provisional ones, then the others by score or by
    what was measured."""
    place = math.inf if rank is None or rank.place is None else rank.place
    behind = place, float(scores.status is not Status.PROVISIONAL)
    values = [figures.get(name, {}).get("value") for name in ORDER]
    return *behind, *(float(value) if is_known(value) else float("inf") for value in values)


def _provenance(frames: Frames, entry: Row, figures: Mapping[str, Any]) -> str:
    reviewers = str(entry["audited_by"]).split(AND) if is_known(entry["audited_by"]) else []
    submitters = cannot_vouch(entry["organization"], entry["signed_by"])
    witness = entry["witnessed_by"]
    auditors = [each for each in reviewers if each not in submitters]
    is_witnessed = is_known(witness) and witness not in submitters
    replications = frames.replications.get(entry["entry_id"], ())
    has_energy = is_known(figures.get(EPOCH_ENERGY, {}).get("value"))
    found = provenance_of(replications, auditors, is_witnessed, has_energy)
    return OWN_REPLAY if reviewers and found == SELF_REPORTED else found


def _facets(entry: Row, figures: Mapping[str, Row], status: str) -> dict[str, str]:
    availability = entry["availability"] if is_known(entry["availability"]) else "not submitted"
    special = {
        "device": machine_title(entry),
        "energy": _sensor(figures.get(EPOCH_ENERGY, {})),
        "availability": availability,
        PROVENANCE: status,
        "launches": (
            f"{entry['runs']} of {entry['launches']:.0f}"
            if is_known(entry["launches"])
            else "unknown"
        ),
    }
    special["nonce_kind"] = SEEDS.get(entry["nonce_kind"], "of several kinds")
    return {
        facet.name: special.get(facet.name) or show_facet(entry.get(facet.name)) for facet in FACETS
    }


def _sensor(energy: Row) -> str:
    if is_known(energy.get("tier")):
        return f"{energy['tier']}, {energy['covers']}"
    return "unknown sensor" if is_known(energy.get("value")) else "not measured"


def _badges(
    entry: Row, figures: Mapping[str, Any], replications: tuple[ShownReplication, ...]
) -> tuple[str, ...]:
    disturbed = (
        badge
        for name, (limit, badge) in DISTURBANCES.items()
        if is_known(high := figures.get(name, {}).get("high")) and high > limit
    )
    people = (
        f"{words} {entry[name]}" for name, words in EVIDENCE_WORDS.items() if is_known(entry[name])
    )
    attached = (
        ("energy from a logger's file that was attached after the run",)
        if figures.get(EPOCH_ENERGY, {}).get("attached")
        else ()
    )
    short = (
        (f"{entry['short']:g} of {entry['max_epochs']:g} epochs trained",)
        if is_short(entry)
        else ()
    )
    return (
        *short,
        *disturbed,
        *attached,
        *people,
        *replication_badges(replications, entry["code_is_public"] is True),
    )


def _slug(word: str) -> str:
    return (
        "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in word.lower())
        or "-"
    )
