"""What figures draw of values: scales, fronts, fills, groups and ratios, by hand."""

import math
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pandas
import pytest

from reporter.data.frames import Row, records
from reporter.figures import (
    counters,
    distribution,
    entries,
    for_papers,
    scales,
    stall_analysis,
    time_energy,
)
from reporter.figures.model import Estimate, LegendEntry, Marks, Plot, PlotRow, Rows
from reporter.pages import first_page
from suite.metrics.comparisons import Ratio


def test_a_front_has_what_no_point_beats_in_both() -> None:
    points = {
        "a": (1.0, 9.0),
        "same": (1.0, 9.0),
        "worse": (2.0, 9.0),
        "b": (3.0, 4.0),
        "slow": (5.0, 4.0),
        "c": (6.0, 1.0),
    }
    front = time_energy.pareto_front(points)
    assert front == ["a", "b", "c"]
    assert time_energy.staircase([points[name] for name in front]) == [
        (1.0, 9.0),
        (3.0, 9.0),
        (3.0, 4.0),
        (6.0, 4.0),
        (6.0, 1.0),
    ]


def test_the_highest_levels_have_a_fill_each_and_the_rest_the_last_one() -> None:
    clock = time_energy.HIGHLIGHTS["cpu"]
    levels = {"e": 500.0, "a": 2000.0, "b": 1500.0, "c": 1000.0, "d": 700.0, "f": 2000.0}
    fills, legend = time_energy._fills(levels, clock)
    assert fills == {"a": 0, "f": 0, "b": 1, "c": 2, "d": 3, "e": 3}
    names = [one.name for one in legend]
    assert names == ["2000 MHz", "1500 MHz", "1000 MHz", "700 MHz and less"]
    names = [
        one.name
        for one in time_energy._fills({"a": 4.0, "b": 6.0}, time_energy.HIGHLIGHTS["cores"])[1]
    ]
    assert names == ["6 cores", "4 cores"]


def test_power_modes_have_letters_where_there_are_several() -> None:
    modes = [{"power_mode": mode} for mode in ("30W", None, "15W", "30W")]
    assert time_energy._keys(modes) == {"15W": "a", "30W": "b"}  # type: ignore[arg-type]
    assert time_energy._keys(modes[:2]) == {}  # type: ignore[arg-type]
    many = [{"power_mode": str(number)} for number in range(time_energy.MAX_KEYS + 1)]
    assert time_energy._keys(many) == {} and len(time_energy._keys(many[1:])) == 14  # type: ignore[arg-type]


def test_others_are_said_to_be_left_out_or_faint() -> None:
    assert time_energy._note(5, 5, 5) == ""
    assert time_energy._note(6, 5, 5).startswith("Not drawn: 1 entry with another kind")
    said = time_energy._note(8, 5, 3)
    assert "3 entries" in said and "without a label: 2 of 5 entries;" in said
    assert "without a label: 1 of 5 entries;" in time_energy._note(5, 5, 4)


def test_rows_that_share_one_have_medians_and_their_range() -> None:
    rows = [
        (Estimate(1.0), Estimate(10.0)),
        (Estimate(5.0), Estimate(20.0)),
        (Estimate(3.0), Estimate(60.0)),
    ]
    assert for_papers._together(rows, is_stacked=False) == (
        Estimate(3.0, 1.0, 5.0),
        Estimate(20.0, 10.0, 60.0),
    )
    # stacked: 3 and 20 of totals 11, 25 and 63
    assert for_papers._together(rows, is_stacked=True) == (
        Estimate(3.0),
        Estimate(20.0, 11.0, 63.0),
    )


def test_the_legend_of_stacked_bars_has_the_parts_that_are_there() -> None:
    series = tuple(LegendEntry(f"p{place}", name) for place, name in enumerate("abc"))
    rows = tuple(
        PlotRow("", tuple(map(Estimate, values))) for values in ((1.0, 0.0, 0.0), (0.0, 0.0, 2.0))
    )
    drawn = Rows("", scales.Scale((0.0, 1.0)), rows, series, Marks.STACKED)
    assert [one.name for one in drawn.legend] == ["a", "c"] and rows[1].total == 2.0
    assert Rows("", scales.Scale((0.0, 1.0)), rows, series).legend == series


def test_unknown_values_come_first_then_texts_then_numbers() -> None:
    found = sorted(["b", 10, 9.5, None, "a"], key=entries._place)
    assert found == [None, "a", "b", 9.5, 10]


def test_what_the_owner_s_page_says_of_a_ratio() -> None:
    assert first_page._times(1.504) == "1.5 times as long as"
    assert first_page._times(1.0) == "1.0 times as long as"
    assert first_page._times(0.25) == "4.0 times as fast as"


