"""What a leaderboard says in one sentence: which device is the fastest, by how much, and how sure
that is. Only confirmed entries are in it, of these the ones that somebody else than the submitter
stands behind, where there are any; each number carries the name of its quantity."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from reporter.board.boards import Leaderboard, LeaderboardRow, with_values
from reporter.board.comparison import comparables, compare_pair
from reporter.board.dot_chart import (
    DotChart,
    DotRow,
    energy_charts,
    memory_chart,
    time_chart,
)
from reporter.data.entry_scores import SCORE_S
from reporter.data.frames import Frames, is_known
from reporter.data.missed import TIME_TO_TARGET
from reporter.data.shown_replications import SELF_REPORTED
from reporter.data.text import significant
from reporter.data.words import day_of
from reporter.pages.shared import target_percent, trained_title
from suite.catalog.scoring import load_scoring
from suite.files.counted import counted
from suite.metrics.comparisons import OTHER_ACCELERATORS, Ratio

KIND = {SCORE_S: " expected", TIME_TO_TARGET: " measured"}
"""What the number of a sentence is, where it is not said that it is an epoch's."""
AMONG_VOUCHED = " among audited or reproduced results"
"""Which entries a superlative is of, where others stand behind some entries only."""
MAX_NAMED = 2


@dataclass(frozen=True)
class Headline:
    """The sentence, ``who`` and what is said of it; ``lines`` below it say what the number is, how
    sure the order is, whose word it is, who needs the least energy, and where the entries are
    from; ``notes`` say what the intervals allow for."""

    who: str
    said: str
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole sentence."""
        return f"{self.who}{self.said}"


def headline(board: Leaderboard) -> Headline:
    """The sentence of a board: of its devices, or where a single one has confirmed entries, of that
    device's frameworks. Of reference systems it only says what they are: they stand for no
    device."""
    return board.frames.cached("headline", lambda: _apart(board, _headline(board)))


def _apart(board: Leaderboard, found: Headline) -> Headline:
    if not board.is_reference:
        return found
    said = f"{trained_title(board)}: reference systems, apart from devices."
    return replace(found, who="", said=said, lines=(found.text, *found.lines))


def _headline(board: Leaderboard) -> Headline:
    rows, where = _fastest(board, "device"), ""
    if len(rows) == 1:
        by_framework = _fastest(board, "framework")
        alike = [row for row in by_framework if OTHER_ACCELERATORS not in row.verdicts.values()]
        if len(alike) > 1 and len(alike) == len(by_framework):
            where, rows = f" on {rows[0].name}", by_framework
    who, said, sure = _sentence(board, rows, where)
    lines = (
        _quantity(board, rows, sure),
        *_not_nominated(board, rows),
        *_whose_word(board, rows),
        *_least_energy(board),
        _origin(board),
    )
    return Headline(who, said, lines, tuple(filter(None, (_chosen(rows), _sessions(rows)))))


def _fastest(board: Leaderboard, by: str) -> list[DotRow]:
    return _rows_to_name(time_chart(board, by, only_vouched=True), time_chart(board, by))


def _rows_to_name(vouched: DotChart | None, everything: DotChart | None) -> list[DotRow]:
    """The rows that may stand in a sentence: of the confirmed entries that somebody else stands
    behind; where there are none, of all confirmed ones."""
    return _confirmed(vouched) or _confirmed(everything)


def _confirmed(chart: DotChart | None) -> list[DotRow]:
    return [row for row in chart.rows if row.best.is_confirmed] if chart is not None else []


def _of_which(board: Leaderboard, row: DotRow) -> str:
    """Which entries a superlative of this row is of; empty where it is of all confirmed ones."""
    left_out = any(each.is_confirmed and not each.is_vouched for each in board.in_order)
    return AMONG_VOUCHED if row.best.is_vouched and left_out else ""


def _whose_word(board: Leaderboard, rows: list[DotRow]) -> Iterator[str]:
    """Who stands behind the first row, and what is faster and has its submitter's word only."""
    if not rows:
        return
    first, fastest = rows[0], _confirmed(time_chart(board))[0]
    if first.best.provenance == SELF_REPORTED:
        yield f"{SELF_REPORTED.capitalize()}: nobody but the submitter vouches for these entries."
        return
    yield f"{first.name}: {first.best.provenance}."
    if _value(fastest) < _value(first):
        what = f"{fastest.name} with {fastest.best.framework}, {_amount(board, fastest)}"
        how = _faster(board, fastest.best, first, fastest.of)
        yield f"{SELF_REPORTED.capitalize()} and {how}: {what}."


