"""A leaderboard as one table that is a chart, and what it says in a sentence."""

import html
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reporter.board.axis import axis_of
from reporter.board.boards import Leaderboard, LeaderboardRow
from reporter.board.dot_chart import GROUPS, energy_charts, memory_chart, time_chart
from reporter.board.making import make_boards
from reporter.data.entry_scores import MEASURED_J, SCORE_J, SCORE_S, Status
from reporter.data.frames import Frames
from reporter.pages import templates
from reporter.pages.board_view import board_view
from reporter.pages.comparison import TIMES, frameworks_page
from reporter.pages.devices import device_pages
from reporter.pages.entry_lines import entry_lines, power_modes_of_board
from reporter.pages.headlines import device_headline, energy_and_memory_sentences, headline
from reporter.pages.leaderboard import entry_table
from reporter.pages.search import _index
from reporter.pages.shared import make_contents
from suite.metrics.comparisons import Ratio
from tests.reporter.gallery import MACHINES, Template, make_template, many_entries


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return make_template(tmp_path_factory.mktemp("bundle") / "run")


@pytest.fixture(scope="module")
def frames(template: Template) -> Frames:
    return many_entries(template, 34, ("lenet", "resnet18"))


@pytest.fixture(scope="module")
def boards(frames: Frames) -> dict[str, Leaderboard]:
    return {board.workload: board for board in make_boards(frames)}


def test_a_device_has_one_row_by_its_best_entry(boards: dict[str, Leaderboard]) -> None:
    chart = time_chart(boards["lenet"])
    assert [row.name for row in chart.rows][:2] == ["Jetson AGX Thor", "Jetson AGX Orin"]
    assert (len(chart.rows), chart.entries, sum(row.of for row in chart.rows)) == (11, 34, 34)
    for row in chart.rows:
        same = [other for other in boards["lenet"].in_order if other.system == row.name]
        values = [other.value("score_s") for other in same if other.is_confirmed]
        assert row.cell.value == min(values) and row.times in ("", f"×{_times(row.cell.value)}")


def test_rows_stand_in_the_order_of_the_ranks(boards: dict[str, Leaderboard]) -> None:
    """A short entry is behind the whole one that it equals, even with a lower score."""
    board = boards["lenet"]
    orin = next(row for row in board.in_order if row.system == ORIN)
    accepted = (orin, *(row for row in board.accepted if row is not orin))
    frames = board.frames.of_entries(board.frames.entries)
    first, second, *_ = time_chart(replace(board, accepted=accepted, frames=frames)).rows
    assert (first.name, second.name) == (ORIN, "Jetson AGX Thor")
    assert first.times == "" and second.times == "×0.621"


def _times(value: float | None) -> str:
    """Against the fastest, 14.5 min."""
    ratio = (value or 0.0) / 867.173
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}"


def test_the_reader_groups_by_what_rows_have(boards: dict[str, Leaderboard]) -> None:
    found = {by: [row.name for row in time_chart(boards["lenet"], by).rows] for by in GROUPS}
    assert found["framework"] == ["PyTorch", "TensorFlow", "Chainer"]
    assert len(found["power mode"]) == len(MACHINES) and found["submitter"] == ["no submission"]


def test_a_row_says_its_device_and_framework_once(boards: dict[str, Leaderboard]) -> None:
    view = board_view(boards["lenet"])
    rows = [row for one in view.views for chart in one.charts for row in chart.rows]
    assert len(rows) > 60
    for row in rows:
        said = " · ".join((row.name, *view.details(row)))
        assert said.count(row.best.system) == said.count(row.best.framework) == 1, said


def test_a_row_knows_the_settings_that_filters_may_leave(boards: dict[str, Leaderboard]) -> None:
    """Under 15 W a filter shows the Orin NX in the faster of the modes that draw less; of settings
    alike but for the power, only those that need less than all faster ones."""
    view = board_view(boards["resnet18"])
    chart = view.views[0].charts[0]
    row = next(row for row in chart.rows if row.name == NX)
    found = [
        (texts[0], float(str(view.entries[entry][1])))
        for entry, _, texts, _ in view.settings(chart, row)
    ]
    assert view.power(row).startswith("21.9 W, on-board sensor") and len(found) == row.of - 1
    assert next(setting for setting, power in found if power <= 15) == "PyTorch · MODE_25W"
    twice = replace(row, members=(*row.members, *row.members))
    assert view.settings(chart, twice) == view.settings(chart, row)