@pytest.mark.parametrize(
    ("workload", "size", "prepare"),
    [
        ("lenet", " (a download of 12 MB)", "suite data prepare mnist --download && "),
        ("resnet50", "", "suite data prepare cifar10 --download && "),
        ("mobilenetv3", "", ""),
    ],
)
def test_the_owner_is_told_to_train_on_the_workload_s_own_data(
    workload: str, size: str, prepare: str
) -> None:
    entry = {"workload": workload, "framework": "pytorch", "data": "other", "runs": 3}
    row: Any = SimpleNamespace(entry={**entry, "own_data": False, "round": None})
    command = f"suite run --division closed --device auto --workload {workload}"
    assert (
        f"A result for the leaderboard, with the workload's own data{size}",
        f"{prepare}{command} --framework pytorch",
    ) in first_page._commands(row, None)


def shown(**cells: Any) -> Any:
    entry = {"framework": "pytorch", "runs": 3, "reached": 2}
    return SimpleNamespace(
        entry=entry,
        system="Pi 5",
        framework="PyTorch",
        entry_id="own",
        reached="2 of 3 runs",
        badges=(),
        cell=lambda name: cells.get(name),
    )


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (SimpleNamespace(raw="9", quantity="9 min", why=""), "reached in 9 min (measured time"),
        (SimpleNamespace(raw="", why="it was resumed"), "target 97 %, it was resumed."),
        (SimpleNamespace(raw="", why=first_page.NOT_REACHED), "not reached: 2 of 3 runs."),
        (None, "not reached: 2 of 3 runs."),
    ],
)
def test_the_accuracy_stands_beside_its_target(
    time: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_page, "target_percent", lambda _board: "97 %")
    accuracy = SimpleNamespace(raw="0.98", quantity="98.0 %")
    row = shown(best_accuracy=accuracy, **{first_page.TIME_TO_TARGET: time})
    found = first_page._quality(row, None)  # type: ignore[arg-type]
    assert found.startswith("Accuracy: 98.0 %; target 97 %") and said in found
    assert "Accuracy: not known" in first_page._quality(shown(), None)  # type: ignore[arg-type]


def test_what_the_owner_s_time_means_and_how_sure_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts: list[Ratio | str] = [
        Ratio(1.5, 1.2, 1.9),
        Ratio(1.5, 0.9, 1.9),
        "no interval",
    ]
    own = SimpleNamespace(value=30.0, quantity="30 s", around="± 2", why="")
    other = shown(**{first_page.FIGURE: SimpleNamespace(value=20.0, quantity="20 s")})
    other.entry_id = "reference"
    monkeypatch.setattr(first_page, "_reference", lambda *_: other)
    monkeypatch.setattr(first_page, "_described", lambda *_: "a desk PC")
    monkeypatch.setattr(first_page, "trained_title", lambda _board: "LeNet-5")
    monkeypatch.setattr(first_page, "_verdict", lambda *_: verdicts.pop(0))
    row, board = shown(**{first_page.FIGURE: own}), SimpleNamespace(frames=None)
    said, sure = first_page._meaning(row, board, set())  # type: ignore[arg-type]
    assert said == (
        "Pi 5 trains an epoch of LeNet-5 with PyTorch in 30 s: 1.5 times as long as the reference"
        " machine, a desk PC, which takes 20 s."
    )
    assert "99 % interval of the ratio: 1.20" in sure and sure.endswith("they differ.")
    assert "not distinguishable" in first_page._meaning(row, board, set())[1]  # type: ignore[arg-type]
    doubt = first_page._meaning(row, board, set())[1]  # type: ignore[arg-type]
    assert doubt.startswith(
        "The uncertainty is unknown: no interval. ± 2 is the standard deviation over the runs"
    )
    alone = first_page._meaning(shown(), board, set())  # type: ignore[arg-type]
    assert alone[0].endswith("its time per epoch is not known: no run has this figure.")


def table(columns: str, *rows: tuple[Any, ...]) -> pandas.DataFrame:
    return pandas.DataFrame(list(rows), columns=columns.split())


