"""Two hosts train and each is measured: readings of both in the bundle, bytes of both interfaces,
energy of both plugs, what each held."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from suite.bundle.layout import SUMMARY
from suite.bundle.node_records import NODES
from suite.bundle.reader import Bundle
from suite.catalog.workloads import load_workload
from suite.compliance.rules.cpu_time import TASK_CLOCKS
from suite.files.paths import repository_root
from suite.metrics.node_readings import node_readings
from suite.metrics.power_totals import power_rules
from tests.conftest import Run, environment_of
from tests.hosts.training import Trainer
from tests.namespaces import OVER_THE_WIRE, Cluster, Host, joined_hosts

pytestmark = [pytest.mark.hosts, pytest.mark.proof, pytest.mark.pytorch]
GRADIENT_BYTES = 4 * load_workload("lenet").parameters
SHAPED_BYTES_PER_S = 100e6 / 8
SLOWED = ("--epochs", 5, "--learning-rate", 1e-9)
"""450 steps, 9 s at the least over a link of 100 Mbit/s, however fast the machine: time for a
recorder to begin, and to be killed.

No target is reached.
"""

LONG = ("--epochs", 10, "--learning-rate", 1e-9)
"""As slowly, 18 s: bytes per step need ten periods of the meter."""

WORKING = 1.2
"""A node that trains draws this multiple of its idle power."""

PLUG = f"""
import http.server, os, pathlib, sys
PROGRAM = ".".join(("reference_impls", "pytorch")).encode()  # in pieces: this program's own command line must not match
def trains():
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            of_this_host = os.readlink(process / "ns/net") == os.readlink("/proc/self/ns/net")
            if of_this_host and PROGRAM in (process / "cmdline").read_bytes():
                return True
        except OSError:
            pass
    return False
class Plug(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        power_w = float(sys.argv[1]) * ({WORKING} if trains() else 1)
        self.wfile.write(b'{{"apower": %r}}' % power_w)
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 8080), Plug)
print("listening", flush=True)
server.serve_forever()
"""  # noqa: E501


@pytest.fixture(autouse=True, scope="module")
def _with_pytorch() -> None:
    environment_of("pytorch")


@contextmanager
def plug_beside(cluster: Cluster, host: Host, power_w: float, folder: Path) -> Iterator[None]:
    """A plug, played by a small server, that only this host knows of: its /etc names it."""
    etc = folder / f"etc of {host.name}"
    assert cluster.run(host, "cp", "-a", "/etc", etc).returncode == 0
    (etc / "edge-training-suite").mkdir(exist_ok=True)
    (etc / "edge-training-suite" / "meters.toml").write_text(
        '[shelly]\naddress = "127.0.0.1:8080"\n'
    )
    cluster.replace(host, Path("/etc"), etc)
    server = cluster.start(host, sys.executable, "-c", PLUG, power_w)
    assert server.stdout is not None and server.stdout.readline()
    try:
        yield
    finally:
        server.kill()
        server.communicate()


def seconds(bundle: Bundle) -> float:
    log = bundle.log()
    start, stop = log.first("run_start"), log.first("run_stop")
    assert (
        start is not None
        and stop is not None
        and start.mono_ns is not None
        and stop.mono_ns is not None
    )
    return (stop.mono_ns - start.mono_ns) * 1e-9


@dataclass(frozen=True)
class Measured:
    """A run over a link of 100 Mbit/s with a plug beside each node; ``left`` is what went on
    running on the second one."""

    bundle: Bundle
    left: list[str]


@pytest.fixture(scope="module")
def measured(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Not to be changed."""
    folder = tmp_path_factory.mktemp("measured")
    with joined_hosts(2, tmp_path_factory.mktemp("hosts")) as cluster:
        first, second = cluster.hosts
        cluster.shape(second, megabits_per_s=100)
        trainer = Trainer(cluster, digits, cluster.hostfile(folder / "hosts.txt"), OVER_THE_WIRE)
        with plug_beside(cluster, first, 5.0, folder), plug_beside(cluster, second, 7.0, folder):
            bundle = trainer.train("pytorch", folder / "run", *LONG, "--baseload", 3)
        left = [
            words
            for words in cluster.processes(second).values()
            if words and "sshd" not in words.split()[0]
        ]
    return Measured(bundle, left)


