"""What makes a cluster unfit, judged on made-up answers; tests/hosts asks real ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from suite.cluster import doctor
from suite.cluster.doctor import _refuse, _refuse_without_mpi
from suite.cluster.links import LinkMeasure, LinkMeasures
from suite.cluster.node_answers import Link, NodeAnswer, NodeFacts, fit_hosts
from suite.cluster.problems import (
    WITHOUT_TRAINING,
    ClusterProblem,
    ExpectedNode,
    about_hosts,
    judge_cluster,
)
from suite.errors import SuiteError
from suite.launch.environments import Environment
from suite.launch.placement import Placement
from tests.interpreters import make_interpreter
from tests.kept_outputs import in_short, kept

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
        ({"source_sha256": "b" * 64}, "suite", "differ from this machine"),
        (
            {"packages": {"numpy": "1.26.4", "torch": "2.13.0"}},
            "packages",
            "numpy 1.26.4 (here 2.1.0)",
        ),
        ({"packages": {"numpy": "2.1.0"}}, "packages", "torch missing"),
        (
            {"python": "3.12.1", "packages": {}},
            "python",
            "Python 3.12.1 in the environment, and pi1 has Python 3.11.2",
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


def test_a_hostfile_begins_with_this_machine_and_names_no_machine_twice() -> None:
    (found,) = about_hosts(["192.0.2.1", "192.0.2.2", "127.0.0.1"])
    assert (found.node, found.point) == ("192.0.2.1", "first")
    twice = [replace(FACTS, machine=machine) for machine in ("a", "b", "a", None, None, "b")]
    found_twice = judge_cluster(answers(*twice), None, EXPECTED)
    assert [(each.node, each.sentence) for each in found_twice] == [
        ("pi3", "pi3 and pi1 are one machine"),
        ("pi6", "pi6 and pi2 are one machine"),
    ]


@pytest.mark.parametrize(
    ("digests", "named"),
    [("xyy", ["pi1"]), ("xyyz", ["pi1", "pi4"]), ("xy", ["pi2"]), ("yxxy", ["pi2", "pi3"])],
)
def test_the_usual_data_are_those_of_most_nodes_else_of_the_first(
    digests: str, named: list[str]
) -> None:
    nodes = [replace(FACTS, data={"/data/mnist": digest * 64}) for digest in digests]
    found = judge_cluster(answers(*nodes), None, EXPECTED)
    assert [each.node for each in found] == named and {each.point for each in found} == {"data"}
    ends = (
        "/data/mnist/ {0}:/data/mnist/" if "pi1" not in named else "{1}:/data/mnist/ /data/mnist/"
    )
    ends = ends.format(found[0].node, "pi2")
    assert found[0].remedy == f"put the same data there: rsync -a --delete {ends}"


def test_files_and_packages_that_differ_are_named_the_first_three() -> None:
    names = dict.fromkeys("ebdca", "1")
    here, more = (
        replace(FACTS, package_files={**names, "same": "2", **extra}) for extra in ({}, {"y": "3"})
    )
    other = replace(more, package_files={"same": "2", "a": "2"})
    found = problem(answers(here, more, other), None)
    assert found.sentence.endswith("in the packages a, b, c and 2 more") and found.node == "pi3"
    sources = {"b.py": "1", "a.py": "1", "c.py": "1"}
    expected = replace(EXPECTED, sources={**sources, "d.py": "1"})
    changed = replace(FACTS, source_sha256="b" * 64, sources={**sources, "a.py": "2"})
    (found,) = judge_cluster(answers(FACTS, changed), None, expected)
    assert found.sentence.endswith(": a.py, d.py")


def test_of_hosts_that_cannot_connect_to_each_other_the_later_one_is_left_out() -> None:
    """Whichever of the two noticed."""
    cannot = [replace(FACTS, unreached=dict.fromkeys(names, "why")) for names in ((), (), ("pi1",))]
    asked = answers(FACTS, replace(FACTS, unreached={"pi4": "why"}), *cannot[2:], FACTS, FACTS)
    assert fit_hosts(asked) == ("pi1", "pi2", "pi5")
    assert fit_hosts((NodeAnswer("pi0", False, None), *asked[3:])) == ("pi4", "pi5")


def test_a_run_is_refused_by_its_first_fatal_problem_and_names_the_other_nodes() -> None:
    problems = [
        ClusterProblem(f"pi{node}", point, f"pi{node} {point}", "repair it")
        for node, point in ((5, "clock"), (2, "suite"), (3, "mpi"), (2, "mpi"), (4, "link"))
    ]
    _refuse((problems[0], problems[4]))
    said = r"pi2 suite; repair it\. Other nodes have problems, too: pi3; `suite cluster doctor`"
    with pytest.raises(SuiteError, match=said):
        _refuse(tuple(problems))
    with pytest.raises(SuiteError, match=r"pi2 mpi; repair it\.$"):
        _refuse((problems[3],))


@pytest.mark.parametrize("packages", [{}, {"torch": "2.5.0"}], ids=["without pip", "listed"])
def test_an_interpreter_without_mpi4py_is_not_to_be_replaced(packages: dict[str, str]) -> None:
    """It was adopted: the packages of an environment that pip makes include mpi4py."""
    adopted = Environment("pytorch", Path("/bin/false"), packages)
    with pytest.raises(SuiteError) as refused:
        _refuse_without_mpi(adopted, "pytorch")
    assert str(refused.value) == (
        "Several ranks need mpi4py, which pytorch's /bin/false lacks; install it there, or choose"
        " an interpreter that has it (`suite list frameworks` names some): `suite env create"
        " pytorch --interpreter PYTHON`."
    )


def test_packages_are_compared_with_those_that_are_here_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were upgraded on every node since the interpreter was adopted."""
    python = make_interpreter(tmp_path / "python", torch="2.6.0")
    asked = answers(replace(FACTS, packages={"torch": "2.6.0"}))
    monkeypatch.setattr(doctor, "ask_nodes", lambda *_: asked)
    adopted = Environment("pytorch", python, {"torch": "2.5.0"})
    found = doctor.examine_cluster(Placement(("localhost",)), adopted, ())
    assert "packages" not in {each.point for each in found.problems}