class FewFrames:
    """Two entries, of two runs and of one, with their epochs and counters. The last epoch of a1 was
    cut short; a2 was resumed after epoch 1."""

    runs = table(
        "run_id entry_id resumed epochs", ("a1", "a", 0, 3), ("a2", "a", 1, 2), ("b1", "b", 0, 2)
    )
    entry_of: ClassVar[dict[str, str]] = {"a1": "a", "a2": "a", "b1": "b"}
    epochs = table(
        "run_id epoch samples fetch_stall_s copy_s end_to_end_s",
        ("a2", 3, 100, 5.0, 1.0, 50.0),
        ("a2", 2, 100, 80.0, 1.0, 95.0),
        ("a1", 1, 100, 90.0, 1.0, 99.0),
        ("a1", 4, 50, 1.0, 1.0, 10.0),
        ("a1", 3, 100, 4.0, 2.0, 30.0),
        ("a1", 2, 100, 2.0, 2.0, 20.0),
        ("b1", 1, 100, 7.0, 1.0, 9.0),
        ("b1", 2, 100, 3.0, None, 8.0),
    )
    figures = table(
        "run_id figure value reason",
        ("a1", "instructions", 7e9, None),
        ("a2", "instructions", 6e9, None),
        ("b1", "instructions", None, "the kernel counts no instructions here"),
        ("a1", "ipc", 0.5, None),
        ("b1", "ipc", None, "no cycles"),
    )

    def select(self, name: str, column: str, values: Iterable[str]) -> pandas.DataFrame:
        frame = getattr(self, name)
        return frame[frame[column].isin(list(values))]

    def rows_by(self, name: str, column: str) -> Callable[[str], list[Row]]:
        return lambda value: list(records(self.select(name, column, [value])))


FEW: Any = FewFrames()


def test_an_epoch_cut_short_and_the_first_one_of_a_resumed_run_are_drawn_nowhere() -> None:
    found = [(row["run_id"], row["epoch"]) for row in entries.whole_epochs(FEW)]
    assert found == [
        ("a1", 1),
        ("a1", 2),
        ("a1", 3),
        ("a2", 3),
        ("b1", 1),
        ("b1", 2),
    ]


def test_parts_of_an_epoch_are_means_of_the_runs_means() -> None:
    waits = ("fetch_stall_s", "copy_s")
    assert entries.means_of_runs(FEW, waits) == {"a": [5.0, 6.0]}, "b lacks a copy"
    assert entries.means_of_runs(FEW, waits, is_first=True) == {"a": [91.0], "b": [8.0]}
    (total,) = entries.epoch_sums(FEW, waits).values()
    assert (total.value, total.high) == pytest.approx((5.5, 5.5 + math.sqrt(0.5)))


def test_counts_are_per_epoch_in_the_shown_unit_and_ratios_are_not() -> None:
    by_name = {counter.figure: counter for counter in counters.COUNTERS}
    assert counters.values_of_runs(FEW, by_name["instructions"]) == {"a": [2.0, 3.0]}, "3.5 epochs"
    assert counters.values_of_runs(FEW, by_name["ipc"]) == {"a": [0.5]}
    assert counters.shortest_reason(FEW, [by_name["instructions"], by_name["ipc"]]) == "no cycles"
    assert counters.shortest_reason(FEW, [by_name["branches"]]) == "no run has counters"


def test_the_distribution_leaves_first_epochs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {name: {"label": name} for name in "ab"}
    monkeypatch.setattr(distribution, "entries_of", lambda _: named)
    found = distribution._epochs(FEW)
    assert found.keys() == {"a"} and found["a"].times_s == (20.0, 30.0, 50.0)
    label, count, *cells, variation = found["a"].cells
    assert (label, count, cells) == ("a", "3", ["20.0", "25.0", "30.0", "40.0", "50.0"])
    assert variation == f"{100 * math.sqrt(700 / 3) / (100 / 3):.1f}"
    boards = {"a1": "x", "a2": "y", "b1": None}
    monkeypatch.setattr(distribution, "MIN_EPOCHS", 1)
    monkeypatch.setattr(
        distribution,
        "machines_of",
        lambda _: {run: SimpleNamespace(board=board) for run, board in boards.items()},
    )
    assert distribution._values(FEW, "end_to_end_s") == {
        ("a", "x"): [20.0, 30.0],
        ("a", "y"): [50.0],
        ("b", ""): [8.0],
    }


def test_a_stall_analysis_stacks_whole_runs_and_names_what_is_not_significant() -> None:
    first, second = list(stall_analysis.DIFFERENCES)[:2]
    run = next(iter(stall_analysis.RUNS))
    rows = [(run, name, 2.0 + place, None, None) for place, name in enumerate(stall_analysis.PARTS)]
    rows.append((run, "time_to_epoch_s", 16.5, None, None))
    rows += [("study", first, 3.0, 0.5, True), ("study", second, -0.2, None, False)]
    figures = table("part figure value spread significant", *rows)
    drawn = stall_analysis._of_runs(figures, {run: "run-1"}, cast(Any, SimpleNamespace(root="../")))
    assert isinstance(drawn, Plot)
    (row,) = drawn.rows
    assert row[1:] == ("2.00", "3.00", "4.00", "5.00", "2.50", "16.5"), "workers start in 2.5 s"
    apart = stall_analysis._differences(figures)
    assert isinstance(apart, Plot)
    assert [each[1:] for each in apart.rows] == [
        ("3.00", "0.50", "yes"),
        ("-0.200", "unknown", "no"),
    ]
    assert apart.note.endswith(f": {stall_analysis.DIFFERENCES[second]}.")
