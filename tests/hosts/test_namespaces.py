"""The hosts that the other tests here stand on are what they claim to be."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suite.files.paths import repository_root
from tests.namespaces import Cluster

pytestmark = [pytest.mark.hosts, pytest.mark.proof]
SIZE_BYTES = 2_000_000


def test_a_command_runs_on_the_host_it_is_sent_to(two_hosts: Cluster) -> None:
    first, second = two_hosts.hosts
    answer = two_hosts.run(
        first, two_hosts.agent, second.name, "hostname; ip -4 -o address show eth0"
    )
    assert "node2" in answer.stdout, answer.stderr
    assert second.address in answer.stdout


def test_what_is_sent_is_counted_at_both_ends(two_hosts: Cluster) -> None:
    first, second = two_hosts.hosts
    before, before_second = two_hosts.traffic(first), two_hosts.traffic(second)
    _send(two_hosts)
    sent = two_hosts.traffic(first).sent_bytes - before.sent_bytes
    received = two_hosts.traffic(second).received_bytes - before_second.received_bytes
    assert SIZE_BYTES < sent < 1.2 * SIZE_BYTES
    assert abs(sent - received) < 0.02 * SIZE_BYTES


def test_a_shaped_link_takes_as_long_as_its_rate_says(two_hosts: Cluster) -> None:
    two_hosts.shape(two_hosts.hosts[1], megabits_per_s=10)
    began_s = time.monotonic()
    _send(two_hosts)
    assert time.monotonic() - began_s > 0.8 * SIZE_BYTES * 8 / 10e6


def test_a_cut_link_carries_nothing(two_hosts: Cluster) -> None:
    two_hosts.cut(two_hosts.hosts[1])
    answer = two_hosts.run(
        two_hosts.hosts[0], two_hosts.agent, "-o", "ConnectTimeout=1", "node2", "true"
    )
    assert answer.returncode == 255


def test_hosts_are_gone_when_their_maker_was_killed(tmp_path: Path, two_hosts: Cluster) -> None:
    script = f"""
import signal
from pathlib import Path
from tests.namespaces import joined_hosts
with joined_hosts(2, Path({str(tmp_path)!r})) as cluster:
    print(*[host.namespace for host in cluster.hosts], flush=True)
    signal.pause()
"""
    maker = subprocess.Popen(
        [sys.executable, "-c", script], cwd=repository_root(), stdout=subprocess.PIPE, text=True
    )
    assert maker.stdout is not None
    namespaces = maker.stdout.readline().split()
    assert len(namespaces) == 2
    os.kill(maker.pid, signal.SIGKILL)
    maker.wait()
    deadline_s = time.monotonic() + 10
    while (
        left := [name for name in namespaces if name in _namespaces()]
    ) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert not left


def _send(cluster: Cluster) -> None:
    """Random bytes, so that no compression helps, from node1 to node2."""
    command = f"head -c {SIZE_BYTES} /dev/urandom | {cluster.agent} node2 'cat > /dev/null'"
    answer = cluster.run(cluster.hosts[0], "sh", "-c", command)
    assert answer.returncode == 0, answer.stderr


def _namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
