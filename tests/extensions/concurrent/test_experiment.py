"""Real processes: the fake framework trains and infers beside each other under every schedule, and
failures are one sentence each."""

import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from reference_impls import contract
from suite.catalog.frameworks import load_frameworks
from suite.errors import SuiteError
from suite.experiments.before_runs import held_folder
from suite.extensions.concurrent.measuring import experiment
from suite.extensions.concurrent.measuring.experiment import (
    Plan,
    capacities,
    measure_both,
    refuse_slow_inference,
)
from suite.extensions.concurrent.measuring.schedules import ScheduleKind
from suite.extensions.concurrent.measuring.trials import Choices, tune_here
from suite.extensions.concurrent.measuring.tuning import Aim
from suite.extensions.concurrent.measuring.window import REAL_TIME, Timing, Worker, infer
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals, intended_ns
from suite.extensions.concurrent.record.calculated import (
    inference_figures,
    latencies_s,
    training_figures,
)
from suite.extensions.concurrent.record.layout import (
    FIGURES,
    beside,
    inference_alone,
    training_alone,
)
from suite.extensions.concurrent.record.records import read_recording
from suite.extensions.concurrent.record.results import as_dict, read_results
from suite.files.paths import repository_root
from suite.launch.turns import Child, Side, set_priority, usable_cpus
from tests.builders import Scenario, make_request
from tests.conftest import Run, environment_of
from tests.every_case import some

MS = 1_000_000
LENETS = "--train lenet --infer lenet --framework fake --data digits --infer-data digits"
EXAMPLE = repository_root() / "examples/papers/beside"
NAMES = [
    pytest.param(each.name, marks=getattr(pytest.mark, each.name) if each.needs_environment else ())
    for each in load_frameworks()
    if each.environment_of is None
]


def request_of(framework: str, digits: Path, folder: Path) -> contract.Request:
    """LeNet on the digits; ``folder`` is created."""
    folder.mkdir(parents=True)
    data = contract.DataSet("digits", str(digits), "idx", 10, 1438, 359, False, False)
    return make_request(folder, Scenario(framework=framework))._replace(
        data=data, threads=1, global_batch_size=16
    )


@pytest.fixture
def plan(digits: Path, tmp_path: Path) -> Plan:
    """The fake framework on both sides, 60 images/s for two seconds."""
    side = Side(
        request_of("fake", digits, tmp_path / "request"),
        "reference_impls.fake.implementation",
        Path(sys.executable),
    )
    arrivals = Arrivals(ArrivalKind.UNIFORM, 60, 2)
    return Plan(
        side, side, arrivals, (4,), None, ScheduleKind.CONCURRENT, 40 * MS, 0.5, tmp_path / "out"
    )


@pytest.mark.parametrize("schedule", some(ScheduleKind))
def test_both_sides_run_under_every_schedule(
    schedule: ScheduleKind, plan: Plan, tmp_path: Path
) -> None:
    measure_both(replace(plan, schedule=schedule), 4, tmp_path / "m")
    found = read_recording(tmp_path / "m")
    figures, trained = inference_figures(found), training_figures(found)
    assert (figures.images, figures.unfinished) == (120, 0)
    assert trained.steps > 10
    assert figures.lateness_s[0] >= 0
    assert found.setting.schedule == schedule.value


@pytest.mark.proof
def test_with_managed_interleaving_no_step_and_no_batch_overlap(plan: Plan, tmp_path: Path) -> None:
    measure_both(replace(plan, schedule=ScheduleKind.MANAGED), 4, tmp_path / "m")
    found = read_recording(tmp_path / "m")
    for start_ns, end_ns in zip(found.column("start_ns"), found.column("end_ns"), strict=True):
        assert not ((found.steps[:, 0] < end_ns) & (found.steps[:, 1] > start_ns)).any()
    assert len(found.steps) > 10, "the training continued after every batch"


@pytest.mark.proof
def test_sequential_images_wait_for_the_end_of_the_training(plan: Plan, tmp_path: Path) -> None:
    measure_both(replace(plan, schedule=ScheduleKind.SEQUENTIAL), 4, tmp_path / "m")
    found = read_recording(tmp_path / "m")
    assert found.column("end_ns").min() >= 1e9, (
        "the first half of two seconds belongs to the training"
    )
    assert latencies_s(found).max() >= 0.9


