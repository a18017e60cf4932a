"""Sizes, times and schedules of small networks, worked out by hand."""

import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.errors import SuiteError
from suite.extensions.memory_study.measuring.halved import peak_in_bfloat16
from suite.memory import planning, programs, tracing
from suite.memory.chain import (
    WORD_BYTES,
    Block,
    LeftOut,
    Times,
    estimated,
    gradients_after,
    network_chain,
    updated_at_once,
)
from suite.memory.network import Network, Operation
from suite.memory.operation_times import known_times, measure_times
from suite.memory.planning import PlanOptions, Workplace
from suite.memory.resident import HERE, SHIPPED, Resident, measure_resident, resident_size
from suite.memory.run_budget import copies_bytes, data_of
from suite.memory.schedule import Action, Schedule, ScheduleStep, simulate_schedule
from suite.memory.shapes import operation_shapes
from suite.memory.sizes import write_size
from suite.memory.spilling import storage_s
from suite.memory.tensors import tensor_owners
from tests.suite.memory.test_run_budget import training

ROWS = (
    Operation("x", "input", ()),
    Operation("a", "conv", ("x",), "one.a", 12, channels=4),
    Operation("n", "batch_norm", ("a",), "one.n", 8, 8),
    Operation("r", "relu", ("n",)),
    Operation("b", "conv", ("r",), "two.b", 16, channels=4, groups=2),
    Operation("f", "flatten", ("b",)),
    Operation("l", "linear", ("f",), "two.l", 401 * 5, channels=5),
)
SMALL = Network("small", "small", "own (own:small:5)", (3, 10, 10), ROWS)
"""The picture has 300 words, every map after it 400."""


def test_multiply_adds_and_estimated_times() -> None:
    table = tensor_owners(operation_shapes(SMALL, 10, 10))
    assert [each.macs for each in table.shaped] == [0, 1200, 0, 0, 800, 0, 2000]
    written = 30 * 400
    found = estimated(table)
    assert found.forward[1:] == (1200 + written, written, written, 800 + written, 0, 2150)
    backward = (1200 + 2 * written, 2 * written, 2 * written, 1600 + 2 * written, 0, 4300)
    assert found.backward[1:] == backward, "a picture needs no gradient, a view no time"


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "ceil", "expected"),
    [
        ((3, 2), (2, 3), (0, 0), True, (3, 3)),
        ((2, 2), (2, 3), (1, 1), True, (4, 3)),
        ((2, 1), (4, 9), (0, 0), True, (2, 1)),
    ],
)
def test_windows_are_pytorchs(
    kernel: Any, stride: Any, padding: Any, ceil: bool, expected: tuple[int, int]
) -> None:
    """A window may begin in the picture or its left padding, not beyond: as torch 2.13 answers."""
    pool = Operation("p", "max_pool", ("x",), None, 0, 0, 0, 1, kernel, stride, padding, ceil=ceil)
    network = Network("", "", "", (3, 6, 8), (ROWS[0], pool))
    assert operation_shapes(network, 6, 8)[-1].shape == (3, *expected)


