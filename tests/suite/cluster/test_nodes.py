"""What is said of a host on which the launch agent can start nothing; tests/hosts asks real
hosts."""

import socket
from pathlib import Path

import pytest

from reference_impls.node import connection_problem
from suite.cluster.node_answers import Answer, Question, ask_nodes

HOST = "pi2.invalid"  # RFC 2606: no such name


def asked(agent: Path | str) -> Answer:
    """The answer of a host that this program is to reach."""
    (answer,) = ask_nodes((HOST,), Question(Path("/usr/bin/python3"), (), str(agent), "pytorch"))
    assert answer.facts is None
    return answer


def agent(folder: Path, script: str) -> Path:
    """A program that is called as ssh is."""
    path = folder / "agent"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("script", "problem", "remedy"),
    [
        (
            "exit 7",
            "pi2.invalid cannot be reached: exit code 7, and no output",
            "asks for no password",
        ),
        (
            "echo This account is not available.; exit 1",
            "cannot be reached: This account is not available",
            "asks for no password",
        ),
        (
            "echo 'Host key verification failed.' >&2; exit 255",
            "Host key verification failed",
            "ssh-keygen -R pi2.invalid",
        ),
        (
            "exit 0",
            "could not report its facts: exit code 0, and no output",
            "pi2.invalid hostname` prints its name",
        ),
        (
            "echo hello",
            "could not report its facts: hello",
            "pi2.invalid hostname` prints its name",
        ),
    ],
)
def test_an_agent_that_fails_is_quoted_with_what_to_do(
    tmp_path: Path, script: str, problem: str, remedy: str
) -> None:
    answer = asked(agent(tmp_path, script))
    assert problem in str(answer.problem) and remedy in str(answer.remedy)


@pytest.mark.parametrize("program", ["/nowhere/agent", "ssh -p 2222"])
def test_an_agent_that_is_no_program_is_blamed_and_not_the_host(program: str) -> None:
    answer = asked(program)
    assert f"the launch agent {program} cannot be started" in str(answer.problem)
    assert "PROGRAM HOST COMMAND" in str(answer.remedy)


def test_a_node_tells_why_it_cannot_connect_to_a_port_of_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert connection_problem("127.0.0.1", port) is None
    assert connection_problem("127.0.0.1", port) == "Connection refused"


def test_the_first_host_connects_to_the_port_on_which_a_node_says_that_it_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As MPI will; a firewall there would make it wait."""
    here, there = "node1", "127.0.0.2"
    monkeypatch.setattr("suite.cluster.node_answers.is_this_machine", lambda host: host == here)
    with socket.create_server(("127.0.0.1", 0)) as server:
        shut = server.getsockname()[1]
    question = Question(
        Path("/usr/bin/python3"), (), str(agent(tmp_path, 'shift; exec sh -c "$*"')), "pytorch"
    )
    assert [answer.closed for answer in ask_nodes((here, there), question)] == [None, None]
    lying = agent(
        tmp_path, f'test "$2" = true || echo \'{{"port": {shut}}}\'; shift; exec sh -c "$*"'
    )
    _, answer = ask_nodes((here, there), Question(question.interpreter, (), str(lying), "pytorch"))
    assert answer.closed == f"at port {shut} (Connection refused)" and not answer.is_fit
