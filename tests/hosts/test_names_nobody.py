"""Two hosts with tell-tale names train from a home folder with one: no file of the submission has
any of them."""

import os
import subprocess
from pathlib import Path

import pytest

from suite.bundle.node_records import read_nodes
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.files.paths import repository_root
from suite.launch.environments import adopt_interpreter
from tests.conftest import Run, environment_of
from tests.hosts.training import SUITE
from tests.namespaces import OVER_THE_WIRE, Cluster
from tests.suite.execution.test_names_nobody import FAKE, HOST, PERSON, THESIS, leaks

pytestmark = [pytest.mark.hosts, pytest.mark.proof, pytest.mark.pytorch]


def renamed(cluster: Cluster) -> list[str]:
    """Give every host of the cluster another name, which every host resolves."""
    names = [f"{HOST}{number}" for number, _ in enumerate(cluster.hosts, start=1)]
    lines = "".join(
        f"{host.address} {name}\n" for host, name in zip(cluster.hosts, names, strict=True)
    )
    for host, name in zip(cluster.hosts, names, strict=True):
        with Path("/etc/netns", host.namespace, "hosts").open("a") as stream:
            stream.write(lines)
        assert cluster.run(host, "hostname", name).returncode == 0
    return names


def test_runs_on_two_hosts_name_neither(
    two_hosts: Cluster, digits: Path, suite: Run, tmp_path: Path
) -> None:
    person, interpreter = tmp_path / PERSON, environment_of("pytorch").interpreter
    (person / "digits").mkdir(parents=True)
    subprocess.run(["cp", "-r", f"{digits}/.", str(person / "digits")], check=True)
    adopt_interpreter(load_framework("fake"), interpreter, person / ".cache/edge-training-suite")
    hostfile = person / f"{THESIS}.txt"
    hostfile.write_text("".join(f"{name}\n" for name in renamed(two_hosts)))
    variables = {
        **OVER_THE_WIRE,
        "HOME": str(person),
        "USER": PERSON,
        "LOGNAME": PERSON,
        "SUITE_HOME": str(person / ".cache/edge-training-suite"),
    }
    words = [
        SUITE,
        *FAKE,
        "--batch-size",
        360,
        "--data",
        f"digits={person}/digits",
        "--output",
        person / THESIS,
    ]
    ran = two_hosts.run(
        two_hosts.hosts[0],
        *(*words, "--hostfile", hostfile, "--launch-agent", two_hosts.agent),
        variables={**variables, "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        cwd=repository_root(),
        timeout_s=300,
    )
    assert ran.returncode == 0, ran.stderr
    bundle = Bundle(person / THESIS)
    assert bundle.log().value("nodes_of_ranks") == ["node0", "node1"]
    assert [
        (node.host, node.node, (node.link or {}).get("interface")) for node in read_nodes(bundle)
    ] == [
        ("node0", "node0", "eth0"),
        ("node1", "node1", "eth0"),
    ]
    suite.done(f"check {bundle.path}")
    packaged = suite.typed(
        f"package {bundle.path} --org acme --availability research --output {tmp_path}/tree"
    )
    assert packaged.returncode in (0, 1), packaged.stderr
    (folder,) = (tmp_path / "tree").glob("*/acme")
    assert leaks(folder) == []