def _not_nominated(board: Leaderboard, rows: list[DotRow]) -> Iterator[str]:
    """What is faster than a first row that was nominated before the runs."""
    if not rows or not rows[0].best.is_nominated:
        return
    others = [
        (row, cell)
        for row, cell in with_values(board.in_order, board.time.figure)
        if row.is_confirmed and not row.is_nominated
    ]
    for row, cell in others:
        if (cell.value or 0.0) < _value(rows[0]):
            how = _faster(board, row, rows[0], len(others)).capitalize()
            yield f"{how}, but not nominated before the runs: {row.label}, {cell.quantity}."
            return


def _faster(board: Leaderboard, row: LeaderboardRow, first: DotRow, of: int) -> str:
    """What a row with a lower value, the best of ``of``, is beside the first one by their
    verdict."""
    found = comparables(board.frames, [row.entry, first.best.entry], board.time.figure)
    one, other = found[row.entry_id], found[first.best.entry_id]
    verdict = compare_pair(one, other, (of + first.of) / 2)
    is_sure = isinstance(verdict, Ratio) and verdict.is_different
    return "faster" if is_sure else "lower, not significantly faster"


def _amount(board: Leaderboard, row: DotRow) -> str:
    """ "24.7 min expected"."""
    return f"{row.cell.quantity}{_kind(board)}"


def _kind(board: Leaderboard) -> str:
    return KIND.get(board.time.figure, "")


def _value(row: DotRow) -> float:
    return row.cell.value or 0.0


def _sentence(board: Leaderboard, rows: list[DotRow], where: str) -> tuple[str, str, str]:
    """Who, what is said, and how sure it is."""
    if not rows:
        return "", f"{trained_title(board)}: no confirmed result yet.", _why_none(board)
    first, does, among = rows[0], task(board), _of_which(board, rows[0])
    alike = [row for row in rows[1:] if row.name in first.alike]
    if alike:
        names = _listed([first.name, *(row.name for row in alike)])
        low, *_, high = sorted((first, *alike), key=_value)
        values = " to ".join(dict.fromkeys((low.cell.quantity, high.cell.quantity)))
        said = f" are not distinguishable{where}: each {does} in {values}{_kind(board)}."
        return names, said, _significance(first, _second(rows))
    said = f" {does} in {_amount(board, first)}."
    if len(rows) == 1:
        return first.name, said, _why_alone(first, among)
    second = _second(rows)
    if second.name not in first.apart:
        value = f"{_amount(board, first)}, {_ratio(second, first)}"
        said = f" {does} fastest{where}{among}: {value} times ahead of {second.name}."
    return first.name, said, _significance(first, second)


def _why_alone(row: DotRow, among: str) -> str:
    count = sum(member.is_confirmed for member, _ in row.members)
    which = "audited or reproduced" if among else "confirmed"
    if count == 1:
        return f"A single {which} result: nothing to compare."
    return f"The {count} {which} results are of one device: no other to compare."


def energy_and_memory_sentences(board: Leaderboard) -> dict[str, str]:
    """What stands in place of the sentence where a reader chose energy or memory; nothing does for
    reference systems."""
    if board.is_reference:
        return {}
    energy, memory = next(_least_energy(board), ""), memory_chart(board)
    found = {"energy": energy} if energy else {}
    for row in _rows_to_name(memory_chart(board, only_vouched=True), memory)[:1]:
        of_first = "of the first node" * (int(row.best.entry["nodes"]) > 1)
        found["memory"] = _least(board, row, of_first, row.best.framework, row.best.power_mode)
    title = trained_title(board)
    return {name: f"{title}: {said[0].lower()}{said[1:]}" for name, said in found.items()}


def device_headline(board: Leaderboard, names: frozenset[str]) -> Headline:
    """The sentence of one device, against the others of a board; of several of them only where a
    single one has no entry."""
    chart, row = time_chart(board), row_of_device(board, names)
    if row is None:
        return _without_a_row(board, names, chart)
    first = chart.rows[0]
    place = _place(board, row, chart)
    is_compared = row is not first and first.name not in row.apart
    beside = f", {_ratio(row, first)} times the time of {first.name}" if is_compared else ""
    alike = f" Not distinguishable from {_listed(list(row.alike))}." if row.alike else ""
    why = row.best.why_not_counted
    status = f" {why[0].upper()}{why[1:]}." if why else ""
    words = quantity_words(board, row)
    said = f" {task(board)} in {_amount(board, row)}: {place}{beside}."
    return Headline(
        row.name, said, (f"{words[0].upper()}{words[1:]}.{alike}{status}", _origin(board))
    )


