"""Torchrun's variables for the ranks of a framework's own all-reduce."""

import re
from typing import Any

import pytest

from reference_impls.communication import World
from reference_impls.node import Route, route_to
from reference_impls.rank import ADDRESS_VARIABLE
from reference_impls.rendezvous import INTERFACE_VARIABLES, own_endpoint, torchrun_variables


class Job(World):
    """One rank of a job; every rank's broadcasts are its own values, as on rank 0."""

    def __init__(self, rank: int, nodes: list[str]) -> None:
        self.rank, self.size, self._nodes = rank, len(nodes), nodes

    @property
    def node(self) -> str:
        return self._nodes[self.rank]

    @property
    def nodes(self) -> list[str]:
        return self._nodes


@pytest.fixture(autouse=True)
def _no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in INTERFACE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1:4711")


def test_ranks_are_numbered_within_the_job_and_within_their_node() -> None:
    nodes = ["pi1", "pi1", "pi2", "pi2"]
    found = [torchrun_variables(Job(rank, nodes)) for rank in range(4)]
    assert [(each["RANK"], each["LOCAL_RANK"]) for each in found] == [
        ("0", "0"),
        ("1", "1"),
        ("2", "0"),
        ("3", "1"),
    ]
    assert {(each["WORLD_SIZE"], each["LOCAL_WORLD_SIZE"]) for each in found} == {("4", "2")}


def test_the_ranks_meet_at_the_address_that_the_harness_has_and_at_a_free_port() -> None:
    found = torchrun_variables(Job(0, ["pi1", "pi2"]))
    assert found["MASTER_ADDR"] == "127.0.0.1"
    assert 1024 <= int(found["MASTER_PORT"]) < 65536


def test_libraries_use_the_interface_that_leads_there_unless_the_user_chose_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth7")
    found = torchrun_variables(Job(0, ["pi1", "pi2"]))
    assert (found["GLOO_SOCKET_IFNAME"], found["NCCL_SOCKET_IFNAME"]) == ("eth7", "lo")


def test_an_endpoint_is_an_address_on_the_ranks_network() -> None:
    assert re.fullmatch(r"127\.0\.0\.1:\d+", own_endpoint(Job(0, ["pi1", "pi2"])))


@pytest.mark.parametrize(
    "route",
    [Route(None, None, "no route"), Route(None, "127.0.1.1", "no interface has this address")],
)
def test_without_a_known_route_a_rank_gives_its_host_name(
    route: Route, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address such as 127.0.1.1, which Debian gives the own name, would mean another host
    elsewhere."""
    monkeypatch.delenv(ADDRESS_VARIABLE)
    monkeypatch.setattr("reference_impls.rendezvous.route_to", lambda host: route)
    found: dict[str, Any] = torchrun_variables(Job(0, ["pi1", "pi2"]))
    assert found["MASTER_ADDR"] == "pi1" and not set(INTERFACE_VARIABLES) & set(found)
    assert own_endpoint(Job(0, ["pi1", "pi2"])).startswith("pi1:")


def test_the_route_to_this_machine_is_its_loopback() -> None:
    assert route_to("127.0.0.1") == Route("lo", "127.0.0.1", None)
