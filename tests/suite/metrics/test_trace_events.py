"""Traces keep to the Trace Event Format, hold every record of the run, and place all nodes on one
clock."""

import gzip
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from reference_impls.contract import NS_PER_S
from suite import api
from suite.bundle import readings_table
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.metrics.trace_file import default_path, write_trace
from suite.metrics.traces.course import course_of
from tests.builders import AHEAD_NS, Scenario, make_bundle
from tests.faults.edits.attached_edits import made_trace

TWO_NODES = Scenario(ranks=2, nodes=2, step_s=0.005, power_w=6.0, idle_w=3.0, framework="pytorch")
TOLERANCE_US = 1e-3

REQUIRED = {
    "X": {"name", "cat", "ts", "dur", "pid", "tid"},
    "C": {"name", "cat", "ts", "pid", "tid", "args"},
    "M": {"name", "pid", "tid", "args"},
}
"""Fields of complete events, counters and metadata, from the format's description; ``args`` of a
complete event may be left out."""
METADATA = {
    "process_name": ("name", str),
    "thread_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_sort_index": ("sort_index", int),
}
TOP = {"traceEvents", "displayTimeUnit", "otherData"}


def traced(bundle: Path, path: Path) -> dict[str, Any]:
    write_trace(bundle, path)
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    found: dict[str, Any] = json.loads(
        text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON")
    )
    return found


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundles") / "two", TWO_NODES)


@pytest.fixture(scope="module")
def trace(two_nodes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return traced(two_nodes, tmp_path_factory.mktemp("traces") / "two.trace.json.gz")


def of_phase(trace: dict[str, Any], phase: str) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] == phase]


def test_a_trace_keeps_to_the_formats_description(trace: dict[str, Any]) -> None:
    assert set(trace) == TOP and trace["displayTimeUnit"] in ("ms", "ns")
    for event in trace["traceEvents"]:
        fields = set(event) - {"ph"}
        assert REQUIRED[event["ph"]] <= fields <= REQUIRED[event["ph"]] | {"args"}, event
        assert (
            type(event["pid"]) is int
            and type(event["tid"]) is int
            and isinstance(event["name"], str)
        )
        assert all(
            math.isfinite(event[name]) and event[name] >= 0
            for name in ("ts", "dur")
            if name in event
        )
        if event["ph"] == "M":
            name, kind = METADATA[event["name"]]
            assert set(event["args"]) == {name} and type(event["args"][name]) is kind
        if event["ph"] == "C":
            assert event["args"] and all(
                isinstance(value, int | float) for value in event["args"].values()
            )


def test_complete_events_of_a_thread_lie_within_one_another_or_apart(trace: dict[str, Any]) -> None:
    """The format's condition for drawing them; Perfetto drops what breaks it."""
    threads = defaultdict(list)
    for event in of_phase(trace, "X"):
        threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert set(threads) == {(1, 1), (2, 2)}
    for ends in threads.values():
        open_until: list[float] = []
        for begin, end in sorted(ends, key=lambda each: (each[0], -each[1])):
            while open_until and begin >= open_until[-1] - TOLERANCE_US:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + TOLERANCE_US
            open_until.append(end)


def test_every_step_and_its_parts_are_there_as_long_as_they_were(
    trace: dict[str, Any], two_nodes: Path
) -> None:
    steps, events = Bundle(two_nodes).steps(), of_phase(trace, "X")
    drawn = [event for event in events if event["cat"] == "step"]
    assert len(drawn) == len(steps)
    for name, column in (
        ("fetch", "fetch_stall_s"),
        ("copy", "copy_s"),
        ("compute", "compute_s"),
        ("exchange", "communication_s"),
    ):
        total_s = sum(event["dur"] for event in events if event["name"] == name) * 1e-6
        assert total_s == pytest.approx(steps.sum_s(column), rel=1e-4)
    assert drawn[0]["args"] == {
        "step": 1,
        "epoch": 1,
        "samples": int(steps.samples[0]),
        "loss": float(steps.loss[0]),
    }
    assert {event["name"] for event in events if event["cat"] == "phase"} >= {
        "initialisation",
        "run",
        "epoch 1",
        "evaluation 1",
    }


def test_both_nodes_are_on_rank_0s_clock(trace: dict[str, Any]) -> None:
    """The second node's clock is 81 days ahead."""
    assert AHEAD_NS > 10**6 * NS_PER_S
    epochs = [event for event in of_phase(trace, "X") if event["name"] == "epoch 1"]
    assert abs(epochs[0]["ts"] - epochs[1]["ts"]) < 1e4
    power = defaultdict(list)
    for event in of_phase(trace, "C"):
        if event["cat"] == "power":
            power[event["pid"]].append(event)
    assert set(power) == {1, 2}
    assert {next(iter(event["args"])) for event in power[1]} == {"W"}
    first, second = (sorted(event["ts"] for event in power[node]) for node in (1, 2))
    assert len(first) == len(second) and abs(first[-1] - second[-1]) < 1e6


def test_a_node_without_clock_offset_is_left_out_and_said_so(
    two_nodes: Path, tmp_path: Path
) -> None:
    bundle = make_bundle(tmp_path / "run", TWO_NODES)
    log = bundle / "log.txt"
    log.write_text(
        "".join(line for line in log.read_text().splitlines(True) if "clock_offsets_ns" not in line)
    )
    written = write_trace(bundle, tmp_path / "out.json")
    assert any(sentence.startswith("rank 1:") for sentence in written.left_out)
    assert {
        event["pid"]
        for event in json.loads((tmp_path / "out.json").read_text())["traceEvents"]
        if event["ph"] == "X"
    } == {1}


def test_the_same_run_gives_the_same_bytes_and_none_within_its_directory(
    two_nodes: Path, tmp_path: Path
) -> None:
    write_trace(two_nodes, tmp_path / "a.json.gz")
    write_trace(two_nodes, tmp_path / "b.json.gz")
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    assert default_path(two_nodes).parent == two_nodes.parent
    with pytest.raises(SuiteError, match="is in the run directory"):
        write_trace(two_nodes, two_nodes / "trace.json")
    with pytest.raises(SuiteError, match="cannot be written"):
        write_trace(two_nodes, tmp_path / "missing" / "trace.json")


def test_a_run_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="run does not exist; give the path of a run directory"):
        write_trace(tmp_path / "run", tmp_path / "out.json")


def test_an_attached_trace_begins_no_earlier_than_the_file(
    good_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins before the harness did, and stands behind more readings than are looked at."""
    logged = tmp_path / "logger.csv"
    logged.write_text(made_trace(course_of(Bundle(good_bundle))), encoding="utf-8")
    api.attach_power(good_bundle, logged, covers="wall")
    monkeypatch.setattr(readings_table, "HEAD_ROWS", 1)
    events = traced(good_bundle, tmp_path / "out.json")["traceEvents"]
    assert min(event["ts"] for event in events if event["ph"] != "M") == 0
