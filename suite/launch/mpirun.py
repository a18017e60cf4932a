"""MPICH's and Open MPI's `mpirun`, and Slurm's `srun`: the command line, and the cause of a failed
job in its output."""

import enum
import os
import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reference_impls.rank import ADDRESS_VARIABLE
from reference_impls.rendezvous import free_port
from suite.errors import SuiteError
from suite.launch.child_environment import SUITE_VARIABLES
from suite.launch.command import answer_of
from suite.launch.placement import Placement
from suite.launch.slurm import SRUN, ranks_command

HOSTS_NAME = "hosts.txt"
REPORT_STATUSES = "-print-all-exitcodes"
FATAL_SIGNALS = frozenset(
    (
        signal.SIGILL,
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGKILL,
        signal.SIGSEGV,
        signal.SIGPIPE,
        signal.SIGALRM,
        signal.SIGTERM,
        signal.SIGSYS,
    )
)
"""MPICH's banner has one number for a signal and for an exit code; Python's own exit codes are 1
and 2."""
MAX_SENTENCE_LENGTH = 600  # a rank names the file and the remedy
FORWARDED = ("UCX_", "MPICH_", "HYDRA_", "OMPI_", "FI_", "GLOO_", "NCCL_", "MASTER_")
RING_VARIABLE, RING_MIN_NODES, RING_MIN_BYTES = "MPICH_IALLREDUCE_INTRA_ALGORITHM", 3, 2**22
_LAUNCHER = re.compile(
    r"\s*$|=+|\[(mpiexec|proxy:\d+|prterun)[-@]|YOUR APPLICATION TERMINATED|This typically refers"
    r" to a problem|Please see the FAQ page"
    r"|srun: |slurmstepd(-\S+)?: "
    r"|\[[^\]\s]+\] \d[\d,]*\s*$"
    r"|Connection to \S+ closed by remote host|Read from remote host "
    r"|[Aa]bort\(\d+\)|application called MPI_Abort|Abnormal termination|-----+$|\[[^]]*\] (\d+"
    r" more process|Set MCA parameter)"
    r"|\[[^]]*\] (\*{3} |Signal: |Signal code: |Failing at address: |\[ ?\d+\] )"
)
"""Lines that the launchers themselves, and their ssh, print when a job fails."""

_FAILED_RANK = re.compile(
    r"(?:mpirun|prterun) noticed that process rank (\d+) with PID \d+ on node (\S+)"
    r" exited(?:\s+on\s+signal (\d+))?"
)
"""Open MPI's sentence about the process that failed first; it may be broken into two lines."""
_BANNER = re.compile(r"^=\s+PID (\d+) RUNNING AT (\S+)\n=\s+EXIT CODE: (\d{1,9})$", re.MULTILINE)
"""MPICH's banner. It names the first process of a host, which MPICH may have killed after the
failure of another one."""
_EXIT_STATUSES = re.compile(
    r"^\[mpiexec@[^\]]*\] Exit codes: ((?:\[[^\]]+\] [\d,]+\s+)+)", re.MULTILINE
)
"""MPICH's list of all ranks' exit statuses, as wait(2) returns them, a line for each host: ``[pi1]
9,9``, ``[pi2] 7,9``."""
_FAILED_TASK = re.compile(r"^srun: error: (\S+): tasks? (\d+)[\d,-]*: (.+)$", re.MULTILINE)
"""srun's line about tasks that failed on a host, in the order in which they did."""
_SIGNALS = {signal.strsignal(number): number for number in signal.valid_signals()}
_WARNING = re.compile(r"^\S.*:\d+: \w*Warning: .*\n((\S.*\n){0,3}  .*\n)?", re.MULTILINE)
"""A Python warning, and its line of source, which is indented."""
_REFUSED = re.compile(
    r"(?P<said>ssh: (?:Could not resolve hostname|connect to host)"
    r" (?P<host>[^\s:]+).*|(?:\S+@)?(?P<refusing>[^\s:@]+): Permission denied.*)"
)
"""What ssh prints about a host that it cannot connect to."""
_CLOSED = re.compile(
    r"Connection to (\S+) closed by remote host|Read from remote host (\S+): Connection reset by"
    r" peer"
)
"""What ssh prints when the other end's server was ended, as by a shutdown."""


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
    """The process whose failure ended a job, as its launcher reports it; ``signal`` ended it, None
    where it exited by itself or that is unknown.

    Open MPI, and MPICH on one host, report the rank. MPICH kills all other ranks by SIGKILL: where
    every rank was ended by it, and on several hosts, it reports a host, and the pid of the first
    rank there, which is the one that failed first unless the host has several ranks.
    """

    rank: int | None
    host: str | None
    signal: int | None
    pid: int | None = None


