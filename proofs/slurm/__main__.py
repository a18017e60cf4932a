"""Under a Slurm of two nodes the doctor and a run work, and a killed rank ends the run with its
name: `make prove slurm`.

Prints what each said.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proofs.figures import hand_over
from proofs.slurm.cluster import Slurm, slurm_on
from suite.bundle.reader import Bundle
from suite.compliance.checker import check_bundle
from suite.files.paths import repository_root
from tests.namespaces import joined_hosts

SUITE = Path(sys.executable).with_name("suite")
RUN = (
    f"cd {repository_root()} && {SUITE} run --division open --device auto --workload lenet"
    " --framework pytorch --data digits --threads 1 --epochs {epochs} --launch-agent srun"
    " --output {output}"
)


def main() -> int:
    """Exit code 0 when everything went as expected."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        joined_hosts(2, Path(scratch)) as cluster,
        slurm_on(cluster, Path(scratch)) as slurm,
    ):
        outcomes = [_tried(name, check, slurm, Path(scratch)) for name, check in CHECKS.items()]
    hand_over(checks=len(outcomes), checks_that_hold=sum(outcomes))
    return 0 if all(outcomes) else 1


def _doctor(slurm: Slurm, folder: Path) -> "subprocess.CompletedProcess[str]":
    answer = slurm.batch(
        f"cd {repository_root()} && {SUITE} cluster doctor --launch-agent srun --data digits"
    )
    assert answer.returncode == 0 and "These hosts can train together in " in answer.stdout, (
        answer.stdout
    )
    return answer


def _run(slurm: Slurm, folder: Path) -> "subprocess.CompletedProcess[str]":
    output = folder / "run"
    answer = slurm.batch(RUN.format(epochs=2, output=output))
    assert answer.returncode == 0, answer.stdout
    assert [event.value for event in Bundle(output).log().all("nodes_of_ranks")] == [
        ["node0", "node1"]
    ]
    refused = [
        finding for finding in check_bundle(output).findings if finding.severity.value == "invalid"
    ]
    assert not refused, refused
    return answer


def _rank_killed(slurm: Slurm, folder: Path) -> "subprocess.CompletedProcess[str]":
    output = folder / "killed"
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(slurm.batch, RUN.format(epochs=500, output=output))
        while not job.done() and not _has_trained(output / "log.txt"):
            time.sleep(0.2)
        for pid, words in slurm.cluster.processes(slurm.cluster.hosts[1]).items():
            # not its heartbeat process
            if "-m reference_impls.pytorch" in words and "reference_impls.rank" not in words:
                os.kill(pid, signal.SIGKILL)
        answer = job.result()
    assert (
        answer.returncode == 2
        and "rank 1 on node node2 was ended by signal 9 (SIGKILL)" in answer.stdout
    ), answer.stdout
    left = [
        words
        for host in slurm.cluster.hosts
        for words in slurm.cluster.processes(host).values()
        if "reference_impls" in words
    ]
    assert not left, left
    return answer


def _has_trained(log: Path) -> bool:
    return log.is_file() and "epoch_stop" in log.read_text(encoding="utf-8")


def _too_few_hosts(slurm: Slurm, folder: Path) -> "subprocess.CompletedProcess[str]":
    answer = slurm.batch(f"{RUN.format(epochs=1, output=folder / 'three')} --nodes 3")
    assert (
        answer.returncode == 2
        and "the allocation names 2 hosts; --nodes 3 needs 1 more" in answer.stdout
    ), answer.stdout
    return answer


CHECKS: dict[str, Callable[[Slurm, Path], "subprocess.CompletedProcess[str]"]] = {
    "suite cluster doctor": _doctor,
    "suite run, two nodes": _run,
    "suite run, a rank is killed": _rank_killed,
    "suite run, three nodes of two": _too_few_hosts,
}


def _tried(
    name: str,
    check: Callable[[Slurm, Path], "subprocess.CompletedProcess[str]"],
    slurm: Slurm,
    folder: Path,
) -> bool:
    try:
        said, is_well = check(slurm, folder).stdout, True
    except (AssertionError, subprocess.TimeoutExpired) as error:
        said, is_well = str(error), False
    print(
        f"{'ok' if is_well else 'FAILED'}: {name}\n"
        + "".join(f"    {line}\n" for line in said.splitlines()[-6:])
    )
    return is_well


if __name__ == "__main__":
    sys.exit(main())
