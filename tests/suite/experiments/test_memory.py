"""A lack of memory is distinguished from other failures, and the error names a size that fits."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from suite.bundle import layout
from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.execution.events import silent
from suite.execution.request import RunRequest
from suite.experiments import memory, one_run
from suite.experiments.memory import largest_batch, ran_out_of_memory
from suite.files.json_file import write_json
from suite.launch.environments import Environment
from suite.machine.limits import Limit, cpu_quota, memory_limit
from suite.machine.procfs import kills_for_memory
from tests.builders import Scenario, make_record, make_request
from tests.every_case import some
from tests.suite.experiments.hungry import LIMIT_MIB


def hungry(batch_size: int, tmp_path: Path) -> RunRequest:
    """A request for the implementation that needs a MiB a sample."""
    training = make_request(tmp_path, Scenario(framework="hungry"))._replace(
        global_batch_size=batch_size
    )
    framework = replace(load_framework("fake"), module="tests.suite.experiments.hungry")
    return RunRequest(
        "run", load_workload("lenet"), load_device("generic"), "made up", framework, training
    )


HERE = Environment("hungry", Path(sys.executable), {})


@pytest.mark.parametrize("asked", some([401, 1000, 3000]))
def test_the_size_that_is_named_fits_and_an_eighth_more_does_not(
    asked: int, tmp_path: Path
) -> None:
    tried: list[int] = []
    found = largest_batch(hungry(asked, tmp_path), HERE, tried.append)
    assert found is not None
    assert LIMIT_MIB * 0.7 < found < LIMIT_MIB  # the interpreter itself takes some
    larger = [size for size in tried if size > found]
    assert all(size - found > 0 for size in larger)
    assert min([*larger, asked]) - found <= max(1, found // 8)


def test_where_nothing_fits_no_size_is_named(tmp_path: Path) -> None:
    request = replace(
        hungry(4, tmp_path), framework=replace(load_framework("fake"), module="no.such.module")
    )
    assert largest_batch(request, HERE, lambda size: None) is None


def failed_run(path: Path, exit_code: int, output: str) -> Path:
    """The directory of a failed run."""
    path.mkdir()
    record = make_record(make_request(path, Scenario()), Scenario(), "failed")
    write_json(path / layout.RUN, replace(record, exit_code=exit_code))
    (path / layout.OUTPUT).write_text(output)
    return path


def test_sizes_are_tried_under_the_limits_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = list[str]()

    @contextmanager
    def limits(found: tuple[Limit, ...]) -> Iterator[Callable[[int], None]]:
        yield lambda pid: limited.extend(limit.setting for limit in found)

    monkeypatch.setattr(memory, "process_limits", limits)
    request = replace(
        hungry(4, tmp_path),
        framework=replace(load_framework("fake"), module="no.such.module"),
        limits=(memory_limit(600),),
    )
    assert largest_batch(request, HERE, lambda size: None) is None
    assert limited == ["memory_mb 600"] * 2


def test_beside_neighbours_no_size_is_tried(tmp_path: Path) -> None:
    run = failed_run(tmp_path / "run", 1, "MemoryError\n")
    limits = (cpu_quota(0.5), memory_limit(600))
    request = replace(hungry(4, run), neighbours=2, limits=limits)
    said = one_run._out_of_memory(request, HERE, silent)
    assert said.startswith(
        "Out of memory with mini-batches of 4 samples and memory_mb 600 and 2 neighbours; choose"
        " fewer neighbours, or a smaller --batch-size. "
    )


@pytest.mark.parametrize(
    "said",
    [
        (
            "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"
            " allocate 536870912 bytes."
        ),
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.00 GiB for an array",
        "MemoryError",
        "terminate called after throwing an instance of 'std::bad_alloc'",
    ],
)
def test_the_frameworks_error_messages_are_recognised(said: str, tmp_path: Path) -> None:
    assert ran_out_of_memory(failed_run(tmp_path / "run", 1, f"epoch 1\n{said}\n"), 0)


def test_another_failure_is_not_taken_for_a_lack_of_memory(tmp_path: Path) -> None:
    assert not ran_out_of_memory(failed_run(tmp_path / "run", 1, "ValueError: no such layer\n"), 0)


@pytest.mark.parametrize(
    ("before", "after", "expected"), [(3, 4, True), (3, 3, False), (None, 4, False)]
)
def test_a_killed_run_ran_out_of_memory_if_the_kernel_counted_it(
    before: int | None, after: int, expected: bool, tmp_path: Path
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text(f"nr_free_pages 5\noom_kill {after}\n")
    assert ran_out_of_memory(failed_run(tmp_path / "run", -9, ""), before, tmp_path) is expected


def test_without_the_kernels_count_the_answer_is_unknown(tmp_path: Path) -> None:
    assert kills_for_memory(tmp_path) is None
