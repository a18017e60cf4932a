"""The comparison of two entries: the page's script computes what the suite computes; without a
script the pairs are listed."""

import html
import json
import random
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import reporter
from reporter.board.comparison import comparables, compare_pair
from reporter.board.making import make_boards
from reporter.data.entry_scores import SCORE_S
from reporter.data.frames import Frames
from reporter.data.text import significant
from reporter.pages import compare
from reporter.pages.compare import STATISTICS
from reporter.site import build_site
from suite.catalog.scoring import load_scoring
from suite.metrics.comparisons import Ratio, RunStatistics, score_ratio
from tests.browser import Tab
from tests.builders import Scenario, make_bundle
from tests.reporter.conftest import MACHINE

PAIR = (
    "(([a, b]) => ratioOf(...[a, b].map((one) => ({logMean: one.log_mean, logVariance:"
    " one.log_variance, runs: one.runs, fixed: one.fixed_variance, epochs: one.epochs_variance,"
    " epochsFreedom: one.epochs_freedom, excess: one.epochs_excess}))))"
)


@pytest.fixture(scope="module")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site([runs], tmp_path_factory.mktemp("out") / "site").parent


@pytest.fixture(scope="module")
def frames(runs: Path) -> Frames:
    return reporter.load([runs])


def random_entry(chance: random.Random) -> RunStatistics:
    own = chance.random() < 0.5
    return RunStatistics(
        chance.gauss(4, 0.2),
        chance.uniform(0, 0.01),
        chance.choice((3, 4, 5, 10, 30)),
        1e-4,
        *((chance.choice((0.0, chance.uniform(1e-4, 0.02))), 4, 0.1) if own else ()),
    )


@pytest.mark.browser
def test_the_script_s_arithmetic_is_the_suite_s(site: Path, tab: Tab) -> None:
    tab.open((site / "compare.html").as_uri())
    chance, scoring = random.Random(7), load_scoring()
    for _ in range(200):
        one, other = random_entry(chance), random_entry(chance)
        expected = score_ratio(one, other, scoring.pair_level, scoring.epochs_level)
        found = tab.page.evaluate(PAIR, [asdict(one), asdict(other)])
        assert (found["ratio"], found["low"], found["high"]) == pytest.approx(
            (expected.ratio, expected.low, expected.high), rel=1e-5
        )
        assert found["differs"] == expected.is_different
    values = (0.99749, 12.345, 999.4, 999.7, 2345.6)
    assert tab.run(f"{[*values]}.map(digits)") == [significant(value) for value in values]
    assert tab.run(f"{[*values]}.map((value) => rounded(value, 3))") == [
        significant(value) for value in values
    ]


@pytest.mark.browser
def test_the_script_knows_which_frameworks_share_a_machine_and_no_accelerator(
    site: Path, tab: Tab
) -> None:
    tab.open((site / "compare.html").as_uri())
    one = ("Ryzen 9", "pytorch", "cuda")
    for other in (("Ryzen 9", "tensorflow", "cpu"), ("N150", "tensorflow", "cpu"), one):
        apart = tab.run(f"onOtherAccelerators({{on: {[*one]}}}, {{on: {[*other]}}})")
        assert apart == (other[0] == one[0] and other != one)
    entries = "COMPARED.boards.flatMap((board) => board.entries.map((entry) => entry.on))"
    assert {tuple(on) for on in tab.run(entries)} == {
        (MACHINE, name, "cpu") for name in ("pytorch", "tensorflow", "chainer")
    }


