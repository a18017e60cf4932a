"""`suite cluster doctor` on hosts that are well, down, of another version, with other data, and on
a slow link."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.files.paths import repository_root
from tests.conftest import environment_of
from tests.namespaces import OVER_THE_WIRE, Cluster

pytestmark = [pytest.mark.hosts, pytest.mark.proof, pytest.mark.pytorch]
Doctor = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Some data."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "labels").write_text("0123456789")
    return folder


@pytest.fixture
def doctor(three_hosts: Cluster, tmp_path: Path, data: Path) -> Doctor:
    """Runs the command on node1."""
    environment_of("pytorch")
    hostfile = three_hosts.hostfile(tmp_path / "hosts.txt")

    def call(*words: object, **options: Any) -> "subprocess.CompletedProcess[str]":
        command = [
            Path(sys.executable).with_name("suite"),
            "cluster",
            "doctor",
            "--hostfile",
            hostfile,
            "--data",
            data,
        ]
        return three_hosts.run(
            three_hosts.hosts[0],
            *command,
            "--launch-agent",
            three_hosts.agent,
            *words,
            cwd=repository_root(),
            **options,
        )

    return call


def problems(answer: "subprocess.CompletedProcess[str]") -> list[tuple[str, str]]:
    """Node and point of each."""
    assert answer.returncode == 1, answer.stdout + answer.stderr
    return [(found["node"], found["point"]) for found in json.loads(answer.stdout)["problems"]]


def test_hosts_that_are_well_can_train_together(doctor: Doctor) -> None:
    answer = doctor()
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "These hosts can train together in " in answer.stdout
    found = json.loads(doctor("--json").stdout)
    assert [each["facts"]["node"] for each in found["answers"]] == ["node1", "node2", "node3"]
    assert {each["facts"]["link"]["interface"] for each in found["answers"]} == {"eth0"}
    for measure in found["links"]["measures"]:
        # they share a clock
        assert abs(measure["wall_offset_ns"]) <= measure["uncertainty_ns"] + 1_000_000
        assert 0 < measure["round_trip_s"] < 1


def test_a_host_that_is_down_is_named_and_the_others_are_looked_at(
    doctor: Doctor, three_hosts: Cluster
) -> None:
    three_hosts.cut(three_hosts.hosts[2])
    answer = doctor("--json")
    assert problems(answer) == [("node3", "reach")]
    assert [measure["node"] for measure in json.loads(answer.stdout)["links"]["measures"]] == [
        "node2"
    ]
    assert "Traceback" not in answer.stderr


def test_a_host_with_another_version_and_one_with_other_sources_are_named(
    doctor: Doctor, three_hosts: Cluster, tmp_path: Path
) -> None:
    version, source = (
        repository_root() / "suite" / "__init__.py",
        repository_root() / "reference_impls" / "schedules.py",
    )
    (tmp_path / "old.py").write_text('__version__ = "0.0.9"\n')
    (tmp_path / "other.py").write_text(source.read_text() + "# changed\n")
    three_hosts.replace(three_hosts.hosts[1], version, tmp_path / "old.py")
    three_hosts.replace(three_hosts.hosts[2], source, tmp_path / "other.py")
    answer = doctor("--json")
    assert problems(answer) == [("node2", "suite"), ("node3", "suite")]
    assert "version 0.0.9" in answer.stdout


def test_a_host_with_other_data_is_named(
    doctor: Doctor, three_hosts: Cluster, tmp_path: Path, data: Path
) -> None:
    (tmp_path / "labels").write_text("9876543210")
    three_hosts.replace(three_hosts.hosts[1], data / "labels", tmp_path / "labels")
    assert problems(doctor("--json")) == [("node2", "data")]


def test_a_host_without_the_checkout_is_told_how_to_get_it(
    doctor: Doctor, three_hosts: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    three_hosts.replace(
        three_hosts.hosts[1], repository_root() / "reference_impls", tmp_path / "empty"
    )
    answer = doctor()
    assert answer.returncode == 1
    assert "put the same checkout" in answer.stdout


def test_a_firewall_on_another_host_is_named_with_all_that_it_keeps_out(
    doctor: Doctor, three_hosts: Cluster
) -> None:
    """MPI, which would wait for an answer, is not asked to connect to it."""
    words = [
        "iptables",
        "-A",
        "INPUT",
        "-i",
        "eth0",
        "-p",
        "tcp",
        "--syn",
        "--dport",
        "1024:65535",
        "-j",
        "REJECT",
        "--reject-with",
        "tcp-reset",
    ]
    if (
        shutil.which(words[0]) is None
        or three_hosts.run(three_hosts.hosts[1], *words).returncode != 0
    ):
        pytest.skip("needs a firewall in a network namespace: sudo apt-get install iptables")
    answer = doctor("--json")
    assert problems(answer) == [("node2", "connect")]
    found = json.loads(answer.stdout)
    assert found["problems"][0]["sentence"].startswith(
        "node1, node3 cannot connect to node2 (Connection refused)"
    )
    assert [measure["node"] for measure in found["links"]["measures"]] == ["node3"]


def test_a_slow_link_is_named(doctor: Doctor, three_hosts: Cluster) -> None:
    three_hosts.shape(three_hosts.hosts[1], megabits_per_s=20)
    answer = doctor("--json")
    assert problems(answer) == [("node2", "link")]
    slow = json.loads(answer.stdout)["links"]["measures"][0]
    assert 15 < slow["bandwidth_mbit_s"] < 21


def test_an_mpi_that_cannot_use_the_network_is_a_problem_not_a_traceback(doctor: Doctor) -> None:
    answer = doctor("--json", variables={**OVER_THE_WIRE, "UCX_NET_DEVICES": "eth7"})
    assert problems(answer) == [("node2", "mpi")]
    assert "Traceback" not in answer.stderr


def test_hosts_of_which_this_machine_is_not_the_first_are_named(
    three_hosts: Cluster, doctor: Doctor, tmp_path: Path
) -> None:
    (tmp_path / "others.txt").write_text("node2\nnode3\n")
    assert problems(doctor("--json", "--hostfile", tmp_path / "others.txt")) == [("node2", "first")]


def test_a_hostfile_that_is_not_there_is_one_sentence(doctor: Doctor) -> None:
    answer = doctor("--hostfile", "/no/such/file")
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: /no/such/file cannot be read")
