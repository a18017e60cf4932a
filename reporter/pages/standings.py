"""What an entry's page, badge and citation say of where it stands: rank, machine, submitter, dates,
cost of a training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reporter.board.boards import Leaderboard
from reporter.data.entry_scores import SCORE_S
from reporter.data.frames import ACCEPTED, ALIKE, NODE_MACHINES, Frames, Row, rows_of
from reporter.data.machine_names import machine_title, profile_of, system_name
from reporter.data.missed import TIME_TO_TARGET
from reporter.data.text import significant
from reporter.data.words import moment_of, submitter_title
from reporter.pages.addresses import machine_page, submitter_page
from reporter.pages.entry_lines import TIME_PER_EPOCH, Dates, EntryLine, dates_of, entry_lines
from reporter.pages.shared import title_of
from suite.catalog.devices import GENERIC
from suite.catalog.frameworks import is_own
from suite.catalog.prices import SystemPrice, load_prices, system_prices

SAID = {
    SCORE_S: " expected to target",
    TIME_TO_TARGET: " measured to target",
    TIME_PER_EPOCH: " an epoch",
}
"""Figures of which the first known one is said, and what stands behind its number."""
NO_PRICE = "rules/prices has no price for this system"
NO_SCORE = "the training time is unknown, since the entry has no score"


@dataclass(frozen=True)
class Standing:
    """``badge`` is the text of the badge, ``said`` what came out in short, ``sentence`` describes
    the entry, ``title`` names workload, data set, framework and machine, ``trained`` the first two.

    ``costs`` are (configuration, cost with currency, reason if it is unknown). ``submitter_page``
    is empty for an entry on no leaderboard.
    """

    title: str
    trained: str
    said: str
    sentence: str
    badge: str
    is_ranked: bool
    rank: str
    machine: str
    machine_page: str
    submitter: str
    submitter_page: str
    dates: str
    last_moment: str
    costs: tuple[tuple[str, str, str], ...]
    is_compared: bool


def standings_of(frames: Frames, boards: Sequence[Leaderboard]) -> dict[str, Standing]:
    """Of every entry, those on no leaderboard included; ``boards`` are those of the frames."""
    return frames.cached("standings", lambda: _standings(frames, boards))


def _standings(frames: Frames, boards: Sequence[Leaderboard]) -> dict[str, Standing]:
    lines = {line.row.entry_id: line for line in entry_lines(boards, frames)}
    prices = {one.name: system_prices(one) for one in load_prices()}
    entries = list(rows_of(frames.entries))
    dates = dates_of(frames)
    return {
        name: _standing(entry, lines.get(name), dates[name], prices)
        for entry in entries
        if (name := str(entry["entry_id"]))
    }


def _standing(
    entry: Row,
    line: EntryLine | None,
    dates: Dates,
    prices: Mapping[str, tuple[SystemPrice, ...]],
) -> Standing:
    trained = title_of(entry)
    joined = " in" if is_own(str(entry["framework"])) else ":"
    title = f"{trained}{joined} {entry['implementation_name']}, {system_name(entry)}"
    cells = (
        {words: line.row.cell(figure) for figure, words in SAID.items()}
        if line is not None and line.section == ACCEPTED
        else {}
    )
    score = next(
        (f"{cell.quantity}{words}" for words, cell in cells.items() if cell and cell.raw), ""
    )
    rank, is_ranked = _rank(line), line is not None and line.row.rank.place is not None
    said = f"{score}, {rank}" if score else rank
    return Standing(
        title=title,
        trained=trained,
        said=said if is_ranked or not score else score,
        sentence=f"{title}: {said}.",
        badge=f"{score or 'no time'} · {rank if is_ranked else _status(line)}",
        is_ranked=is_ranked,
        rank=rank,
        machine=machine_title(entry),
        machine_page=_machine_page(entry, line),
        submitter=submitter_title(str(entry["organization"])),
        submitter_page=submitter_page(str(entry["organization"])) if line is not None else "",
        dates=dates.text,
        last_moment=moment_of(dates.last_ms),
        costs=_costs(entry, line, prices),
        is_compared=line is not None and line.section == ACCEPTED and len(line.board.accepted) > 1,
    )


def _machine_page(entry: Row, line: EntryLine | None) -> str:
    """A machine without a profile has a page if an entry of it is on a leaderboard; else that of
    all such machines."""
    return (
        machine_page(entry)
        if line is not None or profile_of(entry) is not None
        else f"devices/{GENERIC}.html"
    )


def _rank(line: EntryLine | None) -> str:
    if line is None:
        return "on no leaderboard"
    if line.section != "accepted":
        return line.section
    rank = line.row.rank
    if rank.place is None:
        return f"no rank: {rank.reason}"
    of = " on reference systems" if line.board.is_reference else ""
    return f"{rank.words} of {len(line.board.ranked)}{of}"


def _status(line: EntryLine | None) -> str:
    if line is None:
        return "on no leaderboard"
    return (
        line.section if line.section in ("refused", "withdrawn") else line.row.scores.status.value
    )


def _costs(
    entry: Row,
    line: EntryLine | None,
    prices: Mapping[str, tuple[SystemPrice, ...]],
) -> tuple[tuple[str, str, str], ...]:
    profile = profile_of(entry)
    systems = () if profile is None else prices.get(profile.name, ())
    if not systems or entry[NODE_MACHINES] != ALIKE:  # another machine has another price
        return (("", "", NO_PRICE),)
    score = (
        None
        if line is None or line.row.scores.time is None
        else line.row.scores.time.interval.value
    )
    return tuple(_cost(system, score, int(str(entry["nodes"]))) for system in systems)


def _cost(system: SystemPrice, score: float | None, nodes: int) -> tuple[str, str, str]:
    if system.reason is not None:
        return system.configuration, "", system.reason
    cost = None if score is None else system.cost_of(score)
    if cost is None:
        return system.configuration, "", NO_SCORE
    return system.configuration, f"{significant(cost * nodes)} {system.currency}", ""