def row_of_device(board: Leaderboard, names: frozenset[str]) -> DotRow | None:
    """The row of a device on a board, that of several of them only where a single one has none;
    None without a row."""
    own = [row for row in time_chart(board).rows if row.name in names]
    return min(own, key=lambda row: int(row.best.entry["nodes"]) > 1, default=None)


def _place(board: Leaderboard, row: DotRow, chart: DotChart) -> str:
    """Where a system stands among all: by rank words only where it has a rank."""
    count, kind = len(chart.rows) + chart.left_out, "reference " * board.is_reference + "system"
    if count == 1:
        return f"the only {kind}"
    if board.ranked and row.best.is_confirmed:
        return f"no. {row.place} of {count} {kind}s"
    values = [_value(other) for other in chart.rows if other is not row]
    others = counted(len(values), "other system") + (" shown" if chart.left_out else "")
    if shorter := sum(value < _value(row) for value in values):
        return f"longer than on {shorter} of {others}"
    longer = sum(value > _value(row) for value in values)
    if not longer:
        return f"the same time as on {others}"
    return f"shorter than on {others if longer == len(values) else f'{longer} of {others}'}"


def _without_a_row(board: Leaderboard, names: frozenset[str], chart: DotChart) -> Headline:
    """Of a device behind all rows of the chart, or one whose entries have no such time."""
    title, heading = trained_title(board), board.time.heading
    row = next((row for row in board.accepted if row.system in names), None)
    if row is None:
        return Headline("", f"No accepted result of {title}.", (_origin(board),))
    if any(each.system == row.system for each in board.in_order):
        shown, count = len(chart.rows), len(chart.rows) + chart.left_out
        said = f" is not among the fastest {shown} of {count} systems by {heading} for {title}."
        return Headline(row.system, said, (_origin(board),))
    reason = (f"{row.label}: {row.rank.reason}.",) if row.rank.reason else ()
    return Headline(row.system, f" has no {heading} for {title}.", (*reason, _origin(board)))


def task(board: Leaderboard) -> str:
    """ "trains LeNet-5 on MNIST to 99 %"; of a time per epoch "trains an epoch of"."""
    title, target = trained_title(board), target_percent(board)
    if board.time.figure not in KIND:
        return f"trains an epoch of {title}"
    return f"trains {title} to {target}" if target else f"trains {title}"


def _ratio(row: DotRow, other: DotRow) -> str:
    ratio = _value(row) / (_value(other) or 1.0)
    return significant(ratio, 3 if ratio < 1.1 else 2)


def _second(rows: list[DotRow]) -> DotRow:
    """The row that the first one is compared with: the first that may equal it, else the next that
    has a ratio to it."""
    first, *others = rows
    return min(others, key=lambda row: (row.name not in first.alike, row.name in first.apart))


def _significance(first: DotRow, second: DotRow) -> str:
    found = second.verdicts.get(first.name, "")
    if not isinstance(found, Ratio):
        return f"It is unknown whether the order is significant: {found}."
    ends = f"{significant(found.low)} to {significant(found.high)}"
    confidence = load_scoring().pair_confidence
    return (
        f"The first two differ: the {confidence} interval of their ratio is {ends}."
        if found.is_different
        else f"The first two are not distinguishable: the {confidence} interval of their ratio,"
        f" {ends}, contains 1."
    )


def _chosen(rows: list[DotRow]) -> str:
    """That the two that are compared were chosen from several settings."""
    if len(rows) < 2:
        return ""
    first, second = rows[0], _second(rows)
    if max(first.of, second.of) < 2 or not isinstance(second.verdicts.get(first.name), Ratio):
        return ""
    return (
        f"{first.name} is shown with the fastest of {counted(first.of, 'setting')}, {second.name}"
        f" with the fastest of {counted(second.of, 'setting')}. The interval of their ratio is"
        " widened to allow for this choice."
    )


