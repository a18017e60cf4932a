"""A matrix over four hosts as boards, one of which dies while it trains: every run is there
once."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from suite.bundle.layout import MANIFEST
from suite.bundle.reader import Bundle
from suite.files.paths import repository_root
from suite.metrics.matrix_record import read_matrix
from tests.hosts.training import SUITE
from tests.namespaces import Cluster

pytestmark = [pytest.mark.hosts, pytest.mark.proof]
RUNS = 12


def test_a_board_that_dies_loses_no_run_and_doubles_none(
    four_hosts: Cluster, digits: Path, tmp_path: Path
) -> None:
    out, dying = tmp_path / "out", four_hosts.hosts[2]
    words = (
        "sweep --vary batch_size=8,16 --vary threads=1,2 --seeds 3 --steps 20 --workload lenet"
        f" --framework fake --data digits={digits} --output {out}"
        f" --boards {four_hosts.hostfile(tmp_path / 'boards.txt')}"
        f" --launch-agent {four_hosts.agent}"
    ).split()
    sweep = four_hosts.start(four_hosts.hosts[0], SUITE, *words, cwd=repository_root())
    while not any(
        "reference_impls.fake" in command for command in four_hosts.processes(dying).values()
    ):
        assert sweep.poll() is None, sweep.communicate()[1]
        time.sleep(0.01)
    for pid in four_hosts.processes(dying):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    said, errors = sweep.communicate(timeout=500)
    assert sweep.returncode == 0, errors
    # whether it is asked again depends on how soon the others make the rest
    assert f"{dying.name} was lost" in errors
    sealed = {
        path.parent.name: Bundle(path.parent).run().run_id for path in out.glob(f"*/{MANIFEST}")
    }
    assert len(sealed) == len(set(sealed.values())) == RUNS, errors
    assert sorted(run.folder for point in read_matrix(out).points for run in point.runs) == sorted(
        sealed
    )
    assert all(f"on {host.name}" in errors for host in four_hosts.hosts), "every board had a share"
    print(errors, said)
