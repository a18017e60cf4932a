"""The peak of memory by part, from the log of a run."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from reference_impls import contract, loop
from reference_impls.training_state import sizes
from suite.bundle.log import read_log
from suite.bundle.reader import Bundle
from suite.metrics import memory_figures
from suite.metrics.memory_figures import part_figures

MB = 10**6


def log_of(tmp_path: Path, accelerator: str, parts: object, peak: object, **more: object) -> Path:
    keys = {"accelerator": accelerator, "memory_parts": parts, "peak_rss_of_ranks": peak, **more}
    lines = [
        ":::MLLOG "
        + json.dumps(
            {
                "namespace": "edge",
                "time_ms": 1,
                "event_type": "POINT_IN_TIME",
                "key": key,
                "value": value,
                "metadata": {},
            }
        )
        for key, value in keys.items()
    ]
    path = tmp_path / "log.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_parts_and_the_rest_are_the_peak(tmp_path: Path) -> None:
    state = {
        "parameter/a": memoryview(bytearray(40 * MB)),
        "velocity/a": memoryview(bytearray(40 * MB)),
        "statistic/m": memoryview(bytearray(MB)),
    }
    parts = loop.memory_parts(
        {"VmRSS": 300 * MB, "RssFile": 100 * MB},
        {"VmRSS": 500 * MB, "RssFile": 150 * MB},
        sizes(state),
    )
    figures = part_figures(read_log(log_of(tmp_path, "cpu", parts, [600 * MB])))
    values = {name: figure.value for name, figure in figures.items()}
    assert sum(value or 0 for value in values.values()) == 600 * MB
    assert values["memory_gradients_bytes"] == values["memory_weights_bytes"] == 40 * MB
    assert values["memory_mapped_bytes"] == 50 * MB
    assert values["memory_rest_bytes"] == 129 * MB
    assert "the mapped data set" in str(figures["memory_rest_bytes"].method), "unmapped by then"


def test_a_part_that_is_trained_has_gradients_of_that_part(tmp_path: Path) -> None:
    parts = {"framework": 0, "mapped": 0, "parameter": 40, "velocity": 30, "statistic": 0}
    figures = part_figures(read_log(log_of(tmp_path, "cpu", parts, [200], trained={"names": []})))
    assert figures["memory_gradients_bytes"].value == figures["memory_state_bytes"].value == 30
    assert figures["memory_weights_bytes"].value == 40
    assert figures["memory_rest_bytes"].value == 100


@pytest.mark.parametrize(
    ("parts", "peak"), [({"framework": "x"}, [1]), ({}, []), ({"framework": None}, None)]
)
def test_what_is_not_logged_is_unknown_with_a_reason(
    parts: object, peak: object, tmp_path: Path
) -> None:
    figures = part_figures(read_log(log_of(tmp_path, "cpu", parts, peak)))
    assert figures["memory_rest_bytes"].value is None and figures["memory_rest_bytes"].reason


def test_a_cgroups_peak_is_known_where_the_run_has_one_of_its_own(tmp_path: Path) -> None:
    for number, peak in enumerate((7 * MB, None)):
        (tmp_path / str(number)).mkdir()
        figure = part_figures(
            read_log(log_of(tmp_path / str(number), "cpu", {"cgroup_peak": peak}, [1]))
        )["memory_cgroup_peak_bytes"]
        assert figure.value == peak
        assert (peak is None) == bool(figure.reason)


OWN = contract.OWN_CGROUP + "12"


@pytest.mark.parametrize(
    ("line", "file", "expected"),
    [
        (f"5:memory:/{OWN}", f"memory/{OWN}/memory.max_usage_in_bytes", 42),
        (f"0::/{OWN}", f"{OWN}/memory.peak", 42),
        (f"0::/{OWN}", f"{OWN}/memory.max", None),
        (f"4:cpu,cpuacct:/{OWN}", f"memory/{OWN}/memory.max_usage_in_bytes", None),
        ("0::/user.slice", "user.slice/memory.peak", None),
    ],
    ids=[
        "version 1",
        "version 2",
        "Linux before 5.19",
        "limited in CPU time only",
        "shared with other programs",
    ],
)
def test_only_a_runs_own_cgroup_has_its_peak(
    line: str, file: str, expected: int | None, tree: Callable[[dict[str, str]], Path]
) -> None:
    root = tree({"proc/self/cgroup": f"11:pids:/\n{line}\n", f"sys/fs/cgroup/{file}": "42\n"})
    assert contract.cgroup_peak_bytes(str(root)) == expected


def test_a_gpus_state_is_not_the_processs_memory(tmp_path: Path) -> None:
    figures = part_figures(read_log(log_of(tmp_path, "cuda", {"framework": 1}, [1])))
    assert {figure.value for figure in figures.values()} == {None}


def test_a_log_without_parts_has_no_figures(tmp_path: Path) -> None:
    assert part_figures(read_log(log_of(tmp_path, "cpu", None, [1]))) == {}


@pytest.mark.parametrize(
    ("logged", "expected"),
    [
        ({}, (None, None, None)),
        ({"recomputation": {"passes_s": 3, "again_s": 1, "spilled_bytes": 0}}, (1.5, 0, 0)),
    ],
    ids=["not finished", "by a version without storage"],
)
def test_what_a_budget_costs_is_unknown_where_nothing_was_logged(
    logged: dict[str, object],
    expected: tuple[float | None, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned = SimpleNamespace(budget_bytes=2, planned_bytes=1, planned_factor=1.5)
    monkeypatch.setattr(memory_figures, "planned_recomputation", lambda _: planned)
    log = read_log(log_of(tmp_path, "cpu", None, [1], **logged))
    found = memory_figures.memory_figures(Bundle(tmp_path), log)
    names = ("recompute_factor", "spilled_bytes", "spill_s")
    assert tuple(found[name].value for name in names) == expected
