"""A limit of memory in which a framework cannot start is refused before the first run; real
processes under real limits."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from suite.catalog.frameworks import Framework, load_framework
from suite.errors import SuiteError
from suite.experiments import little_memory
from suite.experiments.before_runs import refuse_at_once
from suite.experiments.little_memory import checks_of_memory, refuse_little_memory
from suite.machine.limits import memory_limit, refuse_limit


@dataclass
class NeedsMemory:
    """A framework that starts in some memory; notes which sizes were tried."""

    needed_mb: float
    tried: list[float] = field(default_factory=list)

    def __call__(
        self, framework: Framework, environment: object, size_mb: float, root: Path
    ) -> bool:
        self.tried.append(size_mb)
        return size_mb >= self.needed_mb


def test_all_sizes_that_are_too_small_are_named_and_larger_ones_than_enough_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    framework = load_framework("fake")
    monkeypatch.setattr(little_memory, "starts", needs := NeedsMemory(220))
    sizes = (400.0, 50.0, None, 800.0, 100.0)
    with pytest.raises(
        SuiteError,
        match=r"^memory_mb 50, 100: .* cannot start in so little memory .*; choose more\.$",
    ):
        refuse_at_once(checks_of_memory((framework, size) for size in sizes))
    assert needs.tried == [50, 100, 400]


def test_runs_without_a_limit_start_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(little_memory, "starts", needs := NeedsMemory(220))
    refuse_at_once(checks_of_memory([(load_framework("fake"), None)]))
    assert needs.tried == []


def test_a_real_interpreter_starts_in_some_memory_and_not_in_less() -> None:
    try:
        refuse_limit(memory_limit(4))
    except SuiteError as error:
        pytest.skip(str(error))
    refuse_little_memory(load_framework("fake"), [200])
    with pytest.raises(SuiteError, match=r"memory_mb 4: .* cannot start"):
        refuse_little_memory(load_framework("fake"), [4, 200])
