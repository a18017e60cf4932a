"""The LINPACK study keeps its own finished runs, refuses those of another one, and is of HPL."""

from dataclasses import replace
from pathlib import Path

import pytest

from suite.catalog.linpack_definition import load_linpack
from suite.errors import SuiteError
from suite.experiments import linpack_run, linpack_sweep
from suite.experiments.linpack_run import LinpackRequest, planned_problems
from suite.experiments.linpack_sweep import LinpackSweep, run_linpack_study
from suite.experiments.machine_load import MachineLoad
from suite.launch.placement import Placement
from suite.metrics.linpack_study_record import folder_name
from tests.suite.metrics.test_linpack_study import make_record

ONE_NODE = replace(load_linpack(), nodes=(1,), repetitions=1)
PI = LinpackSweep(ONE_NODE, Placement((), 4))
FITS_1280 = 26_200_000
"""Bytes whose largest matrix is of order 1408, and of order 1280 with less than 95 % of them."""


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A finished study of one run, of order 1280 on four ranks."""
    make_record(tmp_path / folder_name(1, 0), 1, 15.0)
    make_record(tmp_path / folder_name(1, 1), 1, 15.5)
    return tmp_path


def with_free_memory(monkeypatch: pytest.MonkeyPatch, free_bytes: int) -> None:
    monkeypatch.setattr(linpack_sweep, "smallest_available_bytes", lambda placement: free_bytes)


@pytest.mark.parametrize(
    ("size", "free_bytes"), [(1280, 2**30), (None, FITS_1280), (None, int(1.2 * FITS_1280))]
)
def test_a_finished_study_is_kept_although_other_memory_is_free_now(
    finished: Path, monkeypatch: pytest.MonkeyPatch, size: int | None, free_bytes: int
) -> None:
    with_free_memory(monkeypatch, free_bytes)
    said = list[str]()
    study = run_linpack_study(replace(PI, size=size), finished, said.append)
    assert [line.rpartition(": ")[2] for line in said] == ["finished before, kept"] * 2
    assert study.points[0].problem.size == 1280


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(PI, size=1536), id="order"),
        pytest.param(PI, id="as large as the memory allows"),
        pytest.param(replace(PI, size=1280, placement=Placement((), 2)), id="ranks"),
    ],
)
def test_a_run_of_another_study_is_refused(
    finished: Path, monkeypatch: pytest.MonkeyPatch, other: LinpackSweep
) -> None:
    with_free_memory(monkeypatch, 2**30)
    with pytest.raises(SuiteError, match=r"matrix order 1280, block 128, grid 1 x 4.*--output"):
        run_linpack_study(other, finished, lambda line: None)


def test_the_largest_matrix_still_fits_when_less_memory_is_free(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (finished / folder_name(1, 1)).rename(finished / "elsewhere")
    with_free_memory(monkeypatch, FITS_1280)

    def plan(folder: Path, request: LinpackRequest) -> None:
        assert planned_problems(request, int(0.96 * FITS_1280))[0].size == 1280
        raise KeyboardInterrupt

    monkeypatch.setattr(linpack_sweep, "measure_linpack", plan)
    with pytest.raises(KeyboardInterrupt):
        run_linpack_study(PI, finished, lambda line: None)


def test_a_study_without_this_machine_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        linpack_sweep, "smallest_available_bytes", lambda placement: pytest.fail("hosts were asked")
    )
    elsewhere = replace(PI, placement=Placement(("192.0.2.1", "192.0.2.2"), 4))
    with pytest.raises(SuiteError, match=r"first host is 192\.0\.2\.1; it must be this machine"):
        run_linpack_study(elsewhere, tmp_path, lambda line: None)


def test_without_hpcc_there_is_no_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mpirun").write_text("#!/bin/sh\n")
    (tmp_path / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    # this machine may have an HPL that tools/build_hpl.py built
    monkeypatch.setenv("SUITE_HOME", str(tmp_path / "home"))
    quiet = MachineLoad(2.0, 4, 0.0, 0.0, None, ())
    monkeypatch.setattr(linpack_run, "measure_load", lambda seconds: quiet)
    with pytest.raises(SuiteError, match="LINPACK needs hpcc, which is not installed here"):
        run_linpack_study(replace(PI, size=1024), tmp_path / "study", lambda line: None)
