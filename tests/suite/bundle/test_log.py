"""The log reader: other producers' logs, broken lines, true line numbers."""

import json
from pathlib import Path

import pytest

from suite.bundle.log import LogEvent, parse_line, read_log, run_window
from suite.execution.training import LogFollower

EVENT = {
    "namespace": "",
    "time_ms": 1,
    "event_type": "POINT_IN_TIME",
    "key": "seed",
    "value": 3,
    "metadata": {"mono_ns": 5, "epoch_num": 2},
}


def line(**changes: object) -> str:
    return ":::MLLOG " + json.dumps({**EVENT, **changes})


def log_of(path: Path, *lines: str) -> Path:
    (path / "log.txt").write_text("\n".join([*lines, ""]))
    return path / "log.txt"


@pytest.mark.parametrize(
    "text",
    [
        ":::MLLOG {",
        line(key=3),
        line(metadata=[1]),
        ":::MLLOG []",
        ":::MLLOG " + "[" * 100_000,
    ],
    ids=range(5),
)
def test_a_line_that_cannot_be_read_is_a_problem_with_its_number(text: str, tmp_path: Path) -> None:
    log = read_log(log_of(tmp_path, line(), text))
    assert len(log.events) == 1
    assert 2 in [problem.line for problem in log.problems if not problem.chain]


def test_a_log_without_chain_says_so_once(tmp_path: Path) -> None:
    assert [
        problem.line for problem in read_log(log_of(tmp_path, line(), line(), line())).problems
    ] == [1]


def test_a_value_of_the_wrong_kind_is_no_time(tmp_path: Path) -> None:
    (event,) = read_log(
        log_of(tmp_path, line(metadata={"mono_ns": "soon", "epoch_num": True}))
    ).events
    assert event.mono_ns is None and event.epoch is None


def test_a_follower_sees_each_whole_line_once(tmp_path: Path) -> None:
    follower = LogFollower(tmp_path / "log.txt")
    assert follower.new_events() == []
    with (tmp_path / "log.txt").open("w") as stream:
        stream.write(line(value=1) + "\n" + line(value=2)[:20])
        stream.flush()
        assert [event.value for event in follower.new_events()] == [1]
        stream.write(line(value=2)[20:] + "\n")
        stream.flush()
        assert [(event.value, event.line) for event in follower.new_events()] == [(2, 2)]
    assert follower.new_events() == []


def test_a_name_twice_and_a_number_that_json_lacks_are_problems(tmp_path: Path) -> None:
    start = (
        ':::MLLOG {"namespace": "edge", "time_ms": 1, "event_type": "POINT_IN_TIME", "key":'
        ' "seed", '
    )
    (tmp_path / "log.txt").write_text(
        f'{start}"value": 1, "value": 2, "metadata": {{}}}}\n{start}"value": NaN, "metadata":'
        " {}}\n"
    )
    problems = [
        problem.what for problem in read_log(tmp_path / "log.txt").problems if not problem.chain
    ]
    assert (
        "an object has the key 'value' twice" in problems[0]
        and "NaN is not a JSON number" in problems[1]
    )


def test_what_a_log_tells_of_its_run(tmp_path: Path) -> None:
    """The first of equal events, in file order; what is NaN or without an epoch is left out."""
    told = (
        ("run_start", 1, {"mono_ns": 20}),
        ("epoch_stop", None, {"epoch_num": 2}),
        ("epoch_stop", None, {"epoch_num": 1}),
        ("epoch_stop", None, {"epoch_num": "3"}),
        ("eval_accuracy", 0.5, {"epoch_num": 1, "correct": 5}),
        ("eval_accuracy", "high", {"epoch_num": 2, "correct": True}),
        ("eval_accuracy", 0, {"epoch_num": 3, "correct": 0}),
        ("run_start", 2, {"mono_ns": 30}),
        ("run_stop", 3, {"mono_ns": 70}),
        ("late", 3, {}),
    )
    lines = [line(key=key, value=value, metadata=metadata) for key, value, metadata in told]
    log = read_log(log_of(tmp_path, *lines))
    assert (log.value("run_start"), log.value("run_stop"), log.value("seed")) == (1, 3, None)
    assert [event.value for event in log.all("run_start")] == [1, 2]
    assert log.finished_epochs() == (2, 1) and log.correct() == {1: 5, 3: 0}
    assert [event.value for event in log.evaluations()] == [0.5, 0]
    assert run_window(log) == (20, 70) and log.window("run_stop", "run_start") == (70, 20)
    assert log.window("run_start", "late") is log.window("late", "run_stop") is None
    event = parse_line(9, f"rank 1: {lines[0]}")
    assert isinstance(event, LogEvent) and (event.line, event.value) == (9, 1)
    assert parse_line(9, "loss 2.3") is None


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"parameters": 9}, 9),
        ({"parameters": True}, None),
        ({}, None),
        ({"parameters": 9, "trained": {"parameters": 2}}, 2),
        ({"parameters": 9, "trained": {"parameters": "2"}}, None),
    ],
)
def test_the_parameters_whose_gradients_are_exchanged_are_those_of_the_part_that_is_trained(
    told: dict[str, object], found: int | None, tmp_path: Path
) -> None:
    lines = [line(key=key, value=value) for key, value in told.items()]
    assert read_log(log_of(tmp_path, *lines)).trained_parameters == found
