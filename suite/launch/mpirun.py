"""MPICH's and Open MPI's `mpirun`: the command line, and the cause of a failed job in its output."""

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
"""Lines that the launchers themselves print when a job fails."""

_FAILED = re.compile(
    r"=\s+PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)|(mpirun|prterun) noticed that process rank (?P<rank>\d+) with PID \d+ on node \S+ exited"
)
"""The lines in which MPICH's and Open MPI's launchers name the process that failed first."""


class Flavour(str, enum.Enum):
    """The MPI of an mpirun; the two take hosts and variables by different options."""

    MPICH = "MPICH"
    OPEN_MPI = "Open MPI"


@dataclass(frozen=True)
class Mpirun:
    """A launcher."""

    path: Path
    flavour: Flavour


@dataclass(frozen=True)
class FailedProcess:
    """The process whose failure ended a job: Open MPI reports its rank, MPICH its pid and host."""

    rank: int | None
    pid: int | None
    host: str | None


def find_mpirun(interpreter: Path) -> Mpirun:
    """The environment's own mpirun, else the system's; raises SuiteError naming what to install."""
    own = interpreter.with_name("mpirun")
    found = str(own) if own.exists() else shutil.which("mpirun")
    if found is None:
        raise SuiteError("There is no mpirun; `sudo apt-get install openmpi-bin` installs one.")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=60).stdout
    return Mpirun(Path(found), Flavour.OPEN_MPI if "Open MPI" in version or "OpenRTE" in version else Flavour.MPICH)


def last_output_line(lines: Sequence[str]) -> str | None:
    """The line of a job's output that says why it ended: the first error reported by a rank, else a rank's last line, else the launcher's."""
    output = _output_of_ranks(lines) or [line for line in lines if re.search(r"\w", line)]
    return next(filter(is_rank_error, output), output[-1]).strip()[:300] if output else None


def failed_process(lines: Sequence[str]) -> FailedProcess | None:
    """The process that the launcher reports as failed first; None when it reports none."""
    found = next(filter(None, map(_FAILED.match, lines)), None)
    if found is None:
        return None
    rank, pid = (int(found[name]) if found[name] else None for name in ("rank", "pid"))
    return FailedProcess(rank, pid, found["host"])


def is_rank_error(line: str) -> bool:
    """True for an error line that a rank wrote with its rank and host."""
    return re.match(r"error: rank \d+ on ", line) is not None


def _output_of_ranks(lines: Sequence[str]) -> list[str]:
    """The lines that ranks wrote, without the launcher's, which Open MPI puts between two lines of dashes."""
    output, quoted = [], False
    for line in lines:
        is_rule = re.fullmatch(r"-{70,}", line.strip()) is not None
        quoted = quoted != is_rule
        if not quoted and not _LAUNCHER.match(line):
            output.append(line)
    return output


def mpirun_command(mpirun: Mpirun, placement: Placement, program: Sequence[str], variables: Mapping[str, str], directory: Path) -> list[str]:
    """The command that starts ``program`` on every rank; writes the hosts, in the launcher's own format, into ``directory``."""
    build = _open_mpi if mpirun.flavour is Flavour.OPEN_MPI else _mpich
    return [str(mpirun.path), "-n", str(placement.ranks), *build(placement, _forwarded(variables), directory / HOSTS_NAME), *program]


def allow_root(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables with which Open MPI lets root run jobs: in a container there is often no other user."""
    permission = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return {**variables, **permission}


def _forwarded(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables that a rank on another host needs: the suite's, and those that tune MPI."""
    return {name: value for name, value in variables.items() if name in SUITE_VARIABLES or name.startswith((*FORWARDED, "SUITE_HEARTBEAT"))}


def _mpich(placement: Placement, variables: Mapping[str, str], hosts_file: Path) -> list[str]:
    options = [word for name, value in variables.items() for word in ("-genv", name, value)]
    if not placement.hosts:
        return ["-launcher", "fork", *options]
    hosts_file.write_text("".join(f"{host}:{placement.ranks_per_node}\n" for host in placement.hosts), encoding="utf-8")
    agent = ["-launcher-exec", placement.agent] if placement.agent else []
    return ["-f", str(hosts_file), "-ppn", str(placement.ranks_per_node), "-launcher", "ssh", *agent, *options]


def _open_mpi(placement: Placement, variables: Mapping[str, str], hosts_file: Path) -> list[str]:
    options = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    spread = ["--oversubscribe", "--bind-to", "none", *options]
    if not placement.hosts:
        return spread
    hosts_file.write_text("".join(f"{host} slots={placement.ranks_per_node}\n" for host in placement.hosts), encoding="utf-8")
    agent = ["--mca", "plm_rsh_agent", placement.agent] if placement.agent else []
    return ["--hostfile", str(hosts_file), "--map-by", f"ppr:{placement.ranks_per_node}:node", *agent, *spread]