def test_blocks_of_a_small_network() -> None:
    times = Times((0, 1, 2, 4, 8, 16, 32), (0, 10, 20, 40, 80, 160, 320))
    one, two, three = network_chain(SMALL, 10, 10, 2, times)
    words = 2 * WORD_BYTES
    assert [(each.name, each.first, each.last) for each in (one, two, three)] == [
        ("one", 1, 3),
        ("two.b", 4, 5),
        ("two.l", 6, 6),
    ]
    assert (one.input_bytes, one.output_bytes, one.kept_bytes) == (
        300 * words,
        400 * words,
        800 * words,
    )
    assert (two.kept_bytes, three.kept_bytes) == (400 * words, 5 * words)
    assert (one.forward_time, one.backward_time, two.forward_time) == (14, 140, 48)
    assert (one.gradient_bytes, one.largest_gradient_bytes) == (20 * WORD_BYTES, 12 * WORD_BYTES)
    assert one.forward_bytes == 400 * words, "n's output, beside a's and r's"
    assert one.forward_alone_bytes == (400 + 700) * words, "a's copies of the picture and of a"
    assert one.backward_bytes == (800 + 2 * 400) * words, "of r: what is kept and two gradients"
    (less,) = one.options
    assert (less.positions, less.kept_bytes, less.time) == ((1,), 400 * words, 2)
    assert less.forward_bytes == (400 + 700 - 400) * words
    assert less.backward_bytes == 3 * 400 * words, "r before a is there, or a after r"
    assert gradients_after((one, two, three)) == [4 * 2041, 4 * 2021, 4 * 2005]
    at_once, *_ = updated_at_once((one, two, three))
    assert (at_once.gradient_bytes, at_once.backward_bytes) == (0, one.backward_bytes + 48)
    assert at_once.options[0].backward_bytes == less.backward_bytes + 48


CHAIN = (
    Block("0", 0, 0, 10, 20, 50, 3, 40, 90, 1, 1.0, 2.0),
    Block("1", 1, 1, 20, 30, 60, 4, 150, 120, 2, 3.0, 5.0),
    Block("2", 2, 2, 30, 5, 35, 6, 35, 70, 4, 7.0, 11.0, 0, (LeftOut((2,), 15, 9, 60, 2.0),)),
)


def cost(*steps: tuple[str, int]) -> tuple[int, float]:
    taken = [
        ScheduleStep(Action(name.rstrip("*")), block, (2,) * ("*" in name)) for name, block in steps
    ]
    found = simulate_schedule(Schedule("", tuple(taken)), CHAIN)
    assert found.recompute_factor == pytest.approx(found.time / 29)
    return found.peak_bytes, found.time


def test_costs_of_schedules_by_hand() -> None:
    """Bytes: the mini-batch 10, what is kept 50, 60, 35, and gradients of weights from behind."""
    forward = [("keep", block) for block in range(3)]
    backward = [("backward", block) for block in (2, 1, 0)]
    assert cost(*forward, *backward) == (10 + 50 + 60 + 70 + 4, 29)
    assert cost(*forward[:2], ("keep*", 2), *backward) == (10 + 50 + 120 + 6, 31)
    again = [("restore", 0), ("keep", 0), ("backward", 0)]
    assert cost(("checkpoint", 0), *forward[1:], *backward[:2], *again) == (10 + 20 + 60 + 74, 30)
    run = [("checkpoint", 0), ("skip", 1), ("keep", 2), ("backward", 2)]
    twice = [("restore", 0), ("checkpoint", 0), ("keep", 1), ("backward", 1), *again]
    assert cost(*run, *twice) == (10 + 20 + 150, 34)
    assert peak_in_bfloat16(CHAIN) == 5 + 25 + 120 + 6, "half of the mini-batch and of what is kept"
    assert peak_in_bfloat16((replace(CHAIN[0], backward_bytes=40),)) == 5 + 50 + 3
    assert storage_s(30, 10) == 6, "written and read"


def test_what_is_always_there_and_what_a_run_s_data_keep(tmp_path: Path) -> None:
    place = Workplace(SMALL, 10, "adam", Resident(1000, ""), 100)
    parameters = 12 + 8 + 16 + 2005
    assert place.fixed_bytes == 1000 + 100 + 4 * (3 * parameters + 8)
    assert copies_bytes(SMALL) == 4 * (2 * parameters + 8)
    request = training(tmp_path, "lenet", "lenet5", 16)
    for layout, workers, mapped, batches in (
        ("idx", 0, 1, 1),
        ("cifar10", 2, 1, 0),
        ("imagefolder", 0, 0, 1),
    ):
        changed = request._replace(
            data=request.data._replace(layout=layout),
            loading=request.loading._replace(workers=workers),
        )
        found = data_of(changed, SMALL)
        assert (found.mapped_bytes, found.batch_bytes) == (
            mapped * 1100 * 300,
            batches * 16 * 300 * 5,
        )