def _why_none(board: Leaderboard) -> str:
    row = next(iter(board.accepted), None)
    if row is None:
        return "No accepted entry."
    why = row.why_not_counted
    return f"{row.label} is {why}." if why else f"{row.label}: {row.rank.reason}."


def _listed(names: list[str]) -> str:
    left = len(names) - MAX_NAMED
    *others, last = [*names[:MAX_NAMED], f"{left} more"] if left > 0 else names
    return f"{', '.join(others)} and {last}" if others else last


def quantity_words(board: Leaderboard, row: DotRow | None) -> str:
    """What the board's time is: "expected time to 99 % at 6.46 epochs"."""
    target = target_percent(board) or "the target"
    if board.time.figure == TIME_TO_TARGET:
        return f"measured time to {target}"
    if board.time.figure != SCORE_S:
        return board.time.heading
    epochs = row.best.scores.epochs if row is not None else None
    return f"expected time to {target}" + (f" at {epochs.epochs:.3g} epochs" if epochs else "")


def _quantity(board: Leaderboard, rows: list[DotRow], sure: str) -> str:
    words = quantity_words(board, rows[0] if rows else None)
    measured = rows[0].best.cell(TIME_TO_TARGET) if rows and board.time.figure == SCORE_S else None
    is_of_several = bool(rows) and any(row.name in rows[0].alike for row in rows)
    whose = f", {rows[0].name}:" if is_of_several else ""
    beside = f" (measured{whose} {measured.quantity})" if measured and measured.raw else ""
    return f"{words[0].upper()}{words[1:]}{beside}. {sure}"


def _least_energy(board: Leaderboard) -> Iterator[str]:
    """By the best instrument, by a confirmed entry."""
    pairs = zip(energy_charts(board, only_vouched=True), energy_charts(board), strict=True)
    charts = [
        (chart, rows[0]) for vouched, chart in pairs if (rows := _rows_to_name(vouched, chart))
    ]
    for chart, row in charts[:1]:  # the best instrument comes first
        yield _least(board, row, chart.note, row.best.power_mode)
        yield from _not_counted(chart, row)


def _least(board: Leaderboard, row: DotRow, note: str, *setting: str) -> str:
    """The least of a chart and what may equal it, with what stands behind it where entries of the
    board differ in that."""
    what = ", ".join(filter(None, (f"{row.cell.column.heading}{_of_which(board, row)}", note)))
    who = ", ".join(filter(None, (row.name, *setting)))
    around = f" ({row.cell.around})" if row.cell.interval else ""
    alike = f", not distinguishable from {_listed(list(row.alike))}" if row.alike else ""
    backed = any(each.is_vouched for each in board.in_order)
    word = f", {row.best.provenance}" if backed else ""
    return f"Least {what}: {who}, {row.cell.quantity}{around}{alike}{word}."


def _not_counted(chart: DotChart, first: DotRow) -> Iterator[str]:
    """The lowest value below the first row's of an entry that has too few runs."""
    members = (pair for row in chart.rows for pair in row.members if not pair[0].is_confirmed)
    lower = [(row, cell) for row, cell in members if (cell.value or 0.0) < _value(first)]
    for row, cell in sorted(lower, key=lambda pair: pair[1].value or 0.0)[:1]:
        yield f"Lower: {row.label}, {cell.quantity} ({row.why_not_counted})."


def _sessions(rows: list[DotRow]) -> str:
    """That runs of one session stand for all, where any row's do."""
    if all(row.best.scores.is_separated for row in rows):
        return ""
    floor = f"{100 * load_scoring().session_floor:g} %"
    return (
        "A session is the time between two starts of a machine. The runs of some entries come from"
        " too few sessions to show how much sessions differ: the intervals of these entries allow"
        f" {floor} for such differences."
    )


def _origin(board: Leaderboard) -> str:
    day, count = newest_day(board.frames), len(board.accepted)
    entries = f"{count} {'entry' if count == 1 else 'entries'}, {counted(board.runs, 'run')}"
    data = f", data of {day}" if day else ""
    own = "" if board.own_data else f", on {board.data}, not the workload's own data"
    return f"{board.division.capitalize()} division, round {board.round}{own}: {entries}{data}."


def newest_day(frames: Frames) -> str:
    """The day of the newest run, UTC; empty where no run says when it began."""
    times = [time for time in frames.runs["started_time_ms"] if is_known(time)]
    return day_of(max(times)) if times else ""
