"""Who measures whose link within a run; the measuring itself is tested on hosts
(tests/hosts/test_measured_nodes.py)."""

import pytest

from reference_impls import links
from reference_impls.communication import World
from reference_impls.links import Carried, goodputs, rounds


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 64, 65])
def test_every_node_sends_once_and_nobody_is_in_two_pairs_at_a_time(nodes: int) -> None:
    leaders = [2 * node for node in range(nodes)]
    plan = rounds(leaders)
    assert len(plan) == 2 + nodes % 2
    assert sorted(sender for pairs in plan for sender, _ in pairs) == leaders
    for pairs in plan:
        busy = [rank for pair in pairs for rank in pair]
        assert len(busy) == len(set(busy))


def test_one_node_has_no_links_to_measure() -> None:
    assert goodputs(World()) == []


def test_the_bandwidth_of_a_gigabit_link_is_a_thousand_megabits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(links, "_trip_s", lambda *_: 2e-4)
    monkeypatch.setattr(links, "carried", lambda *_: Carried(125_000_000, 1.0))
    measured = links._measure(World(), 1, 8)
    assert (measured["round_trip_s"], measured["bandwidth_mbit_s"]) == (2e-4, 1000.0)