def test_both_nodes_readings_are_in_the_bundle_and_the_bytes_are_the_gradients(
    measured: Measured, suite: Run
) -> None:
    bundle = measured.bundle
    first, second = bundle.json(NODES)["nodes"]
    assert [
        (node["node"], node["ranks"], node["problem"], node["link"]["interface"])
        for node in (first, second)
    ] == [
        ("node0", [0], None, "eth0"),
        ("node1", [1], None, "eth0"),
    ]
    assert [node["page_cache"]["is_cold"] for node in (first, second)] == [True, True]
    assert bundle.log().value("cache_clear") is True
    summary = bundle.json(SUMMARY)
    for node in summary["nodes"]:
        for direction in ("sent", "received"):
            assert (
                0.95
                < node["figures"][f"{direction}_bytes_per_step"]["value"] / GRADIENT_BYTES
                < 1.1
            )
        assert node["figures"]["cpu_utilisation"]["value"] > 0
    wire = summary["figures"]["wire_bytes_per_step"]
    # a reading a second: the ends are interpolated
    assert 0.95 < wire["value"] / (2 * GRADIENT_BYTES) < 1.1
    assert wire["low"] < wire["value"] < wire["high"] and wire["high"] > 2 * GRADIENT_BYTES
    assert [rank["node"] for rank in summary["ranks"]] == ["node0", "node1"]
    assert all(
        rank["peak_rss_bytes"] > 5e7 and 0 < rank["busy_ratio"] < 2 for rank in summary["ranks"]
    )
    expect_readings_of_its_own_rank(bundle)
    assert measured.left == []
    suite.done(f"check {bundle.path}")


def test_an_exchange_takes_at_least_what_the_slower_link_needs(measured: Measured) -> None:
    """One of the two links is shaped to 100 Mbit/s, of which frames leave some 95 for bytes."""
    figures = measured.bundle.json(SUMMARY)["figures"]
    limit_s = figures["wire_limit_s"]["value"]
    assert 0.9 * SHAPED_BYTES_PER_S < GRADIENT_BYTES / limit_s < SHAPED_BYTES_PER_S
    assert figures["exchange_span_s"]["value"] > 0.95 * limit_s
    # a mean of quotients
    assert figures["wire_limit_share"]["value"] == pytest.approx(
        limit_s / figures["exchange_span_s"]["value"], rel=0.2
    )


def expect_readings_of_its_own_rank(bundle: Bundle) -> None:
    """On the second node, and on the first one's clock, which the hosts of this test share."""
    (peak,) = [
        rank["peak_rss_bytes"] for rank in bundle.json(SUMMARY)["ranks"] if rank["rank"] == 1
    ]
    log = bundle.log()
    _, second = node_readings(bundle, log, power_rules(bundle))
    uncertainty_ns = max(
        offset[1] for event in log.all("clock_offsets_ns") for offset in event.value
    )
    held = second.channels.get("memory", "largest_process_peak_rss").values.max()
    assert held == pytest.approx(peak, rel=0.2)
    assert abs(second.channels.head_ns - bundle.channels(1).head_ns).max() <= uncertainty_ns


def test_every_nodes_counters_count_the_ranks_there_from_their_start(measured: Measured) -> None:
    """The ranks wait until the counters are attached: the task clock has all the time that the
    kernel counts for the processes."""
    for place in range(2):
        channels = measured.bundle.channels(place)
        clocks = [channels.get("counters", name) for name in TASK_CLOCKS]
        clock, used = (
            next((each for each in clocks if len(each)), clocks[0]),
            channels.get("cpu", "process_tree"),
        )
        if not len(clock):
            pytest.skip("the kernel counts nothing here")
        last = used.select(used.t_ns <= clock.t_ns.max())
        counted_s = np.interp(last.t_ns[-1], clock.t_ns, clock.values) * 1e-9
        assert last.maximum > 2
        assert counted_s == pytest.approx(last.maximum, rel=0.1), place