def test_a_setting_that_filters_leave_says_what_marks_its_entry(
    boards: dict[str, Leaderboard],
) -> None:
    """As the best one does: too few runs, and whose word it is."""
    view = board_view(with_word_of_others(boards["lenet"], (ORIN, "TensorFlow")))
    chart = view.views[0].charts[0]
    row = next(row for row in chart.rows if row.name == ORIN)
    said = {texts[0] for _, _, texts, _ in view.settings(chart, row)}
    few = "PyTorch · MODE_50W · not counted: the entry has 2 of the 3 runs needed"
    assert {few, "TensorFlow · MAXN · reproduced by lab", "PyTorch · MODE_30W"} <= said


@pytest.mark.parametrize("by", ["framework", "submitter"])
def test_a_row_of_several_machines_is_left_where_a_filter_fits_any_of_them(
    boards: dict[str, Leaderboard], by: str
) -> None:
    """Also where two of them have power modes of one name, or one has no profile."""
    view, chart = board_view(boards["lenet"]), time_chart(boards["lenet"], by)
    for row in chart.rows:
        systems = {entry.entry_id: entry.system for entry, _ in row.members}
        found = {row.best.entry_id, *(str(entry) for entry, *_ in view.settings(chart, row))}
        assert {systems[entry] for entry in found} == {*systems.values()}
        strangers = {entry for entry in found if systems[entry].startswith("AMD")}
        assert all("AMD Ryzen 7 7840U" in str(view.entries[entry][0]) for entry in strangers)


def test_a_price_is_of_the_energy_of_what_the_time_is_of(boards: dict[str, Leaderboard]) -> None:
    """Where the training's energy is unknown, the board has that of an epoch."""
    board = boards["lenet"]
    accepted = tuple(
        replace(row, cells=tuple(cell for cell in row.cells if cell.column.figure != SCORE_J))
        for row in board.accepted
    )
    frames = board.frames.of_entries(board.frames.entries)
    of_epochs = replace(board, accepted=accepted, frames=frames)
    assert of_epochs.energy is not None and of_epochs.energy.figure == "energy_per_epoch_j"
    assert not any(energy for *_, energy, _ in board_view(of_epochs).entries.values())
    assert any(energy for *_, energy, _ in board_view(board).entries.values())


def test_a_lower_energy_of_too_few_runs_is_said_not_to_count(
    boards: dict[str, Leaderboard],
) -> None:
    told = " ".join(headline(boards["resnet18"]).lines)
    assert "Lower: PyTorch · Jetson AGX Orin · MODE_50W, 449 kJ (not counted: the entry has" in told
    rows = entry_rows(boards["resnet18"])
    assert rows.count("not counted: the entry has 2 of the 3 runs needed") == 1


def test_enough_runs_are_not_called_too_few(boards: dict[str, Leaderboard]) -> None:
    """What keeps an entry from counting may be something else."""
    row = next(row for row in boards["lenet"].in_order if row.is_confirmed)
    scores = replace(row.scores, status=Status.PROVISIONAL, reason="its sessions are too few")
    other = replace(row, scores=scores)
    assert row.why_not_counted == ""
    assert other.why_not_counted == "not counted: its sessions are too few"


def test_an_unranked_score_is_not_the_least_energy(boards: dict[str, Leaderboard]) -> None:
    """A run missed its target: the entry is in no order of times, and behind all others here."""
    board = boards["lenet"]
    (*_, rails, _) = energy_charts(board)
    best = rails.rows[0].best
    scores = replace(best.scores, status=Status.UNRANKED, reason="2 of 3 reached the target")
    missed = replace(best, scores=scores)
    rows = (missed if row is best else row for row in board.accepted)
    frames = board.frames.of_entries(board.frames.entries)
    (*_, rails, _) = energy_charts(replace(board, accepted=tuple(rows), frames=frames))
    assert rails.rows[0].best.entry_id != best.entry_id
    assert not missed.is_confirmed
    assert missed.why_not_counted == "not counted: 2 of 3 reached the target"


def test_without_ranks_no_word_says_one(boards: dict[str, Leaderboard]) -> None:
    """ResNet-18 has no reference point: what is sorted by measured times has no places."""
    said = device_headline(boards["resnet18"], frozenset({NX})).text
    assert ": longer than on 2 of 10 other systems, 3.4 times" in said
    assert "no. 3 of 11 systems" in device_headline(boards["lenet"], frozenset({NX})).text
    for workload, has_places in (("resnet18", False), ("lenet", True)):
        text = rendered(boards[workload])
        assert (">#</th>" in text) is ('<td class="n">3</td>' in text) is has_places


