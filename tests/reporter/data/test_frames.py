"""Frames, what is looked up in them, and the readings of a run over time."""

from typing import Any

from reporter.data.frames import (
    BROKEN,
    ENTRIES,
    ENTRY_FIGURES,
    EPOCHS,
    FIGURES,
    IDENTITY,
    RUNS,
    Frames,
    Row,
    make_frame,
    records,
)
from reporter.data.scaling import scaling_lines
from reporter.data.values import (
    figures_by_entry,
    values_of,
    values_of_runs,
    why_missing,
)


def frames_of(entries: list[Row], runs: list[Row], **others: list[Row]) -> Frames:
    return Frames(
        make_frame(runs, RUNS),
        make_frame(others.get("figures", []), FIGURES),
        make_frame([], EPOCHS),
        make_frame(entries, ENTRIES),
        make_frame(others.get("entry_figures", []), ENTRY_FIGURES),
        make_frame([], BROKEN),
        {},
        {},
    )


def entry(name: str, **changes: Any) -> Row:
    same = {**dict.fromkeys(ENTRIES), **{each: "same" for each in IDENTITY}, "device": "nano"}
    return {**same, "entry_id": name, "state": "accepted", "short": 0, "runs": 1, **changes}


def figure(run_id: str, name: str, value: float | None) -> Row:
    return {"run_id": run_id, "figure": name, "value": value}


FIGURES_OF_ENTRIES: list[Row] = [
    {"entry_id": "y", "figure": "ipc", "value": 2.0},
    {"entry_id": "x", "figure": "ipc", "value": 3.0},
    {"entry_id": "z", "figure": "ipc", "value": None, "reason": "b"},
    *(
        {"entry_id": name, "figure": "copy_s", "value": None, "reason": reason}
        for name, reason in (("x", "a"), ("y", "c"), ("z", "c"))
    ),
]


def test_figures_are_found_by_entry_and_those_of_runs_in_the_order_of_the_runs() -> None:
    runs = [{"run_id": run, "entry_id": of} for run, of in (("3", "x"), ("1", "x"), ("2", "y"))]
    figures = [figure("3", "ipc", 9.0), figure("1", "ipc", 5.0), figure("2", "ipc", None)]
    every = [*figures, figure("1", "copy_s", 7.0), figure("gone", "ipc", 1.0)]
    frames = frames_of(
        [entry(name) for name in "xyz"], runs, figures=every, entry_figures=FIGURES_OF_ENTRIES
    )
    assert values_of_runs(frames, "ipc") == {"x": [5.0, 9.0]}
    assert list(values_of(frames, "ipc").items()) == [("x", 3.0), ("y", 2.0)]
    assert (why_missing(frames, "copy_s"), why_missing(frames, "f")) == (
        "c",
        "no run has this figure",
    )
    found = figures_by_entry(frames, ["ipc"])
    assert list(found) == ["x", "y", "z"] and found["z"]["ipc"]["reason"] == "b"
    assert "copy_s" not in found["x"]
    chosen = frames.select("runs", "run_id", ["2", "3", "2", "none"])
    assert chosen["run_id"].tolist() == ["3", "2"], "in the frame's order, each once"
    assert frames.select("runs", "run_id", ["none"]).empty
    assert [row["value"] for row in records(frames.figures)] == [9.0, 5.0, None, 7.0, 1.0]
    only = frames.of_entries(frames.entries[frames.entries["entry_id"] == "y"])
    assert (only.runs["run_id"].tolist(), len(only.figures), len(only.entry_figures)) == (
        ["2"],
        1,
        2,
    )


def test_scaling_holds_the_global_batch_or_that_of_a_rank_and_the_ranks_per_node() -> None:
    settings = {
        "one": (1, 1, 32, "none"),
        "strong": (4, 4, 32, "mpi"),
        "strong too": (2, 2, 32, "mpi"),
        "weak": (2, 2, 64, "mpi"),
        "later": (2, 2, 64, "mpi"),
        "two": (1, 2, 32, "mpi"),
        "two each": (2, 4, 64, "mpi"),
        "an uneven": (2, 3, 32, "mpi"),
    }
    columns = ("nodes", "ranks", "batch_size", "collective")
    entries = [
        entry(
            name,
            normalisation="local",
            shares="equal",
            framework="numpy",
            **dict(zip(columns, of, strict=True)),
        )
        for name, of in settings.items()
    ]
    lines = scaling_lines(frames_of(entries, []), settings)
    assert {
        line.text: {nodes: found["entry_id"] for nodes, found in line.by_nodes.items()}
        for line in lines
    } == {
        "strong, batch 32": {1: "one", 2: "strong too", 4: "strong"},
        "weak, batch 32 per rank": {1: "one", 2: "later"},
        "weak, batch 16 per rank, 2 ranks per node": {1: "two", 2: "two each"},
    }
    assert list(lines[0].by_nodes) == [1, 2, 4]
