"""A bundle's columns: machines of its nodes, what it trained, and how long a short run is."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

from reporter.data import bundle_rows
from reporter.data.bundle_rows import node_machines
from reporter.data.figure_fields import sensor_columns
from reporter.data.scaling import _lines
from reporter.data.text import plain_run_id
from suite.bundle.study_mark import StudyMark
from suite.errors import SuiteError
from suite.machine.modes.requested_mode import RequestedMode

PI = {"board": "Raspberry Pi 5 Model B Rev 1.0", "cpu_model": "Cortex-A76"}


def test_other_machines_are_counted_by_kind_and_a_node_that_told_nothing_is_none() -> None:
    changes: list[dict[str, Any] | None] = [
        {"board": "Raspberry Pi 5 Model B Rev 1.1"},
        None,
        {"gpus": ["B", "C"]},
        {"power_mode": "15W"},
        {"power_mode": "15W"},
        dict.fromkeys(PI),
    ]
    nodes: Any = [SimpleNamespace(system=each and {**PI, **each}) for each in changes]
    pi = "Raspberry Pi 5 Model B Cortex-A76"
    assert node_machines(PI, nodes) == f"2 x {pi} (15W), 1 x {pi} B, C, 1 x unknown"
    assert node_machines(PI, nodes[:2]) == node_machines(PI, []) == "alike"


@pytest.mark.parametrize(
    ("division", "steps", "epochs"),
    [
        ("closed", 4 * 8, 4),
        ("open", 4 * 8, 0),
        ("closed", 4 * 8 + 1, 0),
        ("closed", 3 * 8, 0),
        ("closed", 10 * 8, 0),
        ("closed", None, 0),
    ],
)
def test_a_short_run_ends_after_whole_epochs(division: str, steps: int | None, epochs: int) -> None:
    """An epoch of 1000 samples in mini-batches of 128 has eight steps, the last one shorter."""
    request = {"division": division, "data": {"train_samples": 1000}, "global_batch_size": 128}
    assert bundle_rows._short({**request, "steps": steps, "epochs": 10}) == epochs


@pytest.mark.parametrize(
    ("target", "best", "time_s", "reached"),
    [
        (None, 0.9, 5.0, None),
        (0.9, 0.9, None, True),
        (0.9, 0.89, None, False),
        (0.9, None, None, False),
        (0.9, None, 0.0, True),
    ],
)
def test_whether_a_target_was_reached(
    target: float | None, best: float | None, time_s: float | None, reached: bool | None
) -> None:
    figures = {"best_accuracy": {"value": best}, "time_to_target_s": {"value": time_s}}
    assert bundle_rows._reached(target, figures) is reached


def test_words_of_what_ranks_exchange_and_of_a_memory_budget() -> None:
    told: list[Any] = [{"collective": "mpi", **wire} for wire in ({}, {"wire": "float16"})]
    assert list(map(bundle_rows._collective, told)) == ["mpi", "mpi in float16"]
    planned = {"schedule": "optimal", "budget_bytes": 1_540_000_000}
    assert bundle_rows._recomputation(planned) == "optimal in 1.54 GB"
    assert bundle_rows._recomputation(None) == "none"


def test_a_study_s_settings_say_an_emulated_medium_and_a_number_of_cores() -> None:
    settings = (("cores", "2"), ("read_mb_s", "40"), ("neighbours", "1"), ("governor", "ondemand"))
    found = bundle_rows._studied(StudyMark("t", settings, 4), "SD card", None)
    assert found["storage_medium"] == "SD card, emulated 40 MB/s"
    assert (found["power_mode"], found["study"]) == (
        "cores on line 2, governor ondemand",
        "t",
    )
    assert found["other_settings"] == "neighbours 1", "no other column has it"
    assert found["settings"] == dict(settings)
    assert [field.name for field in fields(RequestedMode)] == ["mode", *bundle_rows.OF_MODES]
    other = bundle_rows._studied(StudyMark("t", settings[:1], 4), "SD card", "15W")
    assert not {"power_mode", "storage_medium"} & set(other), "those of the machine"
    assert bundle_rows._studied(None, None, None) == {
        "study": None,
        "settings": None,
        "other_settings": "none",
    }


@pytest.mark.parametrize("name", ["", ".a", "a/b", "a b", "ä", "a" * 121])
def test_a_run_id_becomes_a_file_name(name: str) -> None:
    with pytest.raises(SuiteError, match="cannot be a file name"):
        plain_run_id(name)
    assert plain_run_id("a" * 120) and plain_run_id("_.A-9") == "_.A-9"


def test_a_figure_s_numbers_are_numbers_and_its_sensor_is_columns() -> None:
    sensor = {"tier": "analyser", "covers": "wall", "contradicted_by": ["a", "b"]}
    told = {"value": 1, "source": "log.txt", "count": 2, "low": None, "sensor": sensor}
    found = bundle_rows._figure("r", "x_s", told)
    assert (found["value"], found["low"], found["covers"]) == (1.0, None, "wall")
    assert (found["tier"], found["contradicted_by"]) == ("analyser", "a and b")
    assert found["attached"] is False and sensor_columns({})["attached"] is None
    for wrong in ({"count": True}, {"count": None}, {"source": None}):
        with pytest.raises(TypeError, match="x_s lacks a source or a count"):
            bundle_rows._figure("r", "x_s", {**told, **wrong})


def test_scaling_is_strong_at_the_same_batch_and_weak_at_the_same_batch_of_a_rank() -> None:
    def entry(name: str, nodes: int, batch_size: int, ranks: int) -> dict[str, Any]:
        told = {"entry_id": name, "nodes": nodes, "batch_size": batch_size, "ranks": ranks}
        return {**told, "collective": "mpi", "normalisation": "local", "shares": "equal"}

    rows = [
        entry("d", 4, 64, 8),
        entry("a", 1, 64, 2),
        entry("b", 2, 64, 4),
        entry("twin", 2, 64, 4),
        entry("c", 2, 128, 4),
        entry("e", 1, 32, 2),
        entry("f", 3, 192, 6),
    ]
    found = [
        (line.text, {nodes: one["entry_id"] for nodes, one in line.by_nodes.items()})
        for line in _lines(rows)
    ]
    assert found == [
        ("strong, batch 64, 2 ranks per node", {1: "a", 2: "b", 4: "d"}),
        ("weak, batch 16 per rank, 2 ranks per node", {1: "e", 2: "b"}),
        ("weak, batch 32 per rank, 2 ranks per node", {1: "a", 2: "c", 3: "f"}),
    ]


@pytest.mark.parametrize(
    ("of_nodes", "shown"),
    [((0, None), None), ((None, 0), None), ((0, 2, None), 2), ((None, 1), 1), ((0, 0), 0)],
)
def test_a_cluster_was_disturbed_as_its_worst_node_or_nobody_knows(
    of_nodes: tuple[int | None, ...], shown: int | None
) -> None:
    figures = [{"throttled_events": {"value": value}} for value in of_nodes]
    summary = {"figures": figures[0], "nodes": [{"figures": each} for each in figures[1:]]}
    assert bundle_rows._figures(summary)["throttled_events"]["value"] == shown