@pytest.mark.browser
def test_a_pair_has_an_address_and_the_suite_s_verdict(
    site: Path, frames: Frames, tab: Tab
) -> None:
    (board,) = [board for board in make_boards(frames) if board.division == "closed"]
    found = comparables(board.frames, [row.entry for row in board.accepted], SCORE_S, {})
    slow, fast = board.accepted[-1], board.accepted[0]
    expected = compare_pair(found[str(slow.entry["entry_id"])], found[str(fast.entry["entry_id"])])
    assert isinstance(expected, Ratio) and expected.is_different
    tab.open(
        f"{(site / 'compare.html').as_uri()}#?a={slow.entry['entry_id']}&b={fast.entry['entry_id']}"
    )
    said = tab.page.inner_text("#answer")
    assert slow.framework != fast.framework and slow.system == fast.system
    assert (
        said
        == f"{slow.framework} · {slow.system} takes {significant(expected.ratio)} times as long as"
        f" {fast.framework} · {fast.system} (99 % interval {significant(expected.low)} to"
        f" {significant(expected.high)}). They differ."
    )
    assert tab.page.inner_text("tr[data-figure=score_s] td:last-child") == "second is better"
    assert tab.page.inner_text("#figures tr >> nth=0").startswith("expected time"), "times first"
    assert "framework" in tab.page.inner_text(
        "#differences"
    ) and "threads 2" in tab.page.inner_text("#same")
    tab.page.click("#swap")
    assert tab.run("location.hash") == f"#?a={fast.entry['entry_id']}&b={slow.entry['entry_id']}"
    assert tab.page.inner_text("tr[data-figure=score_s] td:last-child") == "first is better"


@pytest.mark.browser
def test_a_pair_is_named_by_what_tells_the_two_apart_and_every_number_is_within_a_phone_s_width(
    tab: Tab, tmp_path: Path
) -> None:
    """Entries of one framework and machine are named by the first properties in which the two
    differ, not by those of the whole board."""
    for number, (batch, rate) in enumerate(((16, 0.02), (32, 0.04), (32, 0.02))):
        for seed in (1, 2, 3):
            scenario = Scenario(
                name=f"{number}-{seed}",
                batch_size=batch,
                learning_rate=rate,
                seed=seed,
                power_w=3.0,
                later_s=900 * (3 * number + seed),
            )
            make_bundle(tmp_path / "runs" / f"{number}-{seed}", scenario)
    site = build_site([tmp_path / "runs"], tmp_path / "site").parent
    (board,) = make_boards(reporter.load([tmp_path / "runs"]))
    one, other = (row for row in board.accepted if row.entry["batch_size"] == 32)
    tab.look((390, 664))
    tab.open(
        f"{(site / 'compare.html').as_uri()}#?a={one.entry['entry_id']}&b={other.entry['entry_id']}"
    )
    names = [
        f"PyTorch · {one.system} · learning rate {row.entry['learning_rate']}"
        for row in (one, other)
    ]
    said = tab.page.inner_text("#answer")
    assert all(name in said for name in names) and "batch" not in said
    for name in names:
        assert name in html.unescape((site / "compare.html").read_text())
    right = (
        "Math.max(...[...document.querySelectorAll('#pair td, #pair th')].map((cell) =>"
        " cell.getBoundingClientRect().right))"
    )
    assert tab.run(right) <= 390


@pytest.mark.browser
def test_only_one_board_s_entries_can_be_picked(site: Path, tab: Tab) -> None:
    tab.open((site / "compare.html").as_uri())
    for menu in ("a", "b"):
        assert (
            len(
                tab.run(
                    f"[...document.querySelector('select[name={menu}]').options].map((one) =>"
                    " one.value)"
                )
            )
            == 3
        )
    assert tab.run(
        "document.querySelector('select[name=a]').value !=="
        " document.querySelector('select[name=b]').value"
    )


def test_all_pairs_of_ten_entries_are_listed_and_of_more_each_with_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compare, "_pair", lambda one, other, _: (one, other))
    monkeypatch.setattr(compare, "board_title", lambda _: "a board")

    def pairs(entries: int) -> tuple[Any, bool]:
        board: Any = SimpleNamespace(accepted=tuple(range(entries)))
        found = compare._pairs(board, {})
        return found.pairs, found.is_whole

    every, is_whole = pairs(10)
    assert is_whole and set(every) == {(n, m) for n in range(10) for m in range(n)}
    assert pairs(11) == (tuple((n, 0) for n in range(1, 11)), False)
    assert len(pairs(300)[0]) == compare.MAX_LISTED


def test_without_a_script_every_pair_of_a_small_board_is_listed(site: Path, frames: Frames) -> None:
    page = html.unescape((site / "compare.html").read_text())
    (board,) = [board for board in make_boards(frames) if board.division == "closed"]
    found = comparables(board.frames, [row.entry for row in board.accepted], SCORE_S, {})
    name, number = r'<a href="entries/(\w+)\.html">.*?</t[hd]>', r'<td class="n">(.*?)</td>'
    rows = re.findall(f'<th scope="row">{name}<td>{name}{number}{number}', page)
    assert len(rows) == 3
    for one, other, shown, ends in rows:
        expected = compare_pair(found[one], found[other])
        assert isinstance(expected, Ratio)
        assert (shown, ends) == (
            significant(expected.ratio),
            f"{significant(expected.low)} to {significant(expected.high)}",
        )
    assert "framework: Chainer, PyTorch" in page or "framework: TensorFlow, PyTorch" in page


