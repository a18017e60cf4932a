"""What is said of a host on which the launch agent can start nothing; tests/hosts asks real
hosts."""

import socket
from pathlib import Path

import pytest

from reference_impls.node import ITSELF, connection_problem
from suite.cluster.node_answers import NodeAnswer, NodeQuestion, ask_nodes, fit_hosts

HOST = "pi2.invalid"  # RFC 2606: no such name


def asked(agent: Path | str) -> NodeAnswer:
    """The answer of a host that this program is to reach."""
    (answer,) = ask_nodes(
        (HOST,), NodeQuestion(Path("/usr/bin/python3"), (), str(agent), "pytorch")
    )
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
            "could not describe itself: exit code 0, and no output",
            "pi2.invalid hostname` prints the host's name",
        ),
        (
            "echo hello",
            "could not describe itself: hello",
            "pi2.invalid hostname` prints the host's name",
        ),
        (
            'test "$2" = true || { echo "ls: /home/pi/python: Permission denied" >&2; exit 72; }',
            "pi2.invalid: ls: /home/pi/python: Permission denied",
            "sudo chown",
        ),
    ],
)
def test_an_agent_that_fails_is_quoted_with_what_to_do(
    tmp_path: Path, script: str, problem: str, remedy: str
) -> None:
    answer = asked(agent(tmp_path, script))
    assert problem in str(answer.problem) and remedy in str(answer.remedy)


def test_a_start_up_file_that_waits_for_input_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its host ends a command whose standard input is empty, and no other."""
    monkeypatch.setattr("suite.cluster.node_answers.START_TIMEOUT_S", 0.1)
    answer = asked(agent(tmp_path, "echo Welcome; read key; exit 0"))
    assert answer.problem == "pi2.invalid sent nothing for 0.1 s"
    assert "pi2.invalid true`, which must end at once and ask nothing" in str(answer.remedy)


def test_a_single_host_sends_a_line_before_it_reads_its_data(tmp_path: Path) -> None:
    """One that sends nothing for START_TIMEOUT_S is ended, and data may take longer to read."""
    said = tmp_path / "said"
    tells = agent(tmp_path, f'shift; test "$*" != true || exit 0; sh -c "$*" | tee {said}')
    (answer,) = ask_nodes(
        (HOST,), NodeQuestion(Path("/usr/bin/python3"), (), str(tells), "pytorch")
    )
    assert answer.facts is not None and answer.facts.unreached == {}
    assert said.read_text().startswith('{"port": ')


@pytest.mark.parametrize("program", ["/nowhere/agent", "ssh -p 2222"])
def test_an_agent_that_is_no_program_is_blamed_and_not_the_host(program: str) -> None:
    answer = asked(program)
    assert f"the launch agent {program} cannot be started" in str(answer.problem)
    assert "PROGRAM HOST COMMAND" in str(answer.remedy)


def test_a_node_tells_why_it_cannot_connect_to_a_port_of_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert connection_problem("127.0.0.1", None, port) is None
        assert connection_problem(HOST, "127.0.0.1", port) is None, "a name of the first host's"
    assert connection_problem("127.0.0.1", None, port) == "Connection refused"
    assert connection_problem(HOST, "127.0.0.1", port) == "Connection refused"
    assert connection_problem(HOST, None, port) is None, "MPI may know it"


def test_a_name_that_means_the_own_machine_there_is_no_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a copy of pi1's card, /etc/hosts says `127.0.1.1 pi1`, and pi1's address in another line:
    a connection would try both, MPI the first."""
    monkeypatch.setattr("socket.gethostbyname", lambda name: "127.0.1.1")
    assert connection_problem("pi1", None, 9) == f"{ITSELF}: 127.0.1.1"


def test_every_host_connects_to_every_other_and_says_whom_it_cannot_reach(tmp_path: Path) -> None:
    """As MPI will, whose ports a firewall may drop. The third host says a port on which nobody
    listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        shut = server.getsockname()[1]
    hosts = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
    lying = agent(
        tmp_path,
        f'host=$1; shift; test $host = {hosts[2]} -a "$*" != true || exec sh -c "$*"\n'
        f'sh -c "$*" | sed -u \'s/.port.: [0-9]*/"port": {shut}/\'',
    )
    asked = NodeQuestion(Path("/usr/bin/python3"), (), str(lying), "pytorch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suite.cluster.node_answers.is_this_machine", lambda host: host == hosts[0])
        answers = ask_nodes(hosts, asked)
    refused = {hosts[2]: "Connection refused"}
    assert [answer.facts and answer.facts.unreached for answer in answers] == [refused, refused, {}]
    assert fit_hosts(answers) == hosts[:2]