@dataclass(frozen=True)
class RefusedHost:
    """A host that ssh could not connect to, and what ssh said."""

    host: str
    said: str


def find_mpirun(interpreter: Path) -> Mpirun:
    """The environment's own mpirun, else the system's; raises SuiteError naming what to install."""
    own = interpreter.with_name("mpirun")
    found = str(own) if own.exists() else shutil.which("mpirun")
    if found is None:
        raise SuiteError("There is no mpirun; `sudo apt-get install openmpi-bin` installs one.")
    version = answer_of(found, "--version")
    return Mpirun(
        Path(found).absolute(),
        Flavour.OPEN_MPI if "Open MPI" in version or "OpenRTE" in version else Flavour.MPICH,
    )


def last_output_line(lines: Sequence[str]) -> str | None:
    """The line of a job's output that says why it ended: the first error reported by a rank, else a
    rank's last line, else the launcher's."""
    output = rank_output(lines) or [
        line for line in _without_warnings(lines) if re.search(r"\w", line)
    ]
    return (
        next(filter(is_rank_error, output), output[-1]).strip()[:MAX_SENTENCE_LENGTH]
        if output
        else None
    )


def failed_process(lines: Sequence[str], ranks: int) -> FailedProcess | None:
    """The process of a job of ``ranks`` ranks that the launcher reports as failed first; None when
    it reports none.

    A host whose proxy failed, too, is missing in MPICH's list of exit statuses: a list that is not
    of all ranks says nothing about any of them.
    """
    text = "\n".join(lines)
    found = _FAILED_RANK.search(text)
    if found is not None:
        return FailedProcess(int(found[1]), found[2], int(found[3]) if found[3] else None)
    task = _failed_task(text)
    if task is not None:
        return task
    listed = _exit_statuses(text)
    statuses = listed if len(listed) == ranks else []
    by_signal = {
        rank: os.WTERMSIG(status) for rank, status in enumerate(statuses) if os.WIFSIGNALED(status)
    }
    by_itself = (
        rank
        for rank, status in enumerate(statuses)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status)
    )
    first = next(
        (rank for rank, number in by_signal.items() if number != signal.SIGKILL),
        next(by_itself, None),
    )
    if first is not None:
        return FailedProcess(first, None, by_signal.get(first))
    banner = _BANNER.search(text)
    if banner is None:
        return None
    code = int(banner[3])
    return FailedProcess(None, banner[2], code if code in FATAL_SIGNALS else None, int(banner[1]))


def _failed_task(text: str) -> FailedProcess | None:
    """The first task that srun says failed; None where it says nothing. It ends the others by
    SIGKILL or SIGTERM, and says so, too."""
    found = [
        FailedProcess(int(rank), host, _SIGNALS.get(how.partition(" (")[0]))
        for host, rank, how in _FAILED_TASK.findall(text)
    ]
    own = (each for each in found if each.signal not in (signal.SIGKILL, signal.SIGTERM))
    return next(own, found[0] if found else None)


def _exit_statuses(text: str) -> list[int]:
    """Every rank's exit status from MPICH's list; empty without it."""
    found = _EXIT_STATUSES.search(text + "\n")
    words = [word for word in found[1].split() if not word.startswith("[")] if found else []
    numbers = ",".join(words).split(",")
    return (
        [int(number) for number in numbers]
        if all(re.fullmatch(r"\d{1,9}", number) for number in numbers)
        else []
    )


def refused_host(lines: Sequence[str]) -> RefusedHost | None:
    """The first host that ssh could not connect to; None when it reports none."""
    found = next(filter(None, map(_REFUSED.match, lines)), None)
    return (
        None
        if found is None
        else RefusedHost(found["host"] or found["refusing"], found["said"].strip()[:200])
    )


def closed_host(lines: Sequence[str]) -> str | None:
    """The first host that closed an SSH connection before the command there had ended; None when
    none did."""
    found = next(filter(None, map(_CLOSED.match, lines)), None)
    return None if found is None else found[1] or found[2]


def is_rank_error(line: str) -> bool:
    """True for an error line that a rank wrote with its rank and host."""
    return re.match(r"error: rank \d+ on ", line) is not None