def test_an_entry_with_enough_runs_is_not_said_to_lack_them(frames: Frames) -> None:
    """Three runs without a figure, or with a value of 0, have three runs."""
    entries: list[Mapping[str, Any]] = frames.accepted().entries.to_dict("records")[:2]
    one, other = (str(entry["entry_id"]) for entry in entries)
    reasons = {
        name: each.reason
        for name, each in comparables(
            frames, entries, "fetch_stall_s", {one: [0.0, 0.1, 0.1]}
        ).items()
    }
    assert reasons == {
        one: "a run has the value 0, and ratios need positive values",
        other: "no run has this figure",
    }
    few = comparables(frames, entries, "fetch_stall_s", {one: [0.2, 0.1]})
    assert few[one].reason == "the entry has 2 of the 3 runs needed"


def test_a_figure_that_one_run_lacks_has_no_ratio(frames: Frames) -> None:
    """The other runs have it, but the entry's is unknown."""
    figures = frames.entry_figures
    lacking = figures["figure"].eq("peak_memory_bytes")
    changed = figures.assign(
        value=figures["value"].mask(lacking),
        reason=figures["reason"].mask(lacking, "1 of 3 runs: the meter failed"),
    )
    boards = make_boards(replace(frames, entry_figures=changed))
    (board,) = [board for board in boards if board.division == "closed"]
    found = {each.figure: compare._compared(board, each) for each in compare.COMPARED}
    values = compare._entry(board.accepted[0], found)["values"]
    assert found["peak_memory_bytes"][board.accepted[0].entry_id].value is not None
    assert values["peak_memory_bytes"] == ["", None, "1 of 3 runs: the meter failed", ""]
    assert len(values["time_to_epoch_s"]) == 4 + len(STATISTICS)


@pytest.mark.parametrize(
    ("figure", "known", "values", "floor"),
    [
        ("fetch_stall_s", 6, 3, "noise_floor"),
        ("fetch_stall_s", 5, 5, "session_floor"),
        ("best_accuracy", 6, 6, None),
    ],
    ids=["time", "time that a run lacks", "accuracy"],
)
def test_times_of_one_session_are_one_value_where_all_runs_have_one(
    figure: str, known: int, values: int, floor: str | None, frames: Frames
) -> None:
    entries: list[Mapping[str, Any]] = frames.accepted().entries.to_dict("records")[:1]
    (entry,) = (str(each["entry_id"]) for each in entries)
    sessions = {f"r{number}": boot for number, boot in enumerate("aabbcc")}
    scores = {**frames.scores, entry: replace(frames.scores[entry], sessions=sessions)}
    runs = {entry: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6][:known]}
    found = comparables(replace(frames, scores=scores), entries, figure, runs)[entry].value
    fixed = 0.0 if floor is None else getattr(load_scoring(), floor) ** 2
    assert found is not None and (found.runs, found.fixed_variance) == (values, fixed)


def test_an_instrument_s_error_stays_in_the_interval_of_every_energy(
    site: Path, frames: Frames
) -> None:
    """More runs do not average it out: the energy per epoch has the same as the energy to the
    target."""
    values = json.loads(
        (site / "data" / "compare.js")
        .read_text()
        .partition("COMPARED = ")[2]
        .rstrip()
        .removesuffix(";")
    )
    fixed = 4 + STATISTICS.index("fixed_variance")
    for board in values["boards"]:
        for entry in board["entries"]:
            score = frames.scores[entry["id"]].energy
            for name in ("energy_per_epoch_j", "mean_power_w"):
                if score is not None and len(entry["values"].get(name, ())) > 4:
                    expected = score.measured.fixed_variance
                    assert entry["values"][name][fixed] == (
                        None if expected == float("inf") else pytest.approx(expected, rel=1e-6)
                    )
    assert any(
        frames.scores[entry["id"]].energy
        for board in values["boards"]
        for entry in board["entries"]
    )
