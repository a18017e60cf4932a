"""Queries the nodes: whether each can be reached, and its facts (reference_impls.node, run there)."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite import __version__
from suite.files.paths import checkout, repository_root
from suite.launch.placement import is_this_machine
from suite.launch.remote_shell import NO_INTERPRETER, NO_SUITE, module_script, remote_command, typed_command

CONNECT_TIMEOUT_S, FACTS_TIMEOUT_S = 15.0, 900.0


@dataclass(frozen=True)
class Link:
    """The network interface that a node uses to reach the others; a field is None when it is unknown, for ``reason``."""

    interface: str | None
    address: str | None
    kind: str | None
    speed_mbit_s: int | None
    reason: str | None


@dataclass(frozen=True)
class NodeFacts:
    """A node's versions, packages, data sets and link; ``data`` has a digest of every folder, None for a missing one.

    ``sources`` are the digests of the single files, by path, and ``machine`` is reference_impls.machine_identity's.
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


@dataclass(frozen=True)
class Answer:
    """A host's reply: its facts, or the problem and the remedy."""

    host: str
    reached: bool
    facts: NodeFacts | None
    problem: str | None = None
    remedy: str | None = None


@dataclass(frozen=True)
class Question:
    """A query to every host: ``data`` are the folders to digest, ``agent`` starts commands there (None: ssh)."""

    interpreter: Path
    data: tuple[Path, ...]
    agent: str | None
    framework: str


def ask_nodes(hosts: Sequence[str], question: Question) -> tuple[Answer, ...]:
    """Every host's answer, in the order of the hosts, which are queried in parallel. Each reads its data sets completely, which takes a while."""
    with ThreadPoolExecutor(len(hosts)) as pool:
        return tuple(pool.map(lambda host: _ask(host, next((other for other in hosts if other != host), None), question), hosts))


def same_suite(host: str) -> str:
    """What to do so that ``host`` has the suite of this machine: copy the checkout, or install the same version in the same folder."""
    root = checkout()
    if root is None:
        return f"install the suite {__version__} on {host} in a virtual environment in the same folder: {sys.prefix}"
    return f"put the same checkout there: rsync -a {root}/ {host}:{root}/"


def _ask(host: str, peer: str | None, question: Question) -> Answer:
    here = is_this_machine(host)
    if not here:
        problem = _failure(remote_command(host, question.agent, "true"), CONNECT_TIMEOUT_S)
        if problem is not None:
            return Answer(
                host,
                False,
                None,
                f"{host} cannot be reached: {problem}",
                f"check that it is on, has this name, and that `{typed_command(host, question.agent)}` asks for no password",
            )
    settings = json.dumps({"data": [str(folder) for folder in question.data], "peer": peer})
    script = module_script((question.interpreter,), "reference_impls.node", settings)
    command = ["sh", "-c", script] if here else remote_command(host, question.agent, script)
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=FACTS_TIMEOUT_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return Answer(host, True, None, f"{host} sent no facts within {FACTS_TIMEOUT_S:g} s", "check its disk, from which the data are read")
    return _parse(host, ran, question)


def _parse(host: str, ran: "subprocess.CompletedProcess[str]", question: Question) -> Answer:
    if ran.returncode == NO_SUITE:
        return Answer(host, True, None, f"{host} has no suite in {repository_root()}", same_suite(host))
    if ran.returncode == NO_INTERPRETER:
        return Answer(
            host,
            True,
            None,
            f"{host} has no {question.interpreter}",
            f"create the environment there: suite env create {question.framework} (same user, same path)",
        )
    try:
        values = json.loads(ran.stdout.strip().splitlines()[-1])
        return Answer(host, True, _facts(values))
    except (ValueError, IndexError, KeyError, TypeError):
        last = _last_line(ran.stderr or ran.stdout)
        return Answer(host, True, None, f"{host} could not report its facts: {last}", "put the same suite and environment on every node")


def _facts(values: Mapping[str, Any]) -> NodeFacts:
    return NodeFacts(**{**values, "link": Link(**values["link"])})


def _failure(command: Sequence[str], timeout_s: float) -> str | None:
    """The reason why a command failed; None when it succeeded."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"no answer within {timeout_s:g} s"
    except OSError as error:
        return f"{command[0]} cannot be started ({error.strerror})"
    return None if ran.returncode == 0 else _last_line(ran.stderr)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1][:200]
