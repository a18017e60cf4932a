"""The `mpirun` that starts ranks, MPICH's or Open MPI's: its command line, and what its output says of a job that failed."""

import enum
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.errors import SuiteError
from suite.launch.child_environment import SUITE_VARIABLES
from suite.launch.placement import Placement

HOSTS_NAME = "hosts.txt"
FORWARDED = ("UCX_", "MPICH_", "HYDRA_", "OMPI_", "FI_", "GLOO_")
_LAUNCHER = re.compile(
    r"\s*$|=+|\[(mpiexec|proxy:\d+|prterun)[-@]|YOUR APPLICATION TERMINATED|This typically refers to a problem|Please see the FAQ page"
    r"|[Aa]bort\(\d+\)|application called MPI_Abort|Abnormal termination|-----+$|\[[^]]*\] (\d+ more process|Set MCA parameter)"
)
"""What launchers say of their own when a job fails."""

_FAILED = re.compile(
    r"=\s+PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)|(mpirun|prterun) noticed that process rank (?P<rank>\d+) with PID \d+ on node \S+ exited"
)
"""Whose end MPICH's and Open MPI's launchers saw first."""


class Flavour(str, enum.Enum):
    """Whose mpirun it is: they differ in how hosts and variables are given."""

    MPICH = "MPICH"
    OPEN_MPI = "Open MPI"


@dataclass(frozen=True)
class Mpirun:
    """A launcher."""

    path: Path
    flavour: Flavour


@dataclass(frozen=True)
class FailedProcess:
    """The process that ended a job by its own end: Open MPI gives its rank, MPICH its number on a host of the hostfile."""

    rank: int | None
    pid: int | None
    host: str | None


def find_mpirun(interpreter: Path) -> Mpirun:
    """The environment's own mpirun, else the system's; raises SuiteError naming what to install."""
    own = interpreter.with_name("mpirun")
    found = str(own) if own.exists() else shutil.which("mpirun")
    if found is None:
        raise SuiteError("There is no mpirun; `sudo apt-get install openmpi-bin` installs one.")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=60).stdout
    return Mpirun(Path(found), Flavour.OPEN_MPI if "Open MPI" in said or "OpenRTE" in said else Flavour.MPICH)


def last_output_line(lines: Sequence[str]) -> str | None:
    """Why a job ended, in a line of its output: the first rank's that named itself, else the last that a rank said, else the launcher's."""
    said = _said_by_ranks(lines) or [line for line in lines if re.search(r"\w", line)]
    return next(filter(is_rank_error, said), said[-1]).strip()[:300] if said else None


def failed_process(lines: Sequence[str]) -> FailedProcess | None:
    """Which process the launcher says has ended first and not well; None where it says nothing of it."""
    found = next(filter(None, map(_FAILED.match, lines)), None)
    if found is None:
        return None
    rank, pid = (int(found[name]) if found[name] else None for name in ("rank", "pid"))
    return FailedProcess(rank, pid, found["host"])


def is_rank_error(line: str) -> bool:
    """True when a rank says by name what it could not do."""
    return re.match(r"error: rank \d+ on ", line) is not None


def _said_by_ranks(lines: Sequence[str]) -> list[str]:
    """The lines that ranks wrote: the launcher's are left out, Open MPI's between two rules of dashes too."""
    said, quoted = [], False
    for line in lines:
        is_rule = re.fullmatch(r"-{70,}", line.strip()) is not None
        quoted = quoted != is_rule
        if not quoted and not _LAUNCHER.match(line):
            said.append(line)
    return said


def mpirun_command(mpirun: Mpirun, placement: Placement, program: Sequence[str], variables: Mapping[str, str], directory: Path) -> list[str]:
    """The command that starts ``program`` on every rank; writes the hosts, in the launcher's own format, into ``directory``."""
    build = _open_mpi if mpirun.flavour is Flavour.OPEN_MPI else _mpich
    return [str(mpirun.path), "-n", str(placement.ranks), *build(placement, _sent(variables), directory / HOSTS_NAME), *program]


def allow_root(variables: Mapping[str, str]) -> dict[str, str]:
    """Open MPI asks root twice; a container has nobody else."""
    asked = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return {**variables, **asked}


def _sent(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables that a rank on another host needs: ours, and what tunes MPI."""
    return {name: value for name, value in variables.items() if name in SUITE_VARIABLES or name.startswith((*FORWARDED, "SUITE_HEARTBEAT"))}


def _mpich(placement: Placement, variables: Mapping[str, str], hosts_file: Path) -> list[str]:
    words = [word for name, value in variables.items() for word in ("-genv", name, value)]
    if not placement.hosts:
        return ["-launcher", "fork", *words]
    hosts_file.write_text("".join(f"{host}:{placement.ranks_per_node}\n" for host in placement.hosts), encoding="utf-8")
    agent = ["-launcher-exec", placement.agent] if placement.agent else []
    return ["-f", str(hosts_file), "-ppn", str(placement.ranks_per_node), "-launcher", "ssh", *agent, *words]


def _open_mpi(placement: Placement, variables: Mapping[str, str], hosts_file: Path) -> list[str]:
    words = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    spread = ["--oversubscribe", "--bind-to", "none", *words]
    if not placement.hosts:
        return spread
    hosts_file.write_text("".join(f"{host} slots={placement.ranks_per_node}\n" for host in placement.hosts), encoding="utf-8")
    agent = ["--mca", "plm_rsh_agent", placement.agent] if placement.agent else []
    return ["--hostfile", str(hosts_file), "--map-by", f"ppr:{placement.ranks_per_node}:node", *agent, *spread]
