"""Before the first run of a sweep: all problems at once, a folder that cannot hold the sweep, and
one command in a folder at a time."""

import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from suite.bundle.layout import MATRIX
from suite.catalog.divisions import Division
from suite.catalog.study_definitions import load_study
from suite.errors import SuiteError
from suite.execution.request import RunOptions
from suite.experiments.before_runs import (
    MAX_PROBLEMS,
    RUN_BYTES,
    _refuse_full_disk,
    held_folder,
    left_over,
    refuse_at_once,
    refuse_folder,
)
from suite.experiments.planned_runs import run_sweep
from suite.experiments.study_plan import plan_study


def refusing(sentence: str) -> Callable[[], None]:
    def check() -> None:
        raise SuiteError(sentence)

    return check


def test_every_problem_is_said_once_and_of_many_the_first_ones() -> None:
    refuse_at_once([lambda: None])
    with pytest.raises(SuiteError) as refused:
        refuse_at_once(
            [refusing("No disk."), lambda: None, refusing("No sensor."), refusing("No disk.")]
        )
    assert str(refused.value) == "No disk.\nNo sensor."
    with pytest.raises(SuiteError, match=r"… and 3 more problems\.$"):
        refuse_at_once([refusing(f"{number}.") for number in range(MAX_PROBLEMS + 3)])


def test_a_file_and_a_folder_of_other_things_hold_no_sweep(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for place, words in (
        (tmp_path / "notes.txt", "is not a folder"),
        (tmp_path / "notes.txt" / "deep", "is not a folder"),
        (tmp_path, "holds other files"),
    ):
        with pytest.raises(SuiteError, match=rf"{words}.*choose another --output"):
            refuse_folder(place, MATRIX, ("threads",))


def test_a_folder_that_may_not_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: False)  # root may write everywhere
    with pytest.raises(SuiteError, match="You may not write to"):
        refuse_folder(tmp_path / "out", MATRIX, ("threads",))


def test_a_new_folder_and_one_that_a_killed_sweep_left_are_taken(tmp_path: Path) -> None:
    refuse_folder(tmp_path / "new", MATRIX, ("threads",))
    (tmp_path / "killed" / "1-fe5d0608-r1").mkdir(parents=True)
    refuse_folder(tmp_path / "killed", MATRIX, ("threads",))
    assert not (tmp_path / "new").exists()


def test_one_command_at_a_time_works_in_a_folder(tmp_path: Path) -> None:
    with (
        held_folder(tmp_path / "out"),
        pytest.raises(SuiteError, match=r"Another command writes into .*out; wait for its end"),
        held_folder(tmp_path / "out"),
    ):
        pass
    with held_folder(tmp_path / "out"):
        assert (tmp_path / "out").is_dir()


def test_runs_that_a_sweep_has_no_more_are_named(tmp_path: Path) -> None:
    for name in ("8-aa-r1", "8-aa-r2", "site"):
        (tmp_path / name).mkdir()
    assert left_over(tmp_path, {"8-aa-r1"}) == ["8-aa-r2"]


def test_the_disk_is_enough_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that are there need nothing more."""
    runs = [SimpleNamespace(directory=tmp_path / str(number)) for number in range(41)]
    runs[0].directory.mkdir()
    for free in (40 * RUN_BYTES - 1, 40 * RUN_BYTES):
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr(shutil, "disk_usage", lambda place, usage=usage: usage)
        with (
            nullcontext() if free == 40 * RUN_BYTES else pytest.raises(SuiteError, match="40 runs")
        ):
            _refuse_full_disk(runs, tmp_path)  # type: ignore[arg-type]


def test_a_study_needs_disk_for_all_its_runs(
    suite_home: Path, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred mebibytes are enough for one run, and not for ninety."""
    monkeypatch.setenv("SUITE_HOME", str(suite_home))
    monkeypatch.setattr(
        shutil, "disk_usage", lambda place: SimpleNamespace(total=0, used=0, free=100 * 2**20)
    )
    options = RunOptions(
        division=Division.OPEN,
        device="generic",
        workload="lenet",
        framework="fake",
        data="digits",
        steps=10,
    )
    sweep = plan_study(replace(load_study("threads"), repetitions=30), options, (), None)
    with pytest.raises(SuiteError, match="has 100 MiB free, and 90 runs would take about 360 MiB"):
        run_sweep(sweep, tmp_path / "out")
    assert not (tmp_path / "out").exists()