def test_energy_and_baseload_are_summed_over_both_nodes_plugs(measured: Measured) -> None:
    bundle = measured.bundle
    figures = bundle.json(SUMMARY)["figures"]
    energy = figures["energy_j"]
    # a reading a second: the one after run_stop may be of idle nodes, and the end is interpolated
    of_last_second_j = (WORKING - 1) * 12.0
    assert energy["value"] == pytest.approx(
        WORKING * 12.0 * seconds(bundle), abs=of_last_second_j
    ), energy
    assert energy["method"] == "sum over 2 nodes"
    assert energy["sensor"] == {
        "instruments": ["shelly"],
        "rules": ["shelly"],
        "covers": "wall",
        "tier": "wall meter",
    }
    assert figures["baseload_power_w"]["value"] == pytest.approx(12.0), figures["baseload_power_w"]
    assert figures["baseload_share"]["value"] == pytest.approx(1 / WORKING, rel=0.01)
    idle_ns, run_ns = bundle.baseload(1).span_ns, bundle.channels(1).span_ns
    assert idle_ns is not None and run_ns is not None and idle_ns[1] < run_ns[0]


def test_one_node_without_a_plug_leaves_no_energy_and_is_named(
    trainer: Trainer, tmp_path: Path
) -> None:
    # a plug is read once a second: long enough for its readings to cover it
    trainer.cluster.shape(trainer.cluster.hosts[1], megabits_per_s=100)
    with plug_beside(trainer.cluster, trainer.cluster.hosts[0], 5.0, tmp_path):
        bundle = trainer.train("pytorch", tmp_path / "run", *LONG, "--baseload", 0)
    energy = bundle.json(SUMMARY)["figures"]["energy_j"]
    assert energy["value"] is None
    assert (
        energy["reason"]
        == "not every node has an energy (node1: no power sensor was read); measured on: node0"
    )


def test_a_node_whose_recorder_cannot_start_trains_all_the_same(
    trainer: Trainer, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("raise SystemExit('no recorder today')\n")
    second = trainer.cluster.hosts[1]
    trainer.cluster.replace(
        second,
        repository_root() / "suite" / "execution" / "node_recorder.py",
        tmp_path / "broken.py",
    )
    bundle = trainer.train("pytorch", tmp_path / "run", "--epochs", 3)
    assert bundle.json(NODES)["nodes"][1]["problem"] == "no recorder today"
    assert bundle.log().value("cache_clear") is None
    assert "node1: no recorder today" in bundle.json(SUMMARY)["figures"]["energy_j"]["reason"]


def test_a_recorder_that_is_killed_leaves_the_run_alone(trainer: Trainer, tmp_path: Path) -> None:
    trainer.cluster.shape(trainer.cluster.hosts[1], megabits_per_s=100)
    process = trainer.start("pytorch", tmp_path / "run", *SLOWED)
    table = tmp_path / "run" / "readings.node1.csv"
    try:
        while process.poll() is None and not (
            table.exists() and len(table.read_text().splitlines()) > 5
        ):
            time.sleep(0.1)
        assert process.poll() is None, process.communicate()
        for pid, words in trainer.cluster.processes(trainer.cluster.hosts[1]).items():
            if "suite.execution.node_recorder" in words and words.split()[0].endswith("python"):
                subprocess.run(["kill", "-KILL", str(pid)], check=False)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, said
    bundle = Bundle(tmp_path / "run")
    assert "a signal ended its recorder" in bundle.json(NODES)["nodes"][1]["problem"]
    assert len(bundle.channels(1)) > 0