def test_only_what_has_ranks_has_places(boards: dict[str, Leaderboard]) -> None:
    """Energies of rails and of estimates have none, and memory."""
    board = boards["lenet"]
    wall, board_input, rails, estimate = energy_charts(board)
    assert time_chart(board).has_places and wall.has_places and board_input.has_places
    memory = memory_chart(board)
    assert memory is not None
    for chart in (rails, estimate, memory):
        assert not chart.has_places
    tables = rendered(board).split('<table class="dots">')[1:]
    for table in tables:
        caption = table.partition("</caption>")[0]
        is_ranked = not any(word in caption for word in ("indicative", "estimate", "memory"))
        assert ('<th scope="col" class="n">#</th>' in table) is is_ranked
        assert ('<td class="n">1</td>' in table) is is_ranked


def test_a_place_without_ranks_is_by_the_times_alone(boards: dict[str, Leaderboard]) -> None:
    """A row of too few runs stands behind all confirmed ones, also where its time is lower. Why it
    does not count is what keeps it from being confirmed, not what keeps all from having ranks."""
    board = boards["resnet18"]
    rows = time_chart(board).rows
    first, last = rows[0].best, rows[-1].best
    few = tuple(
        replace(row, entry={**row.entry, "runs": 1}) if row.system == first.system else row
        for row in board.accepted
        if row.system in (first.system, last.system)
    )
    board = replace(board, accepted=few, frames=board.frames.of_entries(board.frames.entries))
    assert [row.name for row in time_chart(board).rows] == [last.system, first.system]
    found = device_headline(board, frozenset({first.system}))
    assert ": shorter than on 1 other system, " in found.text
    assert "Not counted: the entry has 1 of the 3 runs needed." in found.lines[0]
    found = device_headline(board, frozenset({last.system}))
    assert found.text.endswith(": longer than on 1 of 1 other system.")
    assert "Not counted" not in found.lines[0]
    fewer = tuple(row for row in few if row.system == first.system)
    board = replace(board, accepted=fewer, frames=board.frames.of_entries(board.frames.entries))
    said = f"{fewer[0].label} is not counted: the entry has 1 of the 3 runs needed."
    assert said in headline(board).lines[0]


def test_what_a_verdict_leaves_open_is_said(boards: dict[str, Leaderboard]) -> None:
    """An interval that contains 1 is not an instrument whose error nobody knows; 11 rows make 55
    pairs, of which 1 % would differ by chance: about one in two such tables."""
    (*_, rails, _) = energy_charts(boards["resnet18"])
    first, second, *_ = rails.rows
    assert second.doubt(first.name) == "instrument's error unknown"
    chart = time_chart(boards["resnet18"])
    assert (chart.pairs, chart.false_verdicts) == (55, "one pair in every 2 such tables")
    assert chart.rows[1].doubt(chart.rows[0].name) == ""
    alike = replace(chart.rows[1], verdicts={chart.rows[0].name: Ratio(1.1, 0.9, 1.3)})
    assert alike.doubt(chart.rows[0].name) == "order not sure"


def test_a_row_without_a_verdict_says_why_and_not_that_it_differs_from_all(
    boards: dict[str, Leaderboard],
) -> None:
    """An entry of two runs has no interval."""
    board = boards["lenet"]
    (few,) = (row for row in board.in_order if not row.is_confirmed)
    kept = tuple(row for row in board.accepted if row.system != few.system or row is few)
    board = replace(board, accepted=kept, frames=board.frames.of_entries(board.frames.entries))
    text = html.unescape(rendered(board)).partition(f'data-name="{few.system}"')[2]
    panel = text[: text.index("</dl>")]
    why = f"PyTorch · {few.system}: the entry has 2 of the 3 runs needed"
    assert f"<dt>not compared</dt><dd>{why}</dd>" in panel and "none of the other" not in panel
    others = [row for row in time_chart(board).rows if row.best is not few]
    assert len(others) > 9 and not any(row.why_not_compared for row in others)


def test_the_sentence_is_of_the_quantity_that_a_reader_chose(
    boards: dict[str, Leaderboard],
) -> None:
    """By energy and by memory, "fastest" was left standing."""
    text = rendered(boards["lenet"])
    heading = text[text.index("<h1") : text.index("</h1>")]
    heading = re.sub(r'<span class="whole">(.*?)</span>', r"\1", heading)
    said = dict(re.findall(r'<span class="s m-(\w+)">(.*?)</span>', heading, re.DOTALL))
    assert list(said) == ["time", "energy", "memory"] and "fastest" in said["time"]
    assert "least expected energy, meter at the wall: Jetson AGX Orin" in said["energy"]
    assert (
        said["memory"].startswith("LeNet-5 on MNIST: least peak memory: ")
        and "fastest" not in said["memory"]
    )


