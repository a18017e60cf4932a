"""What a person types, resolved into a request: limits of every option, what comes before what, and
options that exclude each other."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference_impls import contract
from suite.catalog.divisions import Division
from suite.catalog.frameworks import Framework
from suite.catalog.timings import Timing
from suite.catalog.workloads import OtherData, load_workload
from suite.errors import SuiteError
from suite.execution import resolve
from suite.execution.request import Accelerator, Collective, Normalisation, RunOptions, Shares, Wire
from suite.execution.resolve import choose_data, resolve_options, validate_request
from suite.experiments.one_run import _with_own_data
from suite.files.paths import repository_root
from suite.launch.placement import Placement

RESNET = RunOptions(Division.OPEN, "generic", "resnet18", "pytorch")
LENET = replace(RESNET, workload="lenet")
"""MNIST: 60,000 samples, 16 a mini-batch."""
SYNCHRONISED, NATIVE = Normalisation.SYNCHRONISED, Collective.NATIVE
BY_SPEED = Shares.SPEED


def resolved(options: RunOptions, **changes: Any) -> contract.Request:
    return resolve_options(replace(options, **changes), as_published=True).training


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("seed", (0, 2**32 - 1), (-1, 2**32)),
        ("workers", (0, 64), (-1, 65)),
        ("prefetch", (1, 64), (0, 65)),
        ("learning_rate", (1e-9, 1e9), (0.0, -0.1, float("inf"), float("nan"))),
        *((name, (1,), (0,)) for name in ("epochs", "steps", "short", "batch_size", "threads")),
        ("accumulate", (1, 2), (0,)),
    ],
)
def test_every_option_has_its_limits(
    name: str, allowed: tuple[float, ...], refused: tuple[float, ...]
) -> None:
    for value in allowed:
        validate_request(replace(RESNET, **{name: value}))  # type: ignore[arg-type]
    for value in refused:
        flag = f"--{name.replace('_', '-')} must be"
        with pytest.raises(SuiteError, match=flag):
            validate_request(replace(RESNET, **{name: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"short": 1, "steps": 1}, "--short and --steps both"),
        ({"normalisation": SYNCHRONISED, "workload": "lenet"}, "has no batch normalisation"),
        ({"normalisation": SYNCHRONISED, "collective": NATIVE}, "needs the suite's all-reduce"),
        ({"normalisation": SYNCHRONISED, "accumulate": 2}, "leave --accumulate out"),
        ({"normalisation": SYNCHRONISED}, None),
        ({"wire": Wire.FLOAT16, "collective": NATIVE}, "works only with the suite's all-reduce"),
        ({"wire": Wire.FLOAT16}, None),
        ({"shares": BY_SPEED, "collective": NATIVE}, "leave --collective native out"),
        ({"shares": BY_SPEED}, "add --normalisation synchronised"),
        ({"shares": BY_SPEED, "normalisation": SYNCHRONISED}, None),
        ({"shares": BY_SPEED, "workload": "lenet", "accumulate": 2}, None),
        ({"collective": NATIVE}, None),
        ({"spill": "/srv"}, "add --memory-budget"),
        ({"spill": "/srv", "memory_budget": "2GB"}, None),
        ({"accumulate": 2, "memory_budget": "2GB"}, "updates each weight immediately"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    changes: dict[str, Any], words: str | None
) -> None:
    if words is None:
        validate_request(replace(RESNET, **changes))
        return
    with pytest.raises(SuiteError, match=words):
        validate_request(replace(RESNET, **changes))


def test_what_is_typed_comes_before_the_workloads_values() -> None:
    own, typed = (
        resolved(LENET),
        resolved(LENET, batch_size=7, learning_rate=0.5, epochs=3, short=2, no_target=True),
    )
    assert (own.global_batch_size, own.optimizer.base_learning_rate) == (16, 0.005)
    assert (own.epochs, own.steps, own.target_accuracy, own.accelerator) == (10, None, 0.99, "cpu")
    assert (typed.global_batch_size, typed.optimizer.base_learning_rate) == (7, 0.5)
    # 60,000 samples are 8,571 mini-batches of 7, and one of 3
    assert (typed.epochs, typed.steps, typed.target_accuracy) == (3, 2 * 8572, None)
    assert resolved(LENET, batch_size=60_000).global_batch_size == 60_000
    with pytest.raises(SuiteError, match="exceeds the 60000 training samples"):
        resolved(LENET, batch_size=60_001)


@pytest.mark.parametrize(
    ("workload", "batch_size", "known"),
    [("lenet", None, True), ("lenet", 20, False), ("vgg11", None, False), ("resnet18", 32, False)],
)
def test_a_short_entry_needs_losses_of_reference_runs_at_its_setting(
    workload: str, batch_size: int | None, known: bool
) -> None:
    options = replace(RESNET, workload=workload, batch_size=batch_size, short=4)
    steps, closed = resolved(options).steps, replace(options, division=Division.CLOSED)
    if known:
        assert resolved(closed).steps == steps
        return
    with pytest.raises(SuiteError, match=r"can have no rank.*leave --short out"):
        resolved(closed)


@pytest.mark.parametrize(
    ("cores", "ranks_per_node", "typed", "threads"),
    [(8, 1, None, 8), (8, 3, None, 2), (2, 3, None, 1), (8, 3, 5, 5)],
)
def test_the_ranks_of_a_node_share_its_cores(
    cores: int, ranks_per_node: int, typed: int | None, threads: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(resolve, "usable_cores", lambda: cores)
    hosts = Placement(("pi1", "pi2"), ranks_per_node)
    assert resolved(RESNET, placement=hosts, threads=typed).threads == threads
    assert resolved(LENET, threads=typed).threads == (typed or 1), "LeNet-5 has one thread"


def test_loading_workers_are_for_gpus_unless_they_are_typed(monkeypatch: Any) -> None:
    found = []
    for cores in (2, 8):
        monkeypatch.setattr(resolve, "usable_cores", lambda cores=cores: cores)
        for changes in ({}, {"accelerator": Accelerator.CPU}, {"workers": 0}, {"workers": 7}):
            gpu = {"accelerator": Accelerator.CUDA, **changes}
            found.append(resolved(LENET, **gpu).loading.workers)
    assert found == [2, 0, 0, 7, 4, 0, 0, 7]
    page = (repository_root() / "docs/data.md").read_text(encoding="utf-8")
    assert "| n (default: up to 4 with a GPU) |" in page


def test_every_rank_has_a_sample_of_the_smallest_mini_batch() -> None:
    placed = {"placement": Placement(("pi1",), 3), "batch_size": 7}
    assert resolved(LENET, **placed).parallel[:2] == (3, 1)  # mini-batches of 7, the last of 3
    with pytest.raises(SuiteError, match="smallest mini-batch has 3 samples, fewer than the 4"):
        resolved(LENET, **{**placed, "placement": Placement(("pi1", "pi2"), 2)})
    even = resolved(LENET, placement=Placement(("pi1", "pi2"), 8))  # all of 16
    assert (even.parallel.ranks, even.parallel.nodes, even.parallel.overlap) == (16, 2, True)
    with pytest.raises(SuiteError, match="has 16 samples, fewer than the 17 ranks"):
        resolved(LENET, placement=Placement((), 17))


def test_a_data_set_brings_its_model_target_and_epochs(tmp_path: Path) -> None:
    small = OtherData("small", 20, 0.97, None)
    other = OtherData("other", 5, None, "narrow", "crop_flip")
    workload = replace(load_workload("lenet"), other_data=(small, other))

    def chosen(data: str | None) -> tuple[Any, ...]:
        found = choose_data(workload, data)
        return tuple(vars(found).values())

    own = ("lenet5", 0.99, 10, None)
    assert chosen(None) == chosen("mnist") == ("mnist", None, *own)
    assert chosen(str(tmp_path)) == ("mnist", tmp_path, *own)
    assert chosen("small") == ("small", None, "lenet5", 0.97, 20, None)
    assert chosen(f"other={tmp_path}") == ("other", tmp_path, "narrow", None, 5, "crop_flip")
    (tmp_path / "lr=0.1").mkdir()
    assert chosen(f"other={tmp_path}/lr=0.1")[:2] == ("other", tmp_path / "lr=0.1")
    assert chosen(f"{tmp_path}/lr=0.1") == ("mnist", tmp_path / "lr=0.1", *own)
    name, place, *rest = chosen("synthetic")
    assert (name, place is not None, tuple(rest)) == ("mnist", True, own)
    for wrong in ("smal", f"small={tmp_path}/none", f"unknown={tmp_path}"):
        with pytest.raises(SuiteError, match="neither a data set of the workload 'lenet'"):
            choose_data(workload, wrong)


def test_the_augmentation_of_a_data_set_is_the_runs_and_no_mistake_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digits = OtherData("digits", 20, augmentation="crop_flip")
    workload = replace(load_workload("lenet"), other_data=(digits,))
    monkeypatch.setattr(resolve, "load_workload", lambda name: workload)
    training = resolved(LENET, data="digits")
    assert training.preprocessing.augmentation == "crop_flip"
    assert _with_own_data(training, workload).preprocessing.augmentation == "none"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, r"waits for the device in every step"),
        ({"asynchronous_on": ("cuda",)}, "has no device to wait for"),
    ],
)
def test_asynchronous_timing_is_refused_with_the_reason(
    changes: dict[str, Any], words: str
) -> None:
    framework = Framework("theirs", "Theirs", "theirs", "json", **changes)
    with pytest.raises(SuiteError, match=words):
        resolve._timing(replace(LENET, timing=Timing.ASYNCHRONOUS), framework, "cpu")
