"""Sweeps: runs are planned from the study's file, finished runs are kept, broken ones are made
again, and Ctrl-C loses nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import pytest

from suite.bundle.layout import MANIFEST, RUN
from suite.catalog.divisions import Division
from suite.catalog.study_definitions import Variable, load_studies, load_study
from suite.cli.options import TrainingOptions
from suite.errors import SuiteError
from suite.execution.request import RunOptions
from suite.experiments.study_plan import plan_study
from suite.files.json_file import read_json, write_json
from suite.files.paths import repository_root
from suite.launch.placement import Placement
from suite.metrics.scaling_model import Scaling
from tests.conftest import Run, interruptible

OPTIONS = RunOptions(division=Division.OPEN, device="generic", workload="lenet", framework="fake")
SWEEP = "sweep --study batch-size --workload lenet --framework fake --data digits"


def test_every_study_plans_its_runs() -> None:
    for study in load_studies():
        scaling = Scaling.STRONG if study.variable is Variable.NODES else None
        runs = plan_study(study, OPTIONS, (), scaling).runs
        assert len({run.folder for run in runs}) == len(study.values) * study.repetitions
        assert {run.options.seed for run in runs} == set(range(1, study.repetitions + 1))
        assert study.fixed.steps is not None and study.fixed.steps > study.warm_up_steps


def test_a_value_that_no_folder_can_be_named_after_is_refused() -> None:
    study = replace(load_study("frameworks"), names=("fake", "chainer==7.8.0"))
    with pytest.raises(SuiteError, match=r"'chainer==7\.8\.0' has other .* --vary framework=A,B"):
        plan_study(study, OPTIONS, (), None)


def test_repetitions_of_a_value_lie_apart_in_time() -> None:
    order = [
        (run.point, run.repetition)
        for run in plan_study(replace(load_study("threads"), repetitions=2), OPTIONS, (), None).runs
    ]
    assert order == [("1", 1), ("2", 1), ("4", 1), ("1", 2), ("2", 2), ("4", 2)]


@pytest.mark.parametrize(
    ("scaling", "sizes"), [(Scaling.STRONG, [32, 32, 32]), (Scaling.WEAK, [32, 64, 128])]
)
def test_strong_scaling_keeps_the_global_mini_batch_and_weak_that_of_a_rank(
    scaling: Scaling, sizes: list[int]
) -> None:
    runs = plan_study(
        replace(load_study("scaling"), repetitions=1), replace(OPTIONS, batch_size=32), (), scaling
    ).runs
    assert [run.options.batch_size for run in runs] == sizes
    assert [run.options.placement.ranks for run in runs] == [1, 2, 4]
    assert len({run.options.threads for run in runs}) == 1


def test_weak_scaling_over_hosts_keeps_the_mini_batch_of_a_host_as_the_help_says() -> None:
    options = replace(OPTIONS, batch_size=32, placement=Placement((), ranks_per_node=4))
    study = replace(load_study("scaling"), repetitions=1)
    runs = plan_study(study, options, ("a", "b", "c", "d"), Scaling.WEAK).runs
    assert [run.options.batch_size for run in runs] == [32, 64, 128]
    assert [run.options.placement.ranks for run in runs] == [4, 8, 16]
    option = get_type_hints(TrainingOptions, include_extras=True)["batch_size"].__metadata__[0]
    assert "in a weak-scaling sweep, per host (on one machine, per rank)" in option.help


def test_nodes_are_the_first_hosts_of_the_hostfile() -> None:
    runs = plan_study(
        replace(load_study("scaling"), repetitions=1), OPTIONS, ("a", "b", "c", "d"), Scaling.STRONG
    ).runs
    assert [run.options.placement.hosts for run in runs] == [
        ("a",),
        ("a", "b"),
        ("a", "b", "c", "d"),
    ]
    with pytest.raises(SuiteError, match="names 2 hosts, fewer than the 4 nodes"):
        plan_study(load_study("scaling"), OPTIONS, ("a", "b"), Scaling.STRONG)


def test_options_take_precedence_over_the_studys_fixed_settings() -> None:
    runs = plan_study(load_study("prefetch"), replace(OPTIONS, steps=99), (), None).runs
    assert {(run.options.steps, run.options.workers, run.options.prefetch) for run in runs} == {
        (99, 1, 1),
        (99, 1, 2),
        (99, 1, 4),
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--values 0", "The value 0 is too small"),
        ("--nodes 1,2", "use only --values"),
        ("--weak", "--weak and --strong are for studies that vary nodes"),
        ("--steps 3", "choose more --steps"),
    ],
)
def test_an_impossible_study_is_refused_before_the_first_run(
    suite: Run, digits: Path, tmp_path: Path, arguments: str, words: str
) -> None:
    refused = suite.refused(f"{SWEEP} {arguments} --output {tmp_path}/out")
    assert words in refused.stderr
    assert not (tmp_path / "out").exists()


def test_finished_runs_are_kept_and_broken_ones_made_again(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = f"{SWEEP} --values 8,16 --repetitions 1 --steps 10 --output {out}"
    first = suite.done(f"{command} --json")
    assert "about" in first.stderr and "s to go" in first.stderr
    record = json.loads(first.stdout)
    assert [point["value"] for point in record["points"]] == ["8", "16"]
    assert json.loads((out / "study.json").read_text()) == {
        name: value for name, value in record.items() if name not in ("format", "path")
    }
    seals = {path.parent.name: path.read_bytes() for path in out.glob("*/" + MANIFEST)}
    damaged, killed = out / "8-r1", out / "16-r1"
    (damaged / "log.txt").write_bytes((damaged / "log.txt").read_bytes()[:-1])
    assert suite.done(command).stderr.count("finished before, kept") == 1
    assert (killed / MANIFEST).read_bytes() == seals[killed.name]
    again = (damaged / MANIFEST).read_bytes()
    assert again != seals[damaged.name]
    (killed / MANIFEST).unlink()
    write_json(killed / RUN, {**read_json(killed / RUN), "status": "running"})
    assert suite.done(command).stderr.count("finished before, kept") == 1
    assert (damaged / MANIFEST).read_bytes() == again
    assert (killed / MANIFEST).read_bytes() != seals[killed.name]
    refused = suite.refused(f"{command} --seed 7")
    assert "holds another run (it differs in seed)" in refused.stderr


@pytest.mark.proof
def test_ctrl_c_ends_it_cleanly_and_the_same_command_goes_on(
    suite_home: Path, suite: Run, digits: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = f"{SWEEP} --values 8,16,32 --repetitions 1 --steps 10 --output {out}"
    child_environment = {**os.environ, "SUITE_HOME": str(suite_home)}
    program = [str(Path(sys.executable).with_name("suite")), *command.split()]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(
        program,
        cwd=repository_root(),
        env=child_environment,
        text=True,
        preexec_fn=interruptible,
        **pipes,
    )
    said = _read_until(process, "[2/3]")  # the first run is sealed before the second is announced
    assert (out / "8-r1" / MANIFEST).is_file()
    log = out / "16-r1" / "log.txt"
    while not (log.is_file() and "run_start" in log.read_text()):  # the second run trains
        assert process.poll() is None, said
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    said += process.stderr.read()
    process.wait()
    assert process.returncode == 2, said
    assert "Interrupted" in said and "Traceback" not in said, [
        path.read_text() for path in (suite_home / "logs").glob("*")
    ]
    assert not (out / "study.json").exists()
    resumed = suite.done(command)
    assert "[1/3] batch size 8, run 1 of 1: finished before, kept" in resumed.stderr


def _read_until(process: "subprocess.Popen[str]", words: str) -> str:
    """Standard error up to the line that contains the words; fails when it ends without them."""
    assert process.stderr is not None
    read = ""
    for line in process.stderr:
        read += line
        if words in line:
            return read
    raise AssertionError(f"{words!r} was never printed: {read}")
