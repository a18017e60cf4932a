"""A Slurm of its own on the hosts of tests.namespaces: one munged, slurmctld on the first host and
a slurmd on each."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.namespaces import OVER_THE_WIRE, Cluster, Host

START_TIMEOUT_S = 60.0
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
CONFIGURATION = """\
ClusterName=suite
SlurmctldHost=node1
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={nodes} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """A running Slurm; ``variables`` are those with which its commands find it."""

    cluster: Cluster
    folder: Path
    variables: Mapping[str, str]

    def batch(self, script: str, timeout_s: float = 300) -> "subprocess.CompletedProcess[str]":
        """Run a shell script as a job on all hosts, from its submission to its end; standard output
        is the job's."""
        path, output = self.folder / "job.sh", self.folder / "job.out"
        path.write_text(f"#!/bin/sh\n{script}\n")
        output.unlink(missing_ok=True)
        words = [
            "sbatch",
            "--quiet",
            "--wait",
            f"--nodes={len(self.cluster.hosts)}",
            f"--output={output}",
            str(path),
        ]
        answer = self.cluster.run(
            self.cluster.hosts[0], *words, variables=self.variables, timeout_s=timeout_s
        )
        return subprocess.CompletedProcess(
            words, answer.returncode, output.read_text() if output.exists() else "", answer.stderr
        )


@contextmanager
def slurm_on(cluster: Cluster, folder: Path) -> Iterator[Slurm]:
    """Start Slurm's daemons; they end with the hosts' namespaces. Raises RuntimeError, with their
    logs, where they do not start."""
    names = [host.name for host in cluster.hosts]
    (folder / "state").mkdir()
    # a host's /sys has no control groups for slurmd to look for
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder, nodes=",".join(names)))
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    slurm = Slurm(
        cluster, folder, {**OVER_THE_WIRE, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}
    )
    first, daemons = cluster.hosts[0], []
    where = [f"--{name}-file={folder}/munge.{name}" for name in ("pid", "log", "seed")]
    daemons.append(
        _started(
            slurm,
            first,
            "munged",
            "--foreground",
            "--force",
            f"--socket={folder}/munge.socket",
            f"--key-file={key}",
            *where,
        )
    )
    _await(slurm, lambda: (folder / "munge.socket").exists())
    daemons.append(_started(slurm, first, "slurmctld", "-D"))
    daemons += [_started(slurm, host, "slurmd", "-D", "-N", host.name) for host in cluster.hosts]
    try:
        _await(slurm, lambda: _idle_nodes(slurm) == len(names))
        yield slurm
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.communicate()


def _started(slurm: Slurm, host: Host, *words: str) -> "subprocess.Popen[str]":
    return slurm.cluster.start(host, *words, variables=slurm.variables)


def _idle_nodes(slurm: Slurm) -> int:
    answer = slurm.cluster.run(
        slurm.cluster.hosts[0],
        "sinfo",
        "--noheader",
        "--Node",
        "--format=%T",
        variables=slurm.variables,
    )
    return answer.stdout.split().count("idle")


def _await(slurm: Slurm, is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while not is_so():
        if time.monotonic() > deadline_s:
            logs = "\n".join(
                f"{path.name}: {path.read_text()[-800:]}"
                for path in sorted(slurm.folder.glob("*.log"))
            )
            raise RuntimeError(f"Slurm does not start here:\n{logs}")
        time.sleep(0.2)