def rank_output(lines: Sequence[str]) -> list[str]:
    """The lines that ranks wrote, without warnings and the launcher's, which Open MPI puts between
    two lines of dashes."""
    output, quoted = [], False
    for line in lines:
        is_rule = re.fullmatch(r"-{70,}", line.strip()) is not None
        quoted = quoted != is_rule
        if not quoted and not _LAUNCHER.match(line):
            output.append(line)
    return _without_warnings(output)


def _without_warnings(lines: Sequence[str]) -> list[str]:
    """The lines without Python's warnings, which are never the cause of an end."""
    return _WARNING.sub("", "".join(f"{line}\n" for line in lines)).splitlines()


def mpirun_command(
    mpirun: Mpirun,
    placement: Placement,
    program: Sequence[str],
    variables: Mapping[str, str],
    directory: Path,
) -> list[str]:
    """The command that starts ``program`` on every rank, from any folder; writes the hosts, in the
    launcher's own format, into ``directory``.

    Where the placement's agent is srun, Slurm starts the ranks of the same MPI.
    """
    if placement.hosts and placement.agent == SRUN:
        return ranks_command(
            placement.hosts, placement.ranks_per_node, mpirun.flavour is Flavour.MPICH, program
        )
    build = _open_mpi if mpirun.flavour is Flavour.OPEN_MPI else _mpich
    return [
        str(mpirun.path),
        "-n",
        str(placement.ranks),
        *build(placement, _forwarded(variables), directory.absolute() / HOSTS_NAME),
        *program,
    ]


def allow_root(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables with which Open MPI lets root run jobs: in a container there is often no other
    user."""
    permission = (
        {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if os.geteuid() == 0
        else {}
    )
    return {**variables, **permission}


def with_meeting_point(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables, and where ranks that do not use MPI can meet, under torchrun's names: a free
    port of rank 0's host, at the address by which every rank reaches the harness."""
    host = variables.get(ADDRESS_VARIABLE, "").rpartition(":")[0] or "127.0.0.1"
    return {**variables, "MASTER_ADDR": host, "MASTER_PORT": str(free_port())}


def all_reduce_variables(nodes: int, ranks_per_node: int, gradient_bytes: int) -> dict[str, str]:
    """Variables with which MPICH sums large gradients of several nodes along a ring; a user's own
    value of them comes first.

    MPICH's choice exchanges them between pairs that change, and links are idle between the rounds
    (docs/multi-node.md). Two nodes are one pair, and small sums would wait for more rounds. Of
    several ranks of a node MPICH's choice sums within the node first, which a ring does not: more
    bytes would cross the links.
    """
    is_ring = nodes >= RING_MIN_NODES and ranks_per_node == 1 and gradient_bytes >= RING_MIN_BYTES
    return {RING_VARIABLE: "tsp_ring"} if is_ring else {}


def _forwarded(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables that a rank on another host needs: the suite's, those that tune MPI, and where
    ranks without MPI meet."""
    return {
        name: value
        for name, value in variables.items()
        if name in SUITE_VARIABLES or name.startswith((*FORWARDED, "SUITE_HEARTBEAT"))
    }


def _mpich(placement: Placement, variables: Mapping[str, str], hosts_file: Path) -> list[str]:
    options = [word for name, value in variables.items() for word in ("-genv", name, value)]
    if not placement.hosts:
        return ["-launcher", "fork", REPORT_STATUSES, *options]
    hosts_file.write_text(
        "".join(f"{host}:{placement.ranks_per_node}\n" for host in placement.hosts),
        encoding="utf-8",
    )
    agent = ["-launcher-exec", placement.agent] if placement.agent else []
    return [
        "-f",
        str(hosts_file),
        "-ppn",
        str(placement.ranks_per_node),
        "-launcher",
        "ssh",
        REPORT_STATUSES,
        *agent,
        *options,
    ]


def _open_mpi(placement: Placement, variables: Mapping[str, str], hosts_file: Path) -> list[str]:
    options = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    spread = ["--oversubscribe", "--bind-to", "none", *options]
    if not placement.hosts:
        return spread
    hosts_file.write_text(
        "".join(f"{host} slots={placement.ranks_per_node}\n" for host in placement.hosts),
        encoding="utf-8",
    )
    agent = ["--mca", "plm_rsh_agent", placement.agent] if placement.agent else []
    return [
        "--hostfile",
        str(hosts_file),
        "--map-by",
        f"ppr:{placement.ranks_per_node}:node",
        *agent,
        *spread,
    ]
