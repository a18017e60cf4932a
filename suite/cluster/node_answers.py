"""Queries the nodes: whether each can be reached, and its facts (reference_impls.node, run
there)."""

import json
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from reference_impls.node import connection_problem
from suite import __version__
from suite.files.paths import checkout, repository_root
from suite.launch.command import last_line
from suite.launch.placement import address_of, is_this_machine
from suite.launch.remote_shell import (
    NO_INTERPRETER,
    NO_SUITE,
    module_script,
    remote_command,
    typed_command,
)

CONNECT_TIMEOUT_S, FACTS_TIMEOUT_S = 15.0, 900.0
UNKNOWN_KEY = "Host key verification failed"
"""What ssh says of a host whose key is unknown or another than before."""


@dataclass(frozen=True)
class Link:
    """The network interface that a node uses to reach the others; a field is None when it is
    unknown, for ``reason``."""

    interface: str | None
    address: str | None
    kind: str | None
    speed_mbit_s: int | None
    reason: str | None


@dataclass(frozen=True)
class NodeFacts:
    """A node's versions, packages, data sets and link; ``data`` has a digest of every folder, None
    for a missing one.

    ``sources`` are the digests of the single files, by path, ``package_files`` those of each
    package's code (empty: not asked for), and ``machine`` is
    reference_impls.machine_identity's. ``unreached`` is why the node cannot connect to the first
    one, None where it can.
    """

    node: str
    python: str
    version: str | None
    source_sha256: str
    git: str | None
    packages: Mapping[str, str] | None
    data: Mapping[str, str | None]
    link: Link
    machine: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    unreached: str | None = None
    package_files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """A host's reply: its facts, or the problem and the remedy; ``closed`` is why the first host
    cannot connect to it, with the port."""

    host: str
    reached: bool
    facts: NodeFacts | None
    problem: str | None = None
    remedy: str | None = None
    closed: str | None = None

    @property
    def is_fit(self) -> bool:
        """Whether MPI can start a rank there: it and the first host connect to each other."""
        return self.facts is not None and self.facts.unreached is None and self.closed is None


@dataclass(frozen=True)
class Question:
    """A query to every host: ``data`` are the folders to digest, ``agent`` starts commands there
    (None: ssh); ``reads_packages``: digest the packages' code."""

    interpreter: Path
    data: tuple[Path, ...]
    agent: str | None
    framework: str
    reads_packages: bool = False


def ask_nodes(hosts: Sequence[str], question: Question) -> tuple[Answer, ...]:
    """Every host's answer, in the order of the hosts, which are queried in parallel. Each reads its
    data sets completely, which takes a while."""
    # the kernel accepts connections
    with (
        ThreadPoolExecutor(len(hosts)) as pool,
        socket.create_server(("", 0), backlog=len(hosts)) as server,
    ):
        port = server.getsockname()[1] if is_this_machine(hosts[0]) else None
        return tuple(
            pool.map(
                lambda host: _ask(
                    host, next((other for other in hosts if other != host), None), port, question
                ),
                hosts,
            )
        )


def same_suite(host: str) -> str:
    """What to do so that ``host`` has the suite of this machine: copy the checkout, or install the
    same version in the same folder."""
    root = checkout()
    if root is None:
        return (
            f"install the suite {__version__} on {host} in a virtual environment in the same"
            f" folder: {sys.prefix}"
        )
    return f"put the same checkout there: rsync -a {root}/ {host}:{root}/"


def _ask(host: str, peer: str | None, port: int | None, question: Question) -> Answer:
    here = is_this_machine(host)
    if not here and (unreached := _unreached(host, question.agent)) is not None:
        return unreached
    listens = not here and port is not None and address_of(host) is not None
    settings = {
        "data": [str(folder) for folder in question.data],
        "peer": peer,
        "port": None if here else port,
        "listens": listens,
        "reads_packages": question.reads_packages,
    }
    script = module_script((question.interpreter,), "reference_impls.node", json.dumps(settings))
    closed: list[str] = []
    try:
        ran = _run_listening(
            ["sh", "-c", script] if here else remote_command(host, question.agent, script),
            lambda line: closed.extend(_closed(host, line)),
        )
    except subprocess.TimeoutExpired:
        return Answer(
            host,
            True,
            None,
            f"{host} sent no facts within {FACTS_TIMEOUT_S:g} s",
            "check its disk, from which the data are read",
        )
    return replace(_parse(host, ran, question), closed=closed[0] if closed else None)