@pytest.mark.proof
def test_a_generator_that_is_held_up_is_reported_and_latencies_count_from_the_intended_arrivals(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: the generator sleeps for 60 ms at every tenth turn, while images arrive every 17 ms.
    The inference's own times are the judge."""
    turns, answered = itertools.count(1), list[str]()

    def held_up(workers: Sequence[Worker], timeout_ns: int) -> Sequence[Worker]:
        if next(turns) % 10 == 0:
            time.sleep(0.06)
        return REAL_TIME.wait(workers, timeout_ns)

    def heard(child: Child) -> list[str]:
        lines = answers(child)
        answered.extend(line for line in lines if line[0].isdigit())
        return lines

    answers = Child.answers
    monkeypatch.setattr(Child, "answers", heard)
    monkeypatch.setattr(experiment, "infer", partial(infer, timing=Timing(wait=held_up)))
    measure_both(plan, 4, tmp_path / "m")
    found = read_recording(tmp_path / "m")
    figures = inference_figures(found)
    assert (figures.images, figures.unfinished) == (120, 0), "a late generator leaves no image out"
    assert figures.lateness_s[2] >= 0.04, "of four images in 60 ms the first is late by that much"
    ends_ns = (
        np.repeat([int(line.split()[1]) for line in answered], found.column("images"))
        - found.setting.start_ns
    )
    assert latencies_s(found) == pytest.approx((ends_ns - intended_ns(plan.arrivals)) / 1e9)
    as_sent_s = (ends_ns - found.noticed_ns) / 1e9
    assert figures.latency_s and figures.latency_s.value == pytest.approx(
        as_sent_s.mean() + figures.lateness_s[0]
    ), "what was late has waited"


@pytest.mark.proof
def test_a_measurement_leaves_no_process(plan: Plan, tmp_path: Path) -> None:
    measure_both(replace(plan, schedule=ScheduleKind.SLICED), 4, tmp_path / "m")
    here = str(tmp_path).encode()
    commands = [
        path.read_bytes()
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if os.access(path, os.R_OK)
    ]
    assert not [
        command for command in commands if here in command and b"reference_impls.beside" in command
    ]


@pytest.mark.proof
@pytest.mark.parametrize("framework", NAMES)
def test_every_framework_trains_beside_its_own_inference(
    framework: str, digits: Path, tmp_path: Path
) -> None:
    environment, module = environment_of(framework), f"reference_impls.{framework}.implementation"
    side = Side(
        request_of(framework, digits, tmp_path / "request"), module, environment.interpreter
    )
    plan = Plan(
        side,
        side,
        Arrivals(ArrivalKind.UNIFORM, 40, 2),
        (4,),
        None,
        ScheduleKind.MANAGED,
        40 * MS,
        0.5,
        tmp_path / "out",
    )
    measure_both(plan, 4, tmp_path / "m")
    found = read_recording(tmp_path / "m")
    assert inference_figures(found).unfinished == 0
    assert training_figures(found).steps > 3


@pytest.mark.parametrize(
    "warm_up",
    [
        lambda plan: capacities(plan, lambda line: None),
        lambda plan: tune_here(plan, Choices((1,)), Aim(1.0), lambda line: None),
    ],
    ids=["measured", "tuned"],
)
def test_a_batch_that_does_not_fit_into_memory_is_refused_with_one_that_does(
    warm_up: Callable[[Plan], object], plan: Plan
) -> None:
    hungry = replace(plan.infer, implementation="tests.extensions.concurrent.hungry")
    with pytest.raises(
        SuiteError,
        match=r"An inference batch of 1000 does not fit into this machine's memory; 250 does\.",
    ):
        warm_up(replace(plan, infer=hungry, batches=(1000,)))


@pytest.mark.parametrize(
    ("kind", "slower"),
    [(ArrivalKind.UNIFORM, "--rate 64"), (ArrivalKind.TRACE, "slower --arrivals")],
)
def test_a_rate_that_no_batch_serves_even_alone_is_refused_with_one_that_is_served(
    kind: ArrivalKind, slower: str, plan: Plan
) -> None:
    with pytest.raises(
        SuiteError,
        match=(
            r"serves at most 80 images/s here \(with batches of 16\), fewer than the 100 that"
            rf" arrive; use {slower} or a smaller model\."
        ),
    ):
        refuse_slow_inference(replace(plan, arrivals=Arrivals(kind, 100, 2)), {1: 30.0, 16: 80.0})
    refuse_slow_inference(plan, {1: 30.0, 16: 80.0})


def test_a_training_that_ends_ends_the_measurement_with_its_reason(
    plan: Plan, tmp_path: Path
) -> None:
    impossible = replace(plan.train, request=plan.train.request._replace(accelerator="cuda"))
    with pytest.raises(
        SuiteError, match=r"The training ended \(2\): the fake framework has no accelerator"
    ):
        measure_both(replace(plan, train=impossible), 4, tmp_path / "m")


def test_cpus_and_priorities_that_cannot_be_had_are_refused() -> None:
    with pytest.raises(SuiteError, match="CPU 9999 cannot be used here; usable are 0"):
        usable_cpus((0, 9999))
    with pytest.raises(SuiteError, match="99 is not a priority"):
        set_priority(os.getpid(), 99)


@pytest.mark.proof
def test_the_command_measures_baselines_and_both_and_shows_them_again(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    ran = suite.done(
        f"concurrent {LENETS} --rate 80 --infer-batch 1,8 --duration 4s --output {tmp_path}/x"
    )
    assert "lenet trains beside lenet, 80 images/s (uniform)" in ran.stdout
    shown = suite.typed(f"concurrent show {tmp_path}/x --json")
    values = json.loads(shown.stdout)
    assert (values["format"], [each["batch"] for each in values["batches"]]) == (
        "concurrent/1",
        [1, 8],
    )
    assert {path.name for path in (tmp_path / "x").iterdir() if path.is_dir()} == {
        place.name
        for place in (
            training_alone(Path()),
            *(at(Path(), size) for size in (1, 8) for at in (inference_alone, beside)),
        )
    }
    stored = json.loads((tmp_path / "x" / FIGURES).read_text())
    assert (
        stored["batches"]
        == values["batches"]
        == json.loads(json.dumps(as_dict(read_results(tmp_path / "x"))["batches"]))
    )


@pytest.mark.proof
def test_records_go_where_the_command_was_typed(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes run in the checkout's root."""
    monkeypatch.chdir(tmp_path)
    measure_both(plan, 4, Path("m"))
    assert inference_figures(read_recording(tmp_path / "m")).unfinished == 0


@pytest.mark.proof
def test_tuning_names_a_setting_that_keeps_the_limit(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    ran = suite.done(
        f"concurrent tune {LENETS} --threads 1 --p99 5s --rate 50 --infer-batch 4 --duration 2s"
        f" --output {tmp_path}/x --json"
    )
    values = json.loads(ran.stdout)
    assert values["best"]["batch"] == 4
    assert np.isfinite(values["samples_per_s"]) and len(values["trials"]) >= 9


@pytest.mark.proof
def test_a_folder_is_one_commands_and_nothing_is_left_of_a_refused_one(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "runs" / "x"
    command = f"concurrent {LENETS} --infer-batch 4000 --output {folder}"
    with held_folder(folder):
        assert "Another command writes into" in suite.refused(command).stderr
    folder.rmdir()
    folder.parent.rmdir()
    ran = suite.refused(command)
    assert "fewer than a batch of 4000" in ran.stderr
    assert not folder.parent.exists()


def test_figures_are_not_drawn_over_a_file(suite: Run) -> None:
    ran = suite.refused(f"concurrent figures {EXAMPLE} --output {__file__}")
    assert "could not be written: File exists" in ran.stderr


def test_the_sequential_schedule_can_be_asked_for(suite: Run, digits: Path) -> None:
    """Nothing is wrong but the folder of the records."""
    ran = suite.refused(f"concurrent {LENETS} --schedule sequential --output {__file__}")
    assert "exists and is not empty; choose another --output" in ran.stderr


def test_figures_are_not_written_into_a_run_directory(suite: Run, good_bundle: Path) -> None:
    ran = suite.refused(f"concurrent figures {EXAMPLE} --output {good_bundle}")
    assert f"is in the run directory {good_bundle}" in ran.stderr
