"""Checks a cluster: asks its nodes, measures its links, and reports what suite.cluster.problems
finds."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from reference_impls import node as this_node
from suite.cluster.links import LinkMeasures, measure_links
from suite.cluster.node_answers import NodeAnswer, NodeQuestion, ask_nodes, fit_hosts
from suite.cluster.problems import (
    WITHOUT_TRAINING,
    ClusterProblem,
    ExpectedNode,
    about_hosts,
    first_names,
    judge_cluster,
)
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import Environment, as_it_is
from suite.launch.placement import Placement


@dataclass(frozen=True)
class Examination:
    """The result of all checks with the environment of ``framework``; ``links`` is None when fewer
    than two nodes are fit."""

    framework: str
    answers: tuple[NodeAnswer, ...]
    links: LinkMeasures | None
    problems: tuple[ClusterProblem, ...]


def examine_cluster(
    placement: Placement, environment: Environment, data: tuple[Path, ...]
) -> Examination:
    """Query the nodes, measure the links between those that can start a rank, and check both."""
    of_hosts = tuple(about_hosts(placement.hosts))
    answers = ask_nodes(
        placement.hosts,
        NodeQuestion(environment.interpreter, data, placement.agent, environment.framework, True),
    )
    fit = fit_hosts(answers)
    links = (
        measure_links(Placement(fit, 1, placement.agent), environment.interpreter)
        if len(fit) > 1 and not of_hosts
        else None
    )
    return Examination(
        environment.framework,
        answers,
        links,
        (*of_hosts, *judge_cluster(answers, links, _expected(as_it_is(environment)))),
    )


def admit_run(
    placement: Placement, environment: Environment, argument: str
) -> tuple[ClusterProblem, ...]:
    """The doctor's questions before a run of several ranks: raises SuiteError for the first problem
    with which no run can be right. ``argument`` is what `suite env create` takes.

    Returns the other problems. The data are left to the ranks; reading them here would warm the
    page cache.
    """
    if placement.ranks > 1:
        _refuse_without_mpi(environment, argument)
    if placement.nodes == 1:
        return ()
    _refuse(tuple(about_hosts(placement.hosts)))
    answers, expected = (
        ask_nodes(
            placement.hosts,
            NodeQuestion(environment.interpreter, (), placement.agent, environment.framework),
        ),
        _expected(environment),
    )
    _refuse(judge_cluster(answers, None, expected))
    links = measure_links(
        Placement(placement.hosts, 1, placement.agent), environment.interpreter, quick=True
    )
    problems = judge_cluster(answers, links, expected)
    _refuse(problems)
    return problems


def _refuse(problems: tuple[ClusterProblem, ...]) -> None:
    fatal = [problem for problem in problems if problem.point in WITHOUT_TRAINING]
    if fatal:
        others = list(
            dict.fromkeys(problem.node for problem in fatal if problem.node != fatal[0].node)
        )
        more = (
            f" Other nodes have problems, too: {first_names(others)}; `suite cluster doctor` lists"
            " all problems."
            if others
            else ""
        )
        raise SuiteError(f"{fatal[0].sentence}; {fatal[0].remedy}.{more}")


def _refuse_without_mpi(environment: Environment, argument: str) -> None:
    """Raise SuiteError where the ranks would not find mpi4py, before any is started."""
    finds = "import importlib.util as u, sys; sys.exit(u.find_spec('mpi4py') is None)"
    command = [str(environment.interpreter), "-c", finds]
    if subprocess.run(command, env=child_environment(1), cwd=repository_root()).returncode:
        raise SuiteError(
            f"Several ranks need mpi4py, which {environment.framework}'s"
            f" {environment.interpreter} lacks",
            "install it there, or choose an interpreter that has it (`suite list frameworks` names"
            f" some): `suite env create {argument} --interpreter PYTHON`",
        )


def _expected(environment: Environment) -> ExpectedNode:
    root = str(repository_root())
    sources = this_node.source_files(root)
    return ExpectedNode(
        this_node.suite_version(root),
        this_node.source_digest(sources),
        this_node.git_state(root),
        environment.packages,
        sources,
        environment.framework,
    )
