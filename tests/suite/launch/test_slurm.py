"""Slurm in the place of ssh and mpirun. `make prove slurm` starts a real one; here are its command
lines, and what it prints."""

import signal
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.launch.mpirun import (
    FailedProcess,
    Flavour,
    Mpirun,
    failed_process,
    last_output_line,
    mpirun_command,
)
from suite.launch.placement import Placement, place_ranks
from suite.launch.remote_shell import remote_command
from suite.launch.slurm import SRUN, allocated_hosts

NODES = Placement(("pi1", "pi2"), 2, SRUN)
SAID = """\
srun: error: pi2: task 3: {how}
srun: Terminating StepId=4.2
slurmstepd-pi1: error: *** STEP 4.2 ON pi1 CANCELLED AT 2026-11-22T19:30:00 ***
srun: error: pi1: tasks 0-1: Killed
srun: error: pi2: task 2: Terminated
"""


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scontrol that expands one list, as Slurm's does; an allocation of these nodes."""
    program = tmp_path / "scontrol"
    program.write_text(
        '#!/bin/sh\ntest "$*" = "show hostnames pi[1-3]" || { echo "Invalid hostlist: $3" >&2; exit'
        ' 1; }\nprintf "pi1\\npi2\\npi3\\n"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "pi[1-3]")
    return program


def test_the_hosts_are_those_of_the_allocation(
    scontrol: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place_ranks(None, None, 1, SRUN).hosts == ("pi1", "pi2", "pi3")
    assert place_ranks(2, None, 4, SRUN) == Placement(("pi1", "pi2"), 4, SRUN)
    with pytest.raises(SuiteError, match="the allocation names 3 hosts; --nodes 4 needs 1 more"):
        place_ranks(4, None, 1, SRUN)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "pi[1-")
    with pytest.raises(SuiteError, match=r"Invalid hostlist: pi\[1-.*--hostfile"):
        place_ranks(None, None, 1, SRUN)


def test_a_hostfile_may_name_some_of_them(tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("pi2\npi3\n")
    assert place_ranks(None, tmp_path / "hosts.txt", 1, SRUN).hosts == ("pi2", "pi3")


@pytest.mark.parametrize(
    ("named", "nodes", "hosts"),
    [
        ("pi3\npi1\n", None, ("pi1", "pi3")),
        ("pi3\npi2\npi1\n", 2, ("pi2", "pi3")),
        ("elsewhere\npi2\npi1\n", None, ("pi1", "pi2", "elsewhere")),
    ],
)
@pytest.mark.usefixtures("scontrol")
def test_ranks_are_on_the_hosts_of_a_file_in_slurms_order(
    named: str, nodes: int | None, hosts: tuple[str, ...], tmp_path: Path
) -> None:
    """srun(1): the order of the names in --nodelist is not important."""
    (tmp_path / "hosts.txt").write_text(named)
    assert place_ranks(nodes, tmp_path / "hosts.txt", 1, SRUN).hosts == hosts


def test_without_an_allocation_the_next_step_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SuiteError, match="put the command into a script for sbatch"):
        allocated_hosts({})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SuiteError, match="scontrol cannot list the hosts"):
        allocated_hosts({"SLURM_JOB_NODELIST": "pi1"})


@pytest.mark.parametrize(
    ("flavour", "interface"), [(Flavour.MPICH, "pmi2"), (Flavour.OPEN_MPI, "pmix")]
)
def test_srun_starts_the_ranks_of_either_mpi(
    flavour: Flavour, interface: str, tmp_path: Path
) -> None:
    words = mpirun_command(
        Mpirun(Path("/env/bin/mpirun"), flavour),
        NODES,
        ["python", "-m", "x"],
        {"OMP_NUM_THREADS": "1"},
        tmp_path,
    )
    assert (words[0], words[-3:]) == ("srun", ["python", "-m", "x"])
    wanted = {
        f"--mpi={interface}",
        "--nodelist=pi1,pi2",
        "--ntasks=4",
        "--ntasks-per-node=2",
        "--kill-on-bad-exit=1",
        "--overlap",
        "--input=none",
    }
    assert wanted <= set(words)
    assert not list(tmp_path.iterdir()), "srun needs no file of hosts"


def test_ranks_of_this_machine_alone_need_no_slurm(tmp_path: Path) -> None:
    words = mpirun_command(
        Mpirun(Path("/env/bin/mpirun"), Flavour.MPICH),
        Placement((), 2, SRUN),
        ["python"],
        {},
        tmp_path,
    )
    assert words[0] == "/env/bin/mpirun"


def test_a_script_runs_on_one_host() -> None:
    words = remote_command("pi2", SRUN, "echo $HOME; exit 3")
    assert words[0] == "srun" and {"--nodelist=pi2", "--ntasks=1", "--overlap"} <= set(words)
    assert words[-3:] == ["sh", "-c", "echo $HOME; exit 3"]


@pytest.mark.parametrize(
    ("how", "number"),
    [
        ("Bus error", signal.SIGBUS),
        ("Segmentation fault (core dumped)", signal.SIGSEGV),
        ("Exited with exit code 2", None),
    ],
)
def test_srun_names_the_task_that_failed_first(how: str, number: int | None) -> None:
    assert failed_process(SAID.format(how=how).splitlines(), 4) == FailedProcess(3, "pi2", number)


def test_where_every_task_was_killed_the_first_is_named() -> None:
    assert failed_process(SAID.format(how="Killed").splitlines(), 4) == FailedProcess(
        3, "pi2", signal.SIGKILL
    )


def test_a_ranks_output_precedes_what_slurm_says() -> None:
    assert (
        last_output_line(f"out of luck\n{SAID.format(how='Killed')}".splitlines()) == "out of luck"
    )
