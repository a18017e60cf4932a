"""Machines of runs, what links lost, and instruments in words."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

from reporter.data import machines
from reporter.data.instrument_names import instrument_named, sensor_named
from reporter.data.link_losses import link_loss
from reporter.data.load import _points
from reporter.data.machines import Machine, differing_software, machine_of
from reporter.data.values import why_missing


def described(monkeypatch: pytest.MonkeyPatch, system: object) -> Machine:
    monkeypatch.setattr(machines, "Bundle", lambda _: SimpleNamespace(json=lambda _: system))
    return machine_of(Path())


def test_a_machine_has_the_highest_limit_of_each_kind_of_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[tuple[str, object]] = [
        *(("cpu", 1.5e9), ("cpu", 2.4e9), ("cpu", 1.8e9), ("cpu", True), ("cpu", 1e12)),
        *(("gpu", 9e8), ("memory", 0), ("memory", None)),
    ]
    clocks = [{"kind": kind, "max_hz": max_hz} for kind, max_hz in limits]
    settings = {"clocks": [*clocks, None], "cores_online": [0, 1, 4], "clocks_locked": False}
    system = {
        "power_settings": settings,
        "memory_size_bytes": 8 * 2**30,
        "board_digest": "0123456789",
        "kernel": "6.1",
        "python": 3,
        "libraries": {"open_blas": "0.3"},
    }
    assert described(monkeypatch, system) == Machine(
        *("012345", 3, 2400.0, 900.0, None, False, 8 * 2**30),
        (("kernel", "6.1"), ("open blas", "0.3")),
    )
    other = {"power_settings": [], "memory_size_bytes": 2**60, "libraries": []}
    assert described(monkeypatch, other) == described(monkeypatch, {}) == Machine(*[None] * 7)


def test_software_differs_where_two_known_versions_do() -> None:
    versions = [{"kernel": "1", "python": "3", "x": "1"}, {"kernel": "2", "x": "1"}, {"x": "1"}]
    found = [Machine(*[None] * 7, tuple(each.items())) for each in versions]
    assert differing_software(found) == ("kernel",) and differing_software(found[:1]) == ()
    more = [{"python": "3.11", "zlib": "1"}, {"python": "3.12"}, {"kernel": "6"}]
    more += [{"kernel": "5", "zlib": "1"}]
    machines_ = [Machine(*[None] * 7, tuple(each.items())) for each in more]
    assert differing_software(machines_[:3]) == ("python",)
    assert differing_software(machines_) == ("kernel", "python")


def test_shares_of_a_clock_are_of_the_readings_in_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def channel(*readings: tuple[int, float]) -> Any:
        times, clocks = np.array(readings).T
        return SimpleNamespace(in_time=SimpleNamespace(t_ns=times, values=clocks))

    cores = [
        channel((9, 6e8), (10, 1e9), (20, 1.5e9 + 4e5), (21, 6e8)),
        channel((10, 1e9), (15, np.nan), (20, 1e9)),
    ]
    bundle = SimpleNamespace(log=lambda: None, channels=lambda: cores)
    monkeypatch.setattr(machines, "Bundle", lambda _: bundle)
    monkeypatch.setattr(machines, "core_clocks", lambda channels: channels)
    windows: list[tuple[int, int] | None] = [(10, 20), None]
    monkeypatch.setattr(machines, "run_window", lambda _: windows.pop(0))
    assert machines.cpu_clock_shares(Path()) == {1000: 0.75, 1500: 0.25}
    assert machines.cpu_clock_shares(Path()) == {}


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (
            {"channel": "tcp.retransmitted", "count": 1200, "share": 0.0125},
            "1,200 TCP segments were sent again (1.25 % of all)",
        ),
        (
            {"channel": "eth0.dropped", "count": 1500, "share": 0.0125},
            "eth0: 1,500 packets were dropped (1.25 % of all)",
        ),
        (
            {"channel": "tcp.retransmitted", "count": 3, "share": None},
            "3 TCP segments were sent again",
        ),
        ({"channel": "eth0.10.dropped", "count": 3}, "eth0.10: 3 packets were dropped"),
        ({"channel": "eth0.odd", "count": 1, "share": None}, "eth0: 1 odd"),
    ],
)
def test_what_a_link_lost(loss: dict[str, object], said: str) -> None:
    found = link_loss({**loss, "start_s": 12.5, "held_s": 3.0})
    assert found == f"{said} within 3.00 s, which began 12.50 s after run_start"


def test_instruments_in_words() -> None:
    assert instrument_named("wall meter", "wall") == "meter at the wall"
    assert instrument_named("wall meter", "chips") == "meter of CPU and GPU"
    assert instrument_named("on-board sensor", "board") == "on-board sensor of the board"
    assert instrument_named("wall", "wall meter") == "unknown sensor"
    mixed = {sensor_named("analyser", None), sensor_named(float("nan"), "wall")}
    assert mixed == {"mixed or unknown sensors"}


def test_the_most_frequent_reason_says_why_a_figure_is_missing() -> None:
    reasons = pandas.DataFrame({"reason": ["b", "c", None, "c", None, None]})
    frames: Any = SimpleNamespace(select=lambda *_: reasons)
    assert why_missing(frames, "x") == "c"
    reasons = reasons.iloc[:2]
    assert why_missing(frames, "x") == "b"
    reasons = reasons.iloc[:0]
    assert why_missing(frames, "x") == "no run has this figure"


def test_a_sweep_s_settings_are_columns_of_numbers_where_all_are() -> None:
    told = [
        {"batch_size": "16", "framework": "9", "seed": "1"},
        None,
        {"batch_size": "8", "framework": "acme"},
        {"threads": "2"},
    ]
    found = _points([{"run_id": str(at), "settings": each} for at, each in enumerate(told)])
    assert found["run_id"].tolist() == ["0", "2", "3"]
    assert found["batch_size"].dropna().tolist() == [16, 8]
    assert found["framework"].dropna().tolist() == ["9", "acme"]
    assert found["threads"].isna().tolist() == [True, True, False]
    assert found["seed"].isna().all(), "a run's own column, not a setting"
