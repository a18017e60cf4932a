"""Measuring links leaves nothing behind."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from suite.cluster.links import LinkMeasure, LinkMeasures, measure_links
from suite.launch.placement import Placement
from tests.launchers import interrupted_launcher, with_ctrl_c


def test_ctrl_c_ends_the_processes_that_mpirun_started_in_a_new_session(tmp_path: Path) -> None:
    launcher = interrupted_launcher(tmp_path / "bin")
    with with_ctrl_c(), pytest.raises(KeyboardInterrupt):
        measure_links(Placement(("pi1", "pi2")), launcher.interpreter)
    launcher.assert_nothing_runs()


def _launcher(folder: Path, output: str, ends: str = "exit 1") -> Path:
    """An interpreter beside an mpirun that prints this and ends so."""
    mpirun = folder / "mpirun"
    mpirun.write_text(
        '#!/bin/sh\ntest "$1" = --version && echo HYDRA && exit\ncat <<'
        f" 'END'\n{output}\nEND\n{ends}\n",
        encoding="latin-1",  # which the start-up files of old shells are in
    )
    mpirun.chmod(0o755)
    return folder / "python"


def test_what_a_shell_prints_when_it_starts_is_no_measure(tmp_path: Path) -> None:
    measure = LinkMeasure(1, "pi2", 2e-4, 940.0, 2**24, 10**12, 10**6, 10**5)
    interpreter = _launcher(
        tmp_path, 'Universität: pi2\n{"updates": 3}\n{\n' + json.dumps(asdict(measure))
    )
    assert measure_links(Placement(("pi1", "pi2")), interpreter) == LinkMeasures((measure,), None)


def test_what_is_said_of_a_failure_may_be_in_another_encoding(tmp_path: Path) -> None:
    said = "Host-Schlüssel unbekannt"
    interpreter = _launcher(tmp_path, "", f"echo {said} >&2; exit 1")
    assert "Host-Schl\ufffdssel unbekannt" in str(
        measure_links(Placement(("pi1", "pi2")), interpreter).problem
    )


def test_a_process_of_mpi_that_a_signal_ended_is_named(tmp_path: Path) -> None:
    interpreter = _launcher(tmp_path, "=   PID 4398 RUNNING AT pi2\n=   EXIT CODE: 7")
    assert "a process of MPI on pi2 was ended by signal 7 (SIGBUS)" in str(
        measure_links(Placement(("pi1", "pi2")), interpreter).problem
    )


def test_a_link_that_falls_silent_is_waited_for_as_long_as_one_link_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many hosts there are."""
    monkeypatch.setattr("suite.cluster.links.PER_LINK_S", 0.1)
    measure = LinkMeasure(1, "pi2", 2e-4, 940.0, 2**24, 10**12, 10**6, 10**5)
    interpreter = _launcher(tmp_path, json.dumps(asdict(measure)), "exec sleep 60")
    hosts = tuple(f"pi{number}" for number in range(1, 257))
    found = measure_links(Placement(hosts), interpreter)
    assert found == LinkMeasures((measure,), "no output within 0.1 s")
