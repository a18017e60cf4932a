"""The programs that load this machine before a run."""

from types import SimpleNamespace

import pytest

from suite.experiments import machine_load


def test_the_busiest_programs_are_named_the_busiest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most three, and none that ended or that used almost nothing."""
    before = {(f"program {pid}", pid): 10.0 for pid in range(6)}
    used_s = {0: 100.0, 1: 400.0, 2: 0.0, 3: 300.0, 4: 200.0}
    after = {(f"program {pid}", pid): 10.0 + cpu_s for pid, cpu_s in used_s.items()}
    programs = iter([before, after])
    monkeypatch.setattr(machine_load, "_programs", lambda: next(programs))
    clock = SimpleNamespace(monotonic=iter([0.0, 1000.0]).__next__, sleep=lambda seconds: None)
    monkeypatch.setattr(machine_load, "time", clock)
    assert [
        (name, pid, pytest.approx(cores))
        for name, pid, cores in machine_load.measure_load(0).programs
    ] == [("program 1", 1, 0.4), ("program 3", 3, 0.3), ("program 4", 4, 0.2)]