def test_a_device_is_headlined_by_one_of_it(boards: dict[str, Leaderboard]) -> None:
    """Four Raspberry Pi 5 are faster, and are not what its page is about."""
    names = frozenset({"4 × Raspberry Pi 5", "Raspberry Pi 5"})
    assert device_headline(boards["lenet"], names).who == "Raspberry Pi 5"
    assert device_headline(boards["lenet"], names - {"Raspberry Pi 5"}).who == "4 × Raspberry Pi 5"


def test_the_power_modes_of_one_board_are_apart_from_those_of_several(
    frames: Frames, boards: dict[str, Leaderboard]
) -> None:
    """Four boards in a mode are no sign that it makes one of them faster."""
    lines = entry_lines((boards["lenet"],), frames)
    several = [line for line in lines if line.row.system.endswith("Raspberry Pi 5")]
    found = [(mode.name, mode.entries) for mode in power_modes_of_board(several)]
    assert found == [("4 × Raspberry Pi 5, unknown", 2), ("Raspberry Pi 5, unknown", 3)]
    single = [line for line in several if line.row.system == "Raspberry Pi 5"]
    assert [mode.name for mode in power_modes_of_board(single)] == ["unknown"]


def rendered(board: Leaderboard) -> str:
    """The component that shows a board."""
    module = templates().get_template("dots.html").module
    return str(module.board(board_view(board), ""))  # type: ignore[attr-defined]


def entry_rows(board: Leaderboard, state: str = "accepted") -> str:
    """The table of a board's entries in this state."""
    module = templates().get_template("rows.html").module
    table = entry_table(board, getattr(board, state))
    return str(module.entry_table(table, "board", "all entries", ""))  # type: ignore[attr-defined]


def test_an_energy_is_among_those_of_its_instrument(boards: dict[str, Leaderboard]) -> None:
    notes = ["meter at the wall", "meter at the board's input"]
    for board in boards.values():
        charts = energy_charts(board)
        assert [chart.note for chart in charts][:2] == notes and len(charts) == 4
        for chart in charts:
            assert len({row.best.instrument for row in chart.rows}) == 1
            assert chart.rows[0].times == ""


def test_energies_that_only_refused_entries_have_are_sorted_by_instrument_too(
    boards: dict[str, Leaderboard],
) -> None:
    """They stand in optional columns."""
    board = boards["lenet"]
    without = tuple(
        replace(cell, raw="") if cell.column.is_energy else cell for cell in board.accepted[0].cells
    )
    alone = replace(
        board, accepted=(replace(board.accepted[0], cells=without),), refused=board.accepted
    )
    energies = sum(column.is_energy for column in alone.other_columns)
    assert alone.energy is None and energies > 1
    _, *rows = entry_rows(alone, "refused").split("<tr id=e-")
    for row, text in zip(alone.refused, rows, strict=True):
        places = re.findall(r"<td data-v[^>]* data-place=(\d+)", text)
        assert places == [str(row.instrument)] * energies


def test_a_provisional_entry_is_in_no_headline_and_behind_all_confirmed_ones(
    template: Template,
) -> None:
    """The gallery's entry 5 has two runs; alone with the slower ones it would be the fastest."""
    frames = many_entries(template, 34)
    kept = frames.entries["device"].isin(["orin", "n100"])
    (board,) = make_boards(frames.of_entries(frames.entries[kept]))
    slow = next(row for row in board.accepted if row.scores.status.value == "provisional")
    assert board.accepted[-1] is slow and not slow.is_confirmed
    alone = frames.entries["entry_id"].isin([slow.entry_id, board.accepted[-2].entry_id])
    (board,) = make_boards(frames.of_entries(frames.entries[alone]))
    assert slow.value("score_s") < board.accepted[0].value("score_s")  # type: ignore[operator]
    said = headline(board).text
    assert board.accepted[0].system in said and "fastest" not in said


def test_the_sentence_is_made_from_the_pairs_verdict(boards: dict[str, Leaderboard]) -> None:
    found = headline(boards["lenet"])
    assert found.text == (
        "Jetson AGX Thor trains LeNet-5 on MNIST to 99 % fastest: 14.5 min expected, 1.6 times"
        " ahead of Jetson AGX Orin."
    )
    assert found.lines[0].startswith("Expected time to 99 % at 5 epochs (measured 8.7 min).")
    assert found.notes[0] == (
        "Jetson AGX Thor is shown with the fastest of 2 settings, Jetson AGX Orin with the fastest"
        " of 8 settings. The interval of their ratio is widened to allow for this choice."
    )
    assert "come from too few sessions to show" in found.notes[1]
    assert "Least expected energy, meter at the wall: Jetson AGX Orin" in " ".join(found.lines)
    assert "2.33 h measured" in headline(boards["resnet18"]).text, "no round has its epochs"