def _closed(host: str, line: str) -> Iterator[str]:
    """Why this machine cannot connect to the port on which a node says that it listens; nothing
    where it can, and for other lines."""
    try:
        port = int(json.loads(line)["port"])
    except (ValueError, KeyError, TypeError):
        return
    problem = connection_problem(host, port)
    if problem is not None:
        yield f"at port {port} ({problem})"


def _run_listening(
    command: list[str], hear: Callable[[str], None]
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end; ``hear`` gets every line as it is printed."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
        )
        timer = threading.Timer(FACTS_TIMEOUT_S, process.kill)
        timer.start()
        lines = []
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                hear(line)
            process.wait()
        finally:
            late = timer.finished.is_set()
            timer.cancel()
            process.kill()
        if late:
            raise subprocess.TimeoutExpired(command, FACTS_TIMEOUT_S)
        errors.seek(0)
        return subprocess.CompletedProcess(
            command, process.returncode, "".join(lines), errors.read()
        )


def _parse(host: str, ran: "subprocess.CompletedProcess[str]", question: Question) -> Answer:
    if ran.returncode == NO_SUITE:
        return Answer(
            host, True, None, f"{host} has no suite in {repository_root()}", same_suite(host)
        )
    if ran.returncode == NO_INTERPRETER:
        return Answer(
            host,
            True,
            None,
            f"{host} has no {question.interpreter}",
            f"create the environment there: suite env create {question.framework} (same user, same"
            " path)",
        )
    try:
        values = json.loads(ran.stdout.strip().splitlines()[-1])
        return Answer(host, True, NodeFacts(**{**values, "link": Link(**values["link"])}))
    except (ValueError, IndexError, KeyError, TypeError):
        remedy = "put the same suite and environment on every node"
        if ran.returncode == 0:  # no Python was there
            remedy = (
                "the launch agent must run commands there: check that"
                f" `{typed_command(host, question.agent, 'hostname')}` prints its name"
            )
        return Answer(
            host, True, None, f"{host} could not report its facts: {_last_words(ran)}", remedy
        )


def _unreached(host: str, agent: str | None) -> Answer | None:
    """The reason why no command can be started on a host, with what to do; None where one can."""
    typed = typed_command(host, agent)
    command, start = remote_command(host, agent, "true"), f"{host} cannot be reached"
    remedy = f"check that it is on, has this name, and that `{typed}` asks for no password"
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CONNECT_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        problem = f"{start}: no answer within {CONNECT_TIMEOUT_S:g} s"
        return Answer(host, False, None, problem, f"{remedy} and takes no longer")
    except OSError as error:
        return Answer(
            host,
            False,
            None,
            f"{start}: the launch agent {command[0]} cannot be started ({error.strerror})",
            "give --launch-agent one program without options, which is called as ssh is: PROGRAM"
            " HOST COMMAND",
        )
    if ran.returncode == 0:
        return None
    if UNKNOWN_KEY in ran.stderr:
        remedy = (
            f"type `{typed}` and read what it says of the host's key: accept a new one, and remove"
            f" one that changed with `ssh-keygen -R {host}`, if the machine was set up again"
        )
    return Answer(host, False, None, f"{start}: {_last_words(ran)}", remedy)


def _last_words(ran: "subprocess.CompletedProcess[str]") -> str:
    """The last line that a command wrote, else its exit code."""
    silent = f"exit code {ran.returncode}, and no output"
    return last_line(ran.stderr, last_line(ran.stdout, silent)).rstrip(".")
