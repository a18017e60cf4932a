"""The peak of memory by part, from the log of a run."""

import json
from pathlib import Path

import pytest

from reference_impls import loop
from reference_impls.training_state import sizes
from suite.bundle.log import read_log
from suite.metrics.memory_figures import part_figures

MB = 10**6


def log_of(tmp_path: Path, accelerator: str, parts: object, peak: object) -> Path:
    keys = {"accelerator": accelerator, "memory_parts": parts, "peak_rss_of_ranks": peak}
    lines = [
        ":::MLLOG " + json.dumps({"namespace": "edge", "time_ms": 1, "event_type": "POINT_IN_TIME", "key": key, "value": value, "metadata": {}})
        for key, value in keys.items()
    ]
    path = tmp_path / "log.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_parts_and_the_rest_are_the_peak(tmp_path: Path) -> None:
    state = {"parameter/a": memoryview(bytearray(40 * MB)), "velocity/a": memoryview(bytearray(40 * MB)), "statistic/m": memoryview(bytearray(MB))}
    parts = loop.memory_parts({"VmRSS": 300 * MB, "RssFile": 100 * MB}, {"VmRSS": 500 * MB, "RssFile": 150 * MB}, sizes(state))
    figures = part_figures(read_log(log_of(tmp_path, "cpu", parts, [600 * MB])))
    values = {name: figure.value for name, figure in figures.items()}
    assert sum(value or 0 for value in values.values()) == 600 * MB
    assert values["memory_gradients_bytes"] == values["memory_weights_bytes"] == 40 * MB
    assert values["memory_mapped_bytes"] == 50 * MB
    assert values["memory_rest_bytes"] == 129 * MB


@pytest.mark.parametrize(("parts", "peak"), [({"framework": "x"}, [1]), ({}, []), ({"framework": None}, None)])
def test_what_is_not_logged_is_unknown_with_a_reason(parts: object, peak: object, tmp_path: Path) -> None:
    figures = part_figures(read_log(log_of(tmp_path, "cpu", parts, peak)))
    assert figures["memory_rest_bytes"].value is None and figures["memory_rest_bytes"].reason


def test_a_gpus_state_is_not_the_processs_memory(tmp_path: Path) -> None:
    figures = part_figures(read_log(log_of(tmp_path, "cuda", {"framework": 1}, [1])))
    assert {figure.value for figure in figures.values()} == {None}


def test_a_log_without_parts_has_no_figures(tmp_path: Path) -> None:
    assert part_figures(read_log(log_of(tmp_path, "cpu", None, [1]))) == {}
