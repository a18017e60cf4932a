"""Remote recorders, started on this machine by an agent in SSH's place: readings, lost connections,
and exit without a harness."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from reference_impls.contract import Parallel
from suite.bundle.channels import Channels
from suite.bundle.reader import Bundle
from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.execution import node_recorder
from suite.execution.remote_recorder import wait_for
from suite.execution.remote_recorders import RemoteRecorders
from suite.execution.request import ALONE, PageCache, RunRequest
from suite.experiments.linpack_power import PowerRecording
from suite.files.paths import repository_root
from suite.launch.placement import Placement
from suite.launch.remote_shell import allow_open_files
from suite.machine.page_cache import prepare_page_cache
from tests.builders import Scenario, make_request

HERE, ELSEWHERE = "127.0.0.1", "192.0.2.7"  # RFC 5737: nobody's address
AS_SSH = 'shift; exec sh -c "$1"'


@pytest.fixture
def request_of(tmp_path: Path) -> Callable[..., RunRequest]:
    """Makes a run on two hosts, which are both this machine; ``script`` is the launch agent's."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "train-images-idx3-ubyte").write_bytes(os.urandom(2**16))
    (data / "archive.tar").write_bytes(os.urandom(2**16))

    def make(
        script: str = AS_SSH,
        hosts: tuple[str, ...] = (HERE, ELSEWHERE),
        page_cache: PageCache = PageCache.WARM,
    ) -> RunRequest:
        agent = tmp_path / "agent"
        agent.write_text(f"#!/bin/sh\n{script}\n")
        agent.chmod(0o755)
        training = make_request(tmp_path, Scenario(framework="fake"))
        training = training._replace(
            data=training.data._replace(directory=str(data)),
            parallel=Parallel(len(hosts), len(hosts), "mpi", 2**22, True),
        )
        placement = Placement(hosts, 1, str(agent))
        device = load_device("generic")
        return RunRequest(
            "run",
            load_workload("lenet"),
            device,
            "",
            load_framework("fake"),
            training,
            page_cache,
            placement,
        )

    return make


@pytest.fixture
def nodes(request_of: Callable[..., RunRequest], tmp_path: Path) -> Iterator[RemoteRecorders]:
    """The remote recorders of such a run."""
    with RemoteRecorders(request_of(), Path("/no/such/interpreter"), tmp_path) as recorders:
        yield recorders


def tick_until(
    recorders: RemoteRecorders, pids: dict[int, int], until: Callable[[], object]
) -> None:
    """Tick until the condition holds, at most ten seconds."""
    deadline_s = time.monotonic() + 120
    while not until():
        assert time.monotonic() < deadline_s
        recorders.tick(pids)
        time.sleep(0.01)


def test_a_remote_nodes_readings_and_description_are_in_the_bundle(
    nodes: RemoteRecorders, tmp_path: Path
) -> None:
    # warm, so that no test empties the page cache of the whole machine
    assert nodes.prepare() == [False, False]
    table = tmp_path / "readings.node1.csv"
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    assert nodes.attached_ranks() == (0,)
    tick_until(nodes, {0: 1, 1: process.pid}, lambda: nodes.attached_ranks() == (0, 1))
    tick_until(
        nodes,
        {0: 1, 1: process.pid},
        lambda: table.exists() and "largest_process_peak_rss" in table.read_text(),
    )
    nodes.stop()
    process.communicate()
    first, second = nodes.records({})
    assert (first.host, first.ranks, first.problem, first.meters) == ("node0", (0,), None, ())
    assert (second.host, second.ranks, second.problem) == ("node1", (1,), None)
    assert (first.node, second.node) == ("node0", "node0")  # both are this machine
    for cache in (first.page_cache, second.page_cache):
        assert cache is not None and cache["resident_bytes"] == 2**16, "without the archive"
    assert (
        second.system is not None
        and second.system["kernel"] == os.uname().release
        and "framework" not in second.system
    )
    readings = Bundle(tmp_path).channels(1)
    assert {"cpu", "memory"} <= {channel.source for channel in readings}
    counted = {meter["name"]: meter["readings"] for meter in second.meters}
    assert counted["recorder"] == len(readings)


