"""What makes a cluster unfit, judged on made-up answers; tests/hosts asks real ones."""

from dataclasses import replace

import pytest

from suite.cluster.links import LinkMeasure, LinkMeasures
from suite.cluster.node_answers import Link, NodeAnswer, NodeFacts
from suite.cluster.problems import (
    WITHOUT_TRAINING,
    ClusterProblem,
    ExpectedNode,
    about_hosts,
    judge_cluster,
)

EXPECTED = ExpectedNode("0.1.0", "a" * 64, "c" * 40, {"numpy": "2.1.0", "torch": "2.13.0"})
WIRED = Link("eth0", "10.0.0.1", "wired", 1000, None)
FACTS = NodeFacts(
    "pi",
    "3.11.2",
    "0.1.0",
    "a" * 64,
    "c" * 40,
    dict(EXPECTED.packages),
    {"/data/mnist": "d" * 64},
    WIRED,
)
MEASURE = LinkMeasure(1, "pi2", 2e-4, 940.0, 2**24, 10**12, 10**6, 10**5)


def answers(*facts: NodeFacts) -> tuple[NodeAnswer, ...]:
    return tuple(
        NodeAnswer(f"pi{number}", True, each) for number, each in enumerate(facts, start=1)
    )


def links(*measures: LinkMeasure, problem: str | None = None) -> LinkMeasures:
    return LinkMeasures(
        tuple(
            replace(measure, rank=rank, node=f"pi{rank + 1}")
            for rank, measure in enumerate(measures, start=1)
        ),
        problem,
    )


def problem(asked: tuple[NodeAnswer, ...], measured: LinkMeasures | None) -> ClusterProblem:
    """The only problem there is."""
    (only,) = judge_cluster(asked, measured, EXPECTED)
    return only


def test_equal_nodes_on_good_links_are_fit() -> None:
    assert judge_cluster(answers(FACTS, FACTS, FACTS), links(MEASURE, MEASURE), EXPECTED) == ()


def test_a_host_that_does_not_answer_is_named_with_what_to_do() -> None:
    silent = NodeAnswer(
        "pi2", False, None, "pi2 cannot be reached: Connection refused", "see that it is on"
    )
    found = problem((*answers(FACTS), silent), None)
    assert (found.node, found.point, found.remedy) == ("pi2", "reach", "see that it is on")


@pytest.mark.parametrize(
    ("change", "point", "words"),
    [
        ({"version": "0.0.9"}, "suite", "version 0.0.9"),
        ({"source_sha256": "b" * 64}, "suite", "other sources"),
        (
            {"packages": {"numpy": "1.26.4", "torch": "2.13.0"}},
            "packages",
            "numpy 1.26.4 for 2.1.0",
        ),
        ({"packages": {"numpy": "2.1.0"}}, "packages", "torch missing"),
        (
            {"python": "3.12.1", "packages": {}},
            "python",
            "Python 3.12.1 in the environment, and pi1 Python 3.11.2",
        ),
        ({"data": {"/data/mnist": None}}, "data", "no data in /data/mnist"),
        ({"data": {"/data/mnist": "e" * 64}}, "data", "other data"),
        ({"link": replace(WIRED, kind="wireless", speed_mbit_s=None)}, "link", "wireless"),
    ],
)
def test_a_node_that_differs_is_named(change: dict[str, object], point: str, words: str) -> None:
    found = problem(answers(FACTS, replace(FACTS, **change), FACTS), links(MEASURE, MEASURE))  # type: ignore[arg-type]
    assert (found.node, found.point) == ("pi2", point)
    assert words in found.sentence
    assert found.remedy


UNREACHED = replace(FACTS, unreached={"pi3": "no answer within 5 s"})


def test_a_firewall_between_two_others_is_named_and_the_later_one_is_not_measured() -> None:
    found = problem(answers(FACTS, UNREACHED, FACTS), links(MEASURE))
    assert (found.node, found.point) == ("pi2", "connect")
    assert "pi2 cannot connect to pi3 (no answer within 5 s)" in found.sentence
    assert "firewall of pi3" in found.remedy


def test_a_host_that_nobody_can_connect_to_is_one_problem() -> None:
    found = problem(answers(UNREACHED, UNREACHED, FACTS), links(MEASURE))
    assert (found.node, found.point) == ("pi3", "connect")
    assert found.sentence.startswith("pi1, pi2 cannot connect to pi3 (no answer within 5 s)")


def test_names_of_one_address_are_found_before_any_host_is_asked() -> None:
    (found,) = about_hosts(["127.0.0.1", "localhost"])
    assert (found.node, found.point) == ("localhost", "machine")
    assert found.sentence == "127.0.0.1 and localhost have the same address here, 127.0.0.1"


def test_packages_that_an_old_python_cannot_list_are_no_problem() -> None:
    assert (
        judge_cluster(answers(FACTS, replace(FACTS, packages=None)), links(MEASURE), EXPECTED) == ()
    )


@pytest.mark.parametrize(("offset_s", "course"), [(60, "60 s ahead of"), (-3600, "3600 s behind")])
def test_a_wrong_clock_is_one_problem_that_refuses_no_run(offset_s: int, course: str) -> None:
    found = problem(answers(FACTS, FACTS), links(replace(MEASURE, wall_offset_ns=offset_s * 10**9)))
    assert (found.node, found.point) == ("pi2", "clock")
    assert (
        f"The clock of pi2 is {course} pi1's" in found.sentence
        and found.point not in WITHOUT_TRAINING
    )


def test_a_monotonic_clock_counts_from_boot_and_may_differ() -> None:
    assert (
        judge_cluster(
            answers(FACTS, FACTS), links(replace(MEASURE, monotonic_offset_ns=10**15)), EXPECTED
        )
        == ()
    )


def test_a_link_below_half_of_its_interfaces_speed_is_a_problem() -> None:
    found = problem(answers(FACTS, FACTS), links(replace(MEASURE, bandwidth_mbit_s=94.0)))
    assert "94 Mbit/s of the 1000 Mbit/s" in found.sentence


def test_a_slower_interface_at_one_end_explains_its_link() -> None:
    slow = replace(FACTS, link=replace(WIRED, speed_mbit_s=300))
    assert (
        judge_cluster(
            answers(FACTS, slow), links(replace(MEASURE, bandwidth_mbit_s=280.0)), EXPECTED
        )
        == ()
    )


def test_the_speed_that_a_virtual_interface_reports_is_ignored() -> None:
    virtual = replace(FACTS, link=Link("eth0", "10.0.0.1", "virtual", 10000, None))
    assert judge_cluster(answers(virtual, virtual), links(MEASURE), EXPECTED) == ()


def test_a_link_much_slower_than_the_others_is_a_problem() -> None:
    unknown = replace(
        FACTS, link=Link("eth0", "10.0.0.1", "virtual", None, "its driver reports no speed")
    )
    found = problem(
        answers(unknown, unknown, unknown), links(MEASURE, replace(MEASURE, bandwidth_mbit_s=90.0))
    )
    assert (found.node, found.point) == ("pi3", "link")


def test_a_link_that_mpi_cannot_use_is_named_by_how_far_it_came() -> None:
    found = problem(answers(FACTS, FACTS, FACTS), links(MEASURE, problem="no output within 60 s"))
    assert (found.node, found.point) == ("pi3", "mpi")
