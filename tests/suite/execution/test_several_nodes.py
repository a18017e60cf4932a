"""Three nodes of two ranks each: which recorder is told, waited for and asked of which rank."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reference_impls.contract import Parallel
from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.execution import remote_recorder, remote_recorders
from suite.execution.remote_recorder import MAX_RESTARTS, RemoteRecorder
from suite.execution.remote_recorders import RemoteRecorders
from suite.execution.request import RunRequest
from suite.launch.placement import Placement
from tests.builders import Scenario, make_request


class Recorder:
    """Notes what it is told."""

    host, problem, lost = "pi", None, None

    def __init__(self, is_attached: bool, **facts: Any) -> None:
        self.facts, self.is_attached = facts, is_attached
        self.told: list[object] = []

    def tick(self, pid: int | None) -> None:
        self.told.append(pid)

    def send(self, message: str) -> None:
        self.told.append(message)

    def lacks(self, fact: str) -> bool:
        return not self.is_attached


@pytest.fixture
def nodes(tmp_path: Path) -> Any:
    training = make_request(tmp_path, Scenario(framework="fake"))._replace(
        parallel=Parallel(6, 3, "mpi", 2**22, True)
    )
    defined = load_workload("lenet"), load_device("generic"), "", load_framework("fake")
    placement = Placement(("pi1", "pi2", "pi3"), 2)
    made = RemoteRecorders(
        RunRequest("run", *defined, training, placement=placement), Path("python"), tmp_path
    )
    second = Recorder(False, machine="b", memory_kills=4, running={"31": True})
    made._recorders = {1: second, 2: Recorder(True, machine="c", memory_kills=5)}  # type: ignore[dict-item]
    return made


def test_a_nodes_recording_begins_when_all_its_ranks_have_started(nodes: Any) -> None:
    second, third = nodes._recorders.values()
    nodes.tick({0: 10, 1: 11, 2: 30, 4: 50})
    nodes.tick({5: 51, 4: 50, 3: 31, 2: 30})
    assert (second.told, third.told) == ([None, 30], [None, 50])
    assert nodes.attached_ranks() == (0, 1, 4, 5), "ranks 2 and 3 wait for the second node's meters"


def test_a_question_about_a_rank_goes_to_its_node(nodes: Any) -> None:
    assert [nodes.memory_kills(rank, 1) for rank in range(6)] == [1, 1, 4, 4, 5, 5]
    assert nodes.is_running(3, 31) is True
    assert nodes.is_running(3, 32) is None
    assert nodes._recorders[1].told == ["running 31", "running 32"]
    assert nodes._recorders[2].told == []
    nodes._recorders[2].facts, nodes._recorders[2].problem = {}, "no route to host"
    nodes._recorders[1].problem = "lost later"
    assert nodes.first_unreached() == ("pi", "no route to host")
    assert nodes.memory_kills(4, 1) is None


def test_nodes_are_labelled_as_rank_0_labels_them_and_addresses_alike(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second and third host changed places, and two are behind one address."""
    monkeypatch.setattr(remote_recorders, "machine_identity", lambda: "a")
    monkeypatch.setattr(remote_recorders, "link_towards", lambda host: {"address": "10.0.0.1"})
    nodes._cache = remote_recorders.prepare_page_cache(Path("/nowhere"), "warm")
    for place, address in ((1, "10.0.0.9"), (2, "10.0.0.1")):
        nodes._recorders[place].facts["link"] = {"address": address}
    nodes._recorders[2].lost = "signal 9"
    found = nodes.records({4: "b", 0: "a", 2: "c", 5: "b", 3: "c", 1: "a"})
    assert [each.host for each in found] == ["node0", "node1", "node2"]
    assert [each.node for each in found] == ["node0", "node2", "node1"]
    assert [each.ranks for each in found] == [(0, 1), (2, 3), (4, 5)]
    assert [each.link["address"] for each in found] == ["address0", "address1", "address0"]
    assert [each.problem for each in found[:2]] == [None, None]
    assert "was lost during the run (signal 9) and started again" in found[2].problem


def recorder(facts: dict[str, Any]) -> Any:
    """A recorder without a connection."""
    made = RemoteRecorder.__new__(RemoteRecorder)
    made.facts, made.problem, made._restarts, made.output = facts, None, 0, 0
    return made


def test_the_clocks_offset_is_that_of_the_shortest_round_trip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of five, sent at and answered at this node's, when the other's clock was at the third."""
    trips = [(0, 100, 1950), (200, 240, 1230), (300, 310, 1307), (400, 500, 1990), (600, 620, 1601)]
    replies = iter(trips)
    clock = iter([at for began, ended, _ in trips for at in (began, ended)])
    made = recorder({"clock": 5})
    made.send = lambda word: made.facts.update(clock=next(replies)[2])
    time = SimpleNamespace(monotonic_ns=lambda: next(clock), monotonic=lambda: 0.0)
    monkeypatch.setattr(remote_recorder, "time", time)
    assert made.clock_offset_ns() == 1307 - 305


def test_a_recorder_is_replaced_while_it_records_and_not_for_ever() -> None:
    for facts in ({}, {"attached": True, "meters": []}):
        assert not recorder(facts).restart()
    made, connected = recorder({"attached": True}), list[bool]()
    made._connect = lambda goes_on: connected.append(goes_on)
    for number in range(MAX_RESTARTS + 1):
        made.problem = f"loss {number}"
        assert made.restart() is (number < MAX_RESTARTS)
    assert (connected, made.lost) == ([True] * MAX_RESTARTS, f"loss {MAX_RESTARTS - 1}")