def test_a_run_on_this_machine_alone_has_no_remote_recorder(
    request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    with RemoteRecorders(
        request_of("exit 9", (HERE,)), Path(sys.executable), tmp_path
    ) as recorders:
        assert (recorders.prepare(), recorders.records({})) == ([False], ())
    alone = replace(request_of(), placement=ALONE)
    with RemoteRecorders(alone, Path(sys.executable), tmp_path) as recorders:
        assert (recorders.prepare(), recorders.records({})) == ([False], ())


def test_a_machine_with_two_names_is_not_measured_twice(
    request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    with RemoteRecorders(
        request_of(hosts=(HERE, "127.0.0.2")), Path(sys.executable), tmp_path
    ) as recorders:
        assert recorders.prepare() == [None, False]
        assert "under another name" in str(recorders.records({})[1].problem)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'ssh: Connection refused' >&2; exit 255", "ssh: Connection refused"),
        ("exit 71", "no suite in"),
        ("echo 'ls: cannot access …: Permission denied' >&2; exit 71", "Permission denied"),
        ("exit 72", "no interpreter"),
        ("exit 3", "exit code 3"),
        ("exit 255", "a signal ended its recorder, or the SSH connection was lost"),
        (
            (
                'shift; exec sh -c "PYTHONPATH=/nowhere; cd /; exec /usr/bin/env python3 -m'
                ' no_such_module"'
            ),
            "no_such_module",
        ),
    ],
)
def test_a_node_that_cannot_be_measured_is_recorded_with_the_reason(
    script: str, words: str, request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    with RemoteRecorders(request_of(script), Path(sys.executable), tmp_path) as recorders:
        assert recorders.prepare() == [None, False]
        assert recorders.attached_ranks() == (0, 1)
        recorders.tick({1: 1})
        recorders.tick({1: 1})
        (notice,) = recorders.take_notices()
        assert notice.startswith("192.0.2.7 is not measured from now on (") and words in notice
        recorders.stop()
        assert words in str(recorders.records({})[1].problem)
    assert not (tmp_path / "readings.node1.csv").exists()


def test_the_number_of_a_recorder_that_ended_is_nobodys_to_be_killed(
    request_of: Callable[..., RunRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours later it may be another process's."""
    killed: list[object] = []
    with RemoteRecorders(request_of("exit 3"), Path(sys.executable), tmp_path) as recorders:
        recorders.prepare()
        monkeypatch.setattr(os, "killpg", lambda *whom: killed.append(whom))
    assert killed == []


def values_of(channels: Channels) -> list[float]:
    return [float(value) for channel in channels for value in channel.values]


def test_readings_before_the_page_cache_is_ready_are_the_baseload(
    request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    output = r"""
echo '{"machine": "pi2", "link": null, "system": {}}'
printf 't_ns,source,channel,value,unit\n12,shelly,power,2.0,W\n'
echo '{"page_cache": {"is_cold": true}}'
printf 't_ns,source,channel,value,unit\n13,shelly,power,5.0,W\n'
"""
    with RemoteRecorders(request_of(output), Path(sys.executable), tmp_path) as recorders:
        assert recorders.prepare() == [True, False]
        tick_until(recorders, {}, lambda: recorders.records({})[1].problem)
    assert values_of(Bundle(tmp_path).baseload(1)) == [2.0]
    assert values_of(Bundle(tmp_path).channels(1)) == [5.0]


def test_lines_that_are_no_readings_are_ignored(
    request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    output = r"""
echo '{"machine": "pi2", "link": null, "system": {}}'
echo '{"page_cache": {"is_cold": true}}'
echo Welcome to Raspberry Pi OS
printf 't_ns,source,channel,value,unit\n12,cpu,utilisation.total,5.0,%%\n13,cpu,utilisation.total,\n14,cpu,utili'
"""  # noqa: E501
    with RemoteRecorders(request_of(output), Path(sys.executable), tmp_path) as recorders:
        assert recorders.prepare() == [True, False]
        tick_until(recorders, {}, lambda: recorders.records({})[1].problem)
    assert [int(t_ns) for channel in Bundle(tmp_path).channels(1) for t_ns in channel.t_ns] == [12]


def test_a_lost_recorders_readings_are_kept_and_the_loss_is_recorded(
    nodes: RemoteRecorders, tmp_path: Path
) -> None:
    nodes.prepare()
    table = tmp_path / "readings.node1.csv"
    tick_until(
        nodes, {1: os.getpid()}, lambda: table.exists() and len(table.read_text().splitlines()) > 3
    )
    for recorder in nodes._recorders.values():
        recorder._process.kill()
    tick_until(nodes, {}, lambda: nodes.records({})[1].problem)
    assert "the SSH session was ended by signal 9 (SIGKILL)" in str(nodes.records({})[1].problem)
    assert len(Bundle(tmp_path).channels(1)) > 2


def test_a_recorder_that_is_lost_while_it_records_is_started_again(
    nodes: RemoteRecorders, tmp_path: Path
) -> None:
    nodes.prepare()
    table, pids = tmp_path / "readings.node1.csv", {0: 1, 1: os.getpid()}
    tick_until(
        nodes,
        pids,
        lambda: (
            nodes.attached_ranks() == (0, 1)
            and table.exists()
            and len(table.read_text().splitlines()) > 3
        ),
    )
    (recorder,) = nodes._recorders.values()
    recorder._process.kill()
    tick_until(nodes, pids, lambda: recorder.lost)
    before = len(table.read_text().splitlines())
    (notice,) = nodes.take_notices()
    assert (
        "192.0.2.7 was lost (the SSH session was ended by signal 9 (SIGKILL)); it was started again"
        in notice
    )
    assert nodes.take_notices() == []
    tick_until(nodes, pids, lambda: len(table.read_text().splitlines()) > before + 3)
    tick_until(nodes, pids, lambda: nodes.is_running(1, os.getpid()))
    nodes.stop()
    record = nodes.records({})[1]
    assert (
        "was lost during the run (the SSH session was ended by signal 9 (SIGKILL)) and started"
        " again" in str(record.problem)
    )
    assert record.node == "node0" and record.meters
    assert table.read_text().count("t_ns") == 1


def test_a_recorder_whose_harness_is_gone_exits_and_leaves_no_file(tmp_path: Path) -> None:
    settings = (
        f'{{"data": "{tmp_path}", "files": [], "page_cache": "warm", "device": "generic",'
        ' "with_identity": false, "left_out": [], "peer": null, "baseload_s": 0, "goes_on": false,'
        ' "silence_s": 10}'
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "suite.execution.node_recorder", settings],
        cwd=repository_root(),
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"record {os.getpid()}\n".encode())
    process.stdin.flush()
    while not process.stdout.readline().startswith(b"t_ns"):
        assert process.poll() is None
    process.stdin.close()
    assert process.wait(120) == 1
    assert not list(temporary.iterdir())


def test_a_warm_page_cache_holds_the_whole_data_set(tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(os.urandom(2**16))
    state = prepare_page_cache(tmp_path, "warm")
    assert (state.asked, state.is_cold, state.how, state.size_bytes, state.resident_bytes) == (
        "warm",
        False,
        "read",
        2**16,
        2**16,
    )


def test_a_recorder_of_many_is_waited_for(tmp_path: Path) -> None:
    """Of 256 hosts some have descriptors above 1023, which select(2) refuses."""
    allow_open_files(256)
    with (tmp_path / "output").open("w+") as output:
        far = fcntl.fcntl(output, fcntl.F_DUPFD, 1500)
        try:
            recorder = SimpleNamespace(output=far, facts=set[str]())
            recorder.lacks = lambda key: key not in recorder.facts
            wait_for("meters", [recorder], 10, "late", lambda: recorder.facts.add("meters"))  # type: ignore[list-item]
        finally:
            os.close(far)


def test_a_harness_may_be_silent_for_long_until_it_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """It prepares its own node meanwhile, or waits for a witness that does not answer."""
    now_s, sent = 0.0, [b"record 7\n"]

    def select(*_: object) -> tuple[list[int], list[int], list[int]]:
        nonlocal now_s
        if now_s == 600 and sent:
            return [0], [], []
        now_s += 1
        return [], [], []

    monkeypatch.setattr(node_recorder, "select", SimpleNamespace(select=select))
    monkeypatch.setattr(node_recorder, "time", SimpleNamespace(monotonic=lambda: now_s))
    monkeypatch.setattr(node_recorder, "os", SimpleNamespace(read=lambda *_: sent.pop()))
    received = list(node_recorder._messages(silence_s=10))
    assert received == [*[[]] * 600, ["record", "7"], *[[]] * 10]


def test_linpacks_power_is_recorded_on_the_other_nodes_too(tmp_path: Path) -> None:
    """This machine in their place reads no power meter."""
    agent = tmp_path / "agent"
    agent.write_text(f"#!/bin/sh\n{AS_SSH}\n")
    agent.chmod(0o755)
    power = PowerRecording(tmp_path, Placement((HERE, ELSEWHERE), 1, str(agent)))
    with power.recording(os.getpid()):
        power.tick()
    assert power._problems == {}