def test_the_largest_that_fits_and_the_sizes_that_are_named() -> None:
    for most in range(8, 42):
        assert planning._largest(lambda size, most=most: size <= most, 8, 40, 8) == most // 8 * 8  # type: ignore[misc]
    assert PlanOptions().named(500_000_000) == "505MB"
    assert PlanOptions(left_free=0.05).named(950_000_000) == "1.01GB"
    sizes = (30_000, 1.448e9, 999.4e6, 999.5e6, 99.96e9, 123.4e9, 99.4e6, 1.5e6)
    written = ["0.03 MB", "1.45 GB", "999 MB", "1 GB", "100 GB", "123 GB", "99.4 MB", "1.5 MB"]
    assert [write_size(size) for size in sizes] == written


def test_results_are_kept_for_each_environment_picture_and_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment, asked = (
        SimpleNamespace(interpreter=Path("python"), packages={"torch": "1"}),
        list[Any](),
    )

    def answers(
        module: str, request: Any, lines: str, *more: object, **options: object
    ) -> list[Any]:
        asked.append(request)
        return [{"VmHWM": 1}, {"forward": [8.0, 4.0], "backward": [16.0, 12.0], "VmHWM": 7}][
            module.endswith("operation_times") :
        ]

    for module in ("operation_times", "resident"):
        monkeypatch.setattr(f"suite.memory.{module}.answers_of", answers)
    monkeypatch.setattr("suite.memory.resident.find_environment", lambda framework: environment)
    monkeypatch.setattr(programs, "find_environment", lambda framework: environment)
    monkeypatch.setattr(programs, "suite_home", lambda: tmp_path)
    found = measure_times(SMALL, 12, 4)
    assert found == known_times(SMALL, 12) == Times((2.0, 1.0), (4.0, 3.0))
    assert (asked[0]["model"], asked[0]["image"], asked[0]["batch"]) == (
        "own:small:5",
        [3, 12, 12],
        4,
    )
    other = Network("small", "", "", SMALL.image, ROWS[:-1])
    assert (
        known_times(SMALL, 14) is known_times(other, 12) is known_times(SMALL, 12, tmp_path) is None
    )
    assert resident_size().size_bytes == SHIPPED
    assert measure_resident() == resident_size() == Resident(7, HERE)
    environment.packages["torch"] = "2"
    assert known_times(SMALL, 12) is None and resident_size().size_bytes == SHIPPED
    with pytest.raises(SuiteError, match="trains nothing"):
        measure_times(SMALL, 12, 0)


def test_a_program_that_takes_too_long_and_a_result_that_cannot_be_kept_are_sentences(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def slow(command: list[str], *, timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    environment = SimpleNamespace(interpreter=Path("python"))
    monkeypatch.setattr(programs, "find_environment", lambda framework: environment)
    monkeypatch.setattr(subprocess, "run", slow)
    with pytest.raises(SuiteError, match=r"^Measuring did not finish within 600 s; try again on"):
        programs.output_of("module", (), "Measuring", timeout_s=600.0)
    (tmp_path / "memory").touch()
    with pytest.raises(SuiteError, match=r"memory/size\.json could not be written: File exists; "):
        programs.keep_result(tmp_path / "memory/size.json", {"size_bytes": 1})


def test_an_unknown_network_is_answered_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    answer: dict[str, Any] = {"unknown": True, "known": ["regnet_x"]}
    monkeypatch.setattr(tracing, "traced_rows", lambda models: {models[0]: answer})
    for name, nearest in (
        ("lenet", "workload-lenet"),
        ("regnet", "regnet_x"),
        ("resnet5", "resnet50"),
    ):
        with pytest.raises(SuiteError, match=f"did you mean '{nearest}'"):
            tracing.network_named(name)