def test_packages_that_an_old_python_cannot_list_are_no_problem() -> None:
    assert (
        judge_cluster(answers(FACTS, replace(FACTS, packages=None)), links(MEASURE), EXPECTED) == ()
    )


@pytest.mark.parametrize(
    ("offset_ms", "course"),
    [(60_000, "60 s ahead of"), (-3_600_000, "3600 s behind"), (-1_001, "1 s behind")],
)
def test_a_wrong_clock_is_one_problem_that_refuses_no_run(offset_ms: int, course: str) -> None:
    right = links(replace(MEASURE, wall_offset_ns=10**9), replace(MEASURE, wall_offset_ns=-(10**9)))
    assert judge_cluster(answers(FACTS, FACTS, FACTS), right, EXPECTED) == ()
    wrong = links(replace(MEASURE, wall_offset_ns=offset_ms * 10**6))
    found = problem(answers(FACTS, FACTS), wrong)
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
    half = links(replace(MEASURE, bandwidth_mbit_s=500.0))
    assert judge_cluster(answers(FACTS, FACTS), half, EXPECTED) == ()
    found = problem(answers(FACTS, FACTS), links(replace(MEASURE, bandwidth_mbit_s=94.0)))
    assert "94 Mbit/s of the 1000 Mbit/s" in found.sentence


def test_a_slower_interface_at_one_end_explains_its_link() -> None:
    slow = replace(FACTS, link=replace(WIRED, speed_mbit_s=300))
    explained = links(replace(MEASURE, bandwidth_mbit_s=280.0))
    for ends in ((FACTS, slow), (slow, FACTS)):
        assert judge_cluster(answers(*ends), explained, EXPECTED) == ()


def test_the_speed_that_a_virtual_interface_reports_is_ignored() -> None:
    virtual = replace(FACTS, link=Link("eth0", "10.0.0.1", "virtual", 10000, None))
    assert judge_cluster(answers(virtual, virtual), links(MEASURE), EXPECTED) == ()


def test_a_link_much_slower_than_the_others_is_a_problem() -> None:
    unknown = replace(
        FACTS, link=Link("eth0", "10.0.0.1", "virtual", None, "its driver reports no speed")
    )
    quarter = links(MEASURE, replace(MEASURE, bandwidth_mbit_s=235.0))
    assert judge_cluster(answers(unknown, unknown, unknown), quarter, EXPECTED) == ()
    found = problem(
        answers(unknown, unknown, unknown), links(MEASURE, replace(MEASURE, bandwidth_mbit_s=90.0))
    )
    assert (found.node, found.point) == ("pi3", "link")


def test_a_link_that_mpi_cannot_use_is_named_by_how_far_it_came() -> None:
    found = problem(answers(FACTS, FACTS, FACTS), links(MEASURE, problem="no output within 60 s"))
    assert (found.node, found.point) == ("pi3", "mpi")


def test_all_that_is_wrong_with_a_cluster() -> None:
    """Every node with faults of its own: hosts that are silent, other packages and data, slow and
    unequal links, clocks that are wrong."""
    asked = answers(
        FACTS,
        replace(FACTS, version="0.0.9", packages={"numpy": "1.26.4"}, source_sha256="b" * 64),
        replace(FACTS, data={"/data/mnist": None}, link=replace(WIRED, kind="wireless")),
        replace(UNREACHED, python="3.12.1", packages={}, data={"/data/mnist": "e" * 64}),
        replace(FACTS, link=replace(WIRED, speed_mbit_s=100)),
    )
    silent = NodeAnswer("pi<9>", False, None, "pi<9> cannot be reached & more", "see that it is on")
    rates = (94.0, 501.0, 49.0)
    measured = links(*(replace(MEASURE, bandwidth_mbit_s=rate) for rate in rates))
    found = [
        [each.node, each.point, in_short(each.sentence), in_short(each.remedy)]
        for each in judge_cluster((*asked, silent), measured, EXPECTED)
    ]
    kept("cluster-problems", found)