def test_times_that_are_not_distinguishable_are_said_from_the_lowest_to_the_highest(
    boards: dict[str, Leaderboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short entry stands behind the whole ones that it equals, also where its time is lower."""
    monkeypatch.setattr("reporter.board.dot_chart.compare_pair", lambda *_: Ratio(1.0, 0.9, 1.1))
    board = boards["lenet"]
    best = {row.system: row for row in reversed(board.in_order) if row.is_confirmed}
    accepted = tuple(best[name] for name in (ORIN, NX, "Jetson AGX Thor"))
    frames = board.frames.of_entries(board.frames.entries)
    said = headline(replace(board, accepted=accepted, frames=frames)).text
    assert said.startswith(f"{ORIN}, {NX} and 1 more are not distinguishable: each trains")
    slowest = best[NX].cell("score_s")
    assert slowest is not None and said.endswith(f" in 14.5 min to {slowest.quantity} expected.")


def test_no_estimate_is_the_least_energy_where_a_sensor_measured_one(frames: Frames) -> None:
    """Of one device the rails were read, the other estimates the energy of its chip."""
    kept = frames.entries["device"].isin(["agx-thor", "generic"])
    for board in make_boards(frames.of_entries(frames.entries[kept])):
        (line,) = (line for line in headline(board).lines if line.startswith("Least"))
        assert ", on-board sensor of the module, indicative: Jetson AGX Thor, MAXN, " in line


def with_word_of_others(board: Leaderboard, *names: tuple[str, str]) -> Leaderboard:
    """The board, on which somebody else reproduced the best entry of each (system, framework)."""
    best = {name: next(row for row in board.in_order if of(row) == name) for name in names}
    ids = {row.entry_id for row in best.values()}
    accepted = (
        replace(row, provenance="reproduced by lab") if row.entry_id in ids else row
        for row in board.accepted
    )
    frames = board.frames.of_entries(board.frames.entries)
    return replace(board, accepted=tuple(accepted), frames=frames)


def of(row: LeaderboardRow) -> tuple[str, str]:
    return row.system, row.framework


ORIN, NX = "Jetson AGX Orin", "Jetson Orin NX"


def test_a_headline_is_of_entries_that_others_stand_behind_and_names_what_is_faster(
    boards: dict[str, Leaderboard],
) -> None:
    board = with_word_of_others(boards["lenet"], (ORIN, "PyTorch"), (NX, "PyTorch"))
    found = headline(board)
    assert found.text == (
        "Jetson AGX Orin trains LeNet-5 on MNIST to 99 % fastest among audited or reproduced"
        " results: 23.3 min expected, 2.1 times ahead of Jetson Orin NX."
    )
    told = " ".join(found.lines)
    assert (
        "Jetson AGX Orin: reproduced by lab. Self-reported and faster: Jetson AGX Thor with" in told
    )
    assert "14.5 min expected." in told and "nobody else" not in told
    assert [row.name for row in time_chart(board).rows][:2] == ["Jetson AGX Thor", ORIN], (
        "no mark moves a row"
    )


def test_a_headline_says_that_nobody_else_stands_behind_an_entry(
    boards: dict[str, Leaderboard],
) -> None:
    said = "Self-reported: nobody but the submitter vouches for these entries."
    assert said in headline(boards["lenet"]).lines


def test_the_only_device_that_others_stand_behind_has_its_own_numbers(
    boards: dict[str, Leaderboard],
) -> None:
    """Its slowest framework alone, then two: neither sentence has a number of a faster device."""
    board = with_word_of_others(boards["lenet"], (NX, "Chainer"))
    row = next(row for row in board.accepted if row.is_vouched)
    cell = row.cell("score_s")
    assert cell is not None
    assert headline(board).text == (
        f"{NX} trains LeNet-5 on MNIST to 99 % in {cell.quantity} expected."
    )
    assert "A single audited or reproduced result: nothing to compare." in headline(board).lines[0]
    board = with_word_of_others(boards["lenet"], (NX, "PyTorch"), (NX, "Chainer"))
    assert headline(board).text.startswith(
        "PyTorch trains LeNet-5 on MNIST to 99 % fastest on Jetson Orin NX among audited"
    )
    best = next(row for row in board.accepted if row.is_vouched).cell("score_s")
    assert best is not None and f" results: {best.quantity} expected, " in headline(board).text


def test_the_results_of_the_only_device_are_not_called_a_single_one(
    boards: dict[str, Leaderboard],
) -> None:
    """Of three settings in one framework the row shows the best; one of two runs is no result."""
    board = boards["lenet"]
    modes = [row for row in board.in_order if of(row) == (ORIN, "PyTorch")]
    for rows, said in (
        (modes, "The 2 confirmed results are of one device: no other to compare."),
        (modes[:1], "A single confirmed result: nothing to compare."),
    ):
        frames = board.frames.of_entries(board.frames.entries)
        found = headline(replace(board, accepted=tuple(rows), frames=frames))
        assert found.lines[0].endswith(f" {said}")


def test_the_least_energy_is_of_entries_that_others_stand_behind(
    boards: dict[str, Leaderboard],
) -> None:
    board = with_word_of_others(boards["lenet"], (ORIN, "Chainer"))
    (line,) = (line for line in headline(board).lines if line.startswith("Least"))
    row = next(row for row in board.accepted if row.is_vouched)
    assert board.energy is not None
    cell = row.cell(board.energy.figure)
    assert cell is not None and f": {ORIN}, {row.power_mode}, {cell.quantity}" in line
    assert line.startswith("Least expected energy among audited or reproduced results, meter at")
    assert line.endswith(", reproduced by lab.")
    board = with_word_of_others(boards["lenet"], (NX, "Chainer"))
    (line,) = (line for line in headline(board).lines if line.startswith("Least"))
    assert f": {ORIN}, " in line and line.endswith(", self-reported.")


def test_the_least_memory_is_of_entries_that_others_stand_behind_and_may_be_several(
    boards: dict[str, Leaderboard],
) -> None:
    """By the same two rules as the least energy."""
    board = boards["lenet"]
    chart = memory_chart(board)
    assert chart is not None and len(chart.rows[0].alike) == 5
    assert energy_and_memory_sentences(board)["memory"] == (
        "LeNet-5 on MNIST: least peak memory: RK3588 board, PyTorch, 380 MiB, not distinguishable"
        " from Jetson Orin NX, Jetson Orin Nano and 3 more."
    )
    vouched = with_word_of_others(board, (NX, "Chainer"))
    said = energy_and_memory_sentences(vouched)["memory"]
    assert (
        "least peak memory among audited or reproduced results: Jetson Orin NX, Chainer, " in said
    )
    assert said.endswith(", reproduced by lab.")
    clusters = [replace(row, entry={**row.entry, "nodes": 4}) for row in board.accepted]
    said = energy_and_memory_sentences(replace(board, accepted=tuple(clusters)))["memory"]
    assert "least peak memory, of the first node: RK3588 board, PyTorch, 380 MiB" in said


def test_a_device_is_compared_with_the_device_that_its_sentence_names(template: Template) -> None:
    """The fastest one is provisional, so it is not the first."""
    frames = many_entries(template, 34)
    by_device = frames.entries.groupby("device")["entry_id"]
    provisional = next(
        row.entry_id for row in make_boards(frames)[0].accepted if not row.is_confirmed
    )
    kept = [provisional, by_device.first()["n100"], by_device.first()["raspberry-pi-4"]]
    (board,) = make_boards(frames.of_entries(frames.entries[frames.entries.entry_id.isin(kept)]))
    first, last, fastest = time_chart(board).rows
    assert fastest.best.entry_id == provisional
    assert (first.times, last.times, fastest.times) == ("", "×3.3", "×0.0131"), (
        "a provisional row is not marked as the fastest"
    )
    assert first.cell.value and last.cell.value and fastest.cell.value
    ratio = f"{last.cell.value / first.cell.value:.1f}"
    found = device_headline(board, frozenset({last.name}))
    assert found.text.endswith(f": no. 2 of 3 systems, {ratio} times the time of {first.name}.")
    found = device_headline(board, frozenset({fastest.name}))
    assert ": shorter than on 2 other systems, 0.0131 times the time of" in found.text
    assert "Not counted: the entry has 2 of the 3 runs needed." in found.lines[0]


def test_a_device_beyond_the_rows_of_a_chart_and_one_without_a_score_have_their_sentence(
    boards: dict[str, Leaderboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    board = boards["lenet"]
    slowest = time_chart(board).rows[-1].name
    frames = board.frames.of_entries(board.frames.entries)
    monkeypatch.setattr("reporter.board.dot_chart.MAX_ROWS", 5)
    found = device_headline(replace(board, frames=frames), frozenset({ORIN})).text
    assert "no. 2 of 11 systems" in found
    found = device_headline(replace(board, frames=frames), frozenset({slowest})).text
    assert found == (
        f"{slowest} is not among the fastest 5 of 11 systems by expected time for LeNet-5 on MNIST."
    )
    scores = replace(board.accepted[0].scores, status=Status.UNRANKED)
    unscored = replace(board.accepted[0], scores=scores)
    one = replace(board, accepted=(unscored,), frames=board.frames.of_entries(board.frames.entries))
    found = device_headline(one, frozenset({unscored.system}))
    assert found.text == "Jetson AGX Thor has no expected time for LeNet-5 on MNIST."


def test_the_best_of_several_settings_is_judged_at_an_adjusted_level(
    boards: dict[str, Leaderboard],
) -> None:
    """Thor has 2 settings and Orin 8: the interval is wider than that of two nominated ones."""
    board = boards["lenet"]
    best = time_chart(board).rows[1].verdicts["Jetson AGX Thor"]
    single = time_chart(board, "power mode").rows[1].verdicts["Jetson AGX Thor MAXN"]
    assert isinstance(best, Ratio) and isinstance(single, Ratio)
    assert best.low < single.low < single.ratio == best.ratio


def test_a_nominated_setting_is_the_row_and_is_compared_at_the_level_of_one(
    boards: dict[str, Leaderboard],
) -> None:
    """Orin's slowest setting was nominated: its other 7 are rings, also the faster ones."""
    board = boards["lenet"]
    slowest = [row for row in board.in_order if row.system == ORIN and row.is_confirmed][-1]
    nominated = replace(slowest, entry={**slowest.entry, "is_nominated": True})
    accepted = tuple(nominated if row is slowest else row for row in board.accepted)
    frames = board.frames.of_entries(board.frames.entries)
    chart = time_chart(replace(board, accepted=accepted, frames=frames))
    row = next(row for row in chart.rows if row.name == ORIN)
    values = [one.cell.value or 0.0 for one in chart.rows]
    assert row.best is nominated and row.of == 1 and len(row.rings) == 7
    assert values == sorted(values) and row.place > 2
    two = tuple(row for row in accepted if row.system in (ORIN, chart.rows[-1].name))
    frames = board.frames.of_entries(board.frames.entries)
    told = " ".join(headline(replace(board, accepted=two, frames=frames)).lines)
    assert ". Faster, but not nominated before the runs: PyTorch · Jetson AGX Orin" in told


@pytest.mark.parametrize("is_vouched", [False, True], ids=["self-reported", "reproduced"])
def test_a_nominated_setting_that_is_not_confirmed_displaces_no_confirmed_one(
    is_vouched: bool, boards: dict[str, Leaderboard]
) -> None:
    """Of Orin's three settings in PyTorch the one of two runs was nominated."""
    board = boards["lenet"]
    accepted = tuple(
        replace(row, entry={**row.entry, "is_nominated": not row.is_confirmed})
        for row in board.accepted
        if of(row) == (ORIN, "PyTorch")
    )
    board = replace(board, accepted=accepted, frames=board.frames.of_entries(board.frames.entries))
    if is_vouched:
        board = with_word_of_others(board, (ORIN, "PyTorch"))
    (row,) = time_chart(board).rows
    assert not accepted[-1].is_confirmed and row.best.is_confirmed and row.of == 3
    found = headline(board)
    assert found.text == f"{ORIN} trains LeNet-5 on MNIST to 99 % in 23.3 min expected."
    told = " ".join(found.lines)
    assert "None" not in told and "Least expected energy" in told


def test_a_nominated_setting_is_not_called_the_fastest_one_of_its_device(
    frames: Frames, boards: dict[str, Leaderboard]
) -> None:
    of_orin = [row for row in boards["lenet"].in_order if row.system == ORIN and row.is_confirmed]
    slowest = of_orin[-1].entry_id
    nominated = frames.entries["entry_id"].eq(slowest).astype(object)
    changed = replace(frames, entries=frames.entries.assign(is_nominated=nominated))
    contents = make_contents(changed, tuple(make_boards(changed)))
    said = {Path(page).stem: text for kind, _, text, _, page in _index(contents) if kind == "entry"}
    assert f"stands for {ORIN}" in said[slowest]
    texts = " ".join(said.values())
    assert "fastest of Jetson AGX Thor" in texts and texts.count(f"fastest of {ORIN} ") == 1
    devices = str(next(device_pages(contents, templates())).content)
    assert "of a submitter who nominated settings before the runs, only those count" in devices
    assert devices.count(", nominated</small>") == 1


def test_frameworks_are_compared_by_ratios_with_intervals(template: Template) -> None:
    """Orin in three power modes; in one of them PyTorch has two runs only."""
    frames = many_entries(template, 34)
    orin = frames.of_entries(frames.entries[frames.entries["device"] == "orin"])
    made = frameworks_page(make_contents(orin, ()), templates())
    pages = {page.place: str(page.content) for page in made}
    text = pages.pop("frameworks.html")
    assert '<h1 class="answer">PyTorch is the fastest framework in 2 of 3 settings.</h1>' in text
    assert "TensorFlow takes 1.2 times as long as PyTorch, in 2 settings." in text
    assert "<small>×1.2, 1.10 to 1.28</small>" in text
    assert "2 of the 3 runs needed" in text and "<small>lowest</small>" in text
    own = [page for place, page in pages.items() if place.startswith("frameworks/")]
    sure = "<em>PyTorch</em> is the fastest framework for "
    assert sorted(page.count(sure) for page in own) == [0, 1, 1]
    assert sum("No framework is significantly the fastest for " in page for page in own) == 1


def test_a_table_of_a_device_s_entries_sorts_ranks_as_numbers(
    frames: Frames, boards: dict[str, Leaderboard]
) -> None:
    """As texts, 10th would stand before 2nd."""
    macros: Any = templates().get_template("lines.html").module
    lines = entry_lines((boards["lenet"],), frames)
    table = str(macros.table(lines, "", "entries"))
    assert '<th scope="col" class="n">rank</th>' in table
    found = re.findall(r'<td data-v="(\d*)" data-label="rank">', table)
    assert found == [line.row.rank.text for line in lines] and {"2", "10", ""} <= {*found}


@pytest.mark.parametrize("without", [("tensorflow", "chainer"), ("tensorflow",), ("pytorch",)])
def test_no_framework_is_the_fastest_where_another_one_s_time_is_unknown(
    template: Template, without: tuple[str, ...]
) -> None:
    frames = many_entries(template, 34)
    is_orin = frames.entries["device"].eq("orin") & frames.entries["power_mode"].eq("MAXN")
    orin = frames.of_entries(frames.entries[is_orin])
    lacking = orin.entries[orin.entries["framework"].isin(without)]["entry_id"]
    figures = orin.entry_figures
    unknown = figures["entry_id"].isin(lacking) & figures["figure"].isin(TIMES)
    orin = replace(orin, entry_figures=figures.assign(value=figures["value"].mask(unknown)))
    pages = {page.place: page for page in frameworks_page(make_contents(orin, ()), templates())}
    said = '<h1 class="answer">No framework is significantly the fastest.</h1>'
    assert said in str(pages["frameworks.html"].content)


def test_columns_that_are_empty_in_every_row_are_named_with_the_reason(
    boards: dict[str, Leaderboard],
) -> None:
    board = boards["lenet"]
    assert all(board.is_known(column.figure) for column in board.other_columns)
    reason = "the meter `load` did not read its channel `busy`"
    assert ("foreign_cpu_share", reason) in [(column.figure, why) for column, why in board.unknown]


def test_a_refused_entry_does_not_change_what_accepted_ones_show_first(
    boards: dict[str, Leaderboard],
) -> None:
    """Its scores are the only ones, as where accepted runs are timed in another way."""
    board = boards["lenet"]
    scores = (SCORE_S, SCORE_J)
    accepted = tuple(
        replace(row, cells=tuple(cell for cell in row.cells if cell.column.figure not in scores))
        for row in board.accepted
    )
    for of_state in ("refused", "withdrawn"):
        mixed = replace(board, accepted=accepted, **{of_state: board.accepted[:3]})
        assert (mixed.time.figure, len(mixed.in_order)) == ("time_to_target_s", len(accepted))
        assert mixed.energy is not None and mixed.energy.figure == MEASURED_J
    alone = replace(board, accepted=(), refused=board.accepted[:3])
    assert alone.time.figure == SCORE_S


def test_dots_are_on_one_logarithmic_axis_and_hollow_without_an_interval(
    boards: dict[str, Leaderboard],
) -> None:
    cells = [row.cell("score_s") for row in boards["lenet"].accepted]
    axis = axis_of(cells, "s")
    dots = [dot for cell in cells if cell and (dot := axis.dot(cell))]
    places = [float(dot.at) for dot in dots]
    assert 0 < min(places) < 5 and 95 < max(places) < 100
    with_ends = [dot for dot in dots if dot.low]
    assert all(float(dot.low or 0) < float(dot.at) < float(dot.high or 0) for dot in with_ends)
    ticks = [float(place) for place, _ in axis.ticks]
    assert len(ticks) > 3 and min(b - a for a, b in pairwise(ticks)) >= 16
    bare = axis.dot(replace(cells[0], raw_interval=("", "")))  # type: ignore[type-var]
    assert bare is not None and bare.low is None and bare.high is None
    assert axis_of([], "s").dot(replace(cells[0], raw="")) is None  # type: ignore[type-var]
