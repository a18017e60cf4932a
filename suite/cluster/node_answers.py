"""Queries the nodes: whether each can be reached, and its facts (reference_impls.node, run
there)."""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Generic, TypeVar

from suite import __version__
from suite.files.paths import checkout, repository_root
from suite.launch.command import last_line
from suite.launch.placement import address_of, is_this_machine
from suite.launch.remote_shell import (
    NO_INTERPRETER,
    NO_SUITE,
    allow_open_files,
    module_script,
    remote_command,
    typed_command,
    was_denied,
)

CONNECT_TIMEOUT_S, START_TIMEOUT_S = 15.0, 60.0
ALLGATHER_TIMEOUT_S, FACTS_TIMEOUT_S = 30.0, 900.0
MAX_CONNECTING = 32
"""Hosts to which ssh connects at the same time; one that cannot be reached takes 5 s of it."""
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
    reference_impls.machine_identity's. ``unreached`` is why the node cannot connect to others, by
    their names.
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
    unreached: Mapping[str, str] = field(default_factory=dict)
    package_files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeAnswer:
    """A host's reply: its facts, or the problem and the remedy."""

    host: str
    reached: bool
    facts: NodeFacts | None
    problem: str | None = None
    remedy: str | None = None


@dataclass(frozen=True)
class NodeQuestion:
    """A query to every host: ``data`` are the folders to digest, ``agent`` starts commands there
    (None: ssh); ``reads_packages``: digest the packages' code."""

    interpreter: Path
    data: tuple[Path, ...]
    agent: str | None
    framework: str
    reads_packages: bool = False


def ask_nodes(hosts: Sequence[str], question: NodeQuestion) -> tuple[NodeAnswer, ...]:
    """Every host's answer, in the order of the hosts, which are queried in parallel and connect to
    each other. Each reads its data sets completely, which takes a while."""
    allow_open_files(len(hosts))
    endpoints, unreached = _Allgather[Endpoint](hosts), _Allgather[bool](hosts)
    connecting = threading.Semaphore(MAX_CONNECTING)

    def ask(host: str) -> NodeAnswer:
        try:
            with connecting:
                absent = None if is_this_machine(host) else _unreached(host, question.agent)
            return absent or _ask(host, hosts, question, (endpoints, unreached))
        finally:
            endpoints.leave(host)
            unreached.leave(host)

    with ThreadPoolExecutor(len(hosts)) as pool:
        return tuple(pool.map(ask, hosts))


def fit_hosts(answers: Sequence[NodeAnswer]) -> tuple[str, ...]:
    """The hosts on which MPI can start a rank, and that all others can connect to; of a pair that
    cannot, the later one is left out."""
    fit: list[str] = []
    facts = {answer.host: answer.facts for answer in answers}
    for host, found in facts.items():
        if found is not None and not any(
            other in found.unreached or host in (facts[other] or found).unreached for other in fit
        ):
            fit.append(host)
    return tuple(fit)


Value = TypeVar("Value")


class _Allgather(Generic[Value]):
    """A value from every host, returned to all of them once each has added its own or has left."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._missing, self._values = set(hosts), dict[str, Value]()
        self._changed = threading.Condition()

    def add(self, host: str, value: Value) -> Mapping[str, Value]:
        """Add a host's value, wait for the others, at most ALLGATHER_TIMEOUT_S, and return all."""
        with self._changed:
            self._values[host] = value
            self.leave(host)
            self._changed.wait_for(lambda: not self._missing, ALLGATHER_TIMEOUT_S)
            return dict(self._values)

    def leave(self, host: str) -> None:
        """Stop waiting for this host."""
        with self._changed:
            self._missing.discard(host)
            self._changed.notify_all()


Endpoint = tuple[str | None, int]
"""The address that this machine has for a host (None: it does not know the name), and the port on
which the host listens."""
Exchange = tuple[_Allgather[Endpoint], _Allgather[bool]]
"""Where hosts listen, and which have tried to connect to all others."""


def same_suite(host: str) -> str:
    """What to do so that ``host`` has the suite of this machine: copy the checkout, or install the
    same version in the same folder."""
    root = checkout()
    if root is None:
        return (
            f"install version {__version__} of the suite on {host}, in a virtual environment in"
            f" the same folder as here: {sys.prefix}"
        )
    return f"put the same checkout there: rsync -a --delete --exclude /runs/ {root}/ {host}:{root}/"


def _ask(host: str, hosts: Sequence[str], question: NodeQuestion, exchange: Exchange) -> NodeAnswer:
    here, peer = is_this_machine(host), next((other for other in hosts if other != host), None)
    settings = {
        "data": [str(folder) for folder in question.data],
        "peer": peer,
        "listens": True,  # one host, too: its port is the line that says that it has started
        "reads_packages": question.reads_packages,
    }
    script = module_script((question.interpreter,), "reference_impls.node", json.dumps(settings))
    try:
        ran = _run_listening(
            ["sh", "-c", script] if here else remote_command(host, question.agent, script),
            lambda line, stream: _exchange_endpoints(host, line, stream, exchange),
        )
    except subprocess.TimeoutExpired as expired:
        remedy = (
            "check the disk that holds the data set there: the host reads the whole data set before"
            " it answers"
        )
        if expired.timeout == START_TIMEOUT_S:
            typed = typed_command(host, question.agent)
            remedy = (
                f"type `{typed}`, which must end at once and ask nothing: a start-up file of the"
                " shell there (~/.bashrc) may wait for input"
            )
        return NodeAnswer(
            host, True, None, f"{host} sent nothing for {expired.timeout:g} s", remedy
        )
    return _parse(host, ran, question)


def _exchange_endpoints(host: str, line: str, stream: IO[str], exchange: Exchange) -> None:
    """Send the others' endpoints to a node that listens, and close its standard input when all
    nodes have tried to connect."""
    endpoints, unreached = exchange
    try:
        said = json.loads(line)
        port = said.get("port")
    except (ValueError, AttributeError):
        return
    if isinstance(port, int):
        told = endpoints.add(host, (address_of(host), port))
        others = [[name, *endpoint] for name, endpoint in told.items() if name != host]
        with suppress(OSError):
            stream.write(json.dumps(others) + "\n")
            stream.flush()
    elif said.keys() == {"unreached"}:
        unreached.add(host, True)
        with suppress(OSError):
            stream.close()


def _run_listening(
    command: list[str], hear: Callable[[str, IO[str]], None]
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end; ``hear`` gets every line as it is printed, and the command's
    standard input.

    Raises TimeoutExpired after START_TIMEOUT_S without a line of JSON, then after FACTS_TIMEOUT_S.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
        )
        assert process.stdin is not None and process.stdout is not None
        timer = _killing_after(START_TIMEOUT_S, process)
        lines = []
        try:
            for line in process.stdout:
                if line.startswith("{") and timer.interval == START_TIMEOUT_S:
                    timer.cancel()
                    timer = _killing_after(FACTS_TIMEOUT_S, process)
                lines.append(line)
                hear(line, process.stdin)
            process.wait()
        finally:
            late = timer.finished.is_set()
            timer.cancel()
            process.kill()
            with suppress(OSError):
                process.stdin.close()
        if late:
            raise subprocess.TimeoutExpired(command, timer.interval)
        errors.seek(0)
        return subprocess.CompletedProcess(
            command, process.returncode, "".join(lines), errors.read()
        )


def _killing_after(seconds: float, process: "subprocess.Popen[str]") -> threading.Timer:
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    return timer


def _parse(
    host: str, ran: "subprocess.CompletedProcess[str]", question: NodeQuestion
) -> NodeAnswer:
    if was_denied(ran.returncode, _last_words(ran)):
        remedy = "give the folder to this user there: sudo chown -R USER FOLDER"
        return NodeAnswer(host, True, None, f"{host}: {_last_words(ran)}", remedy)
    if ran.returncode == NO_SUITE:
        return NodeAnswer(
            host, True, None, f"{host} has no suite in {repository_root()}", same_suite(host)
        )
    if ran.returncode == NO_INTERPRETER:
        return NodeAnswer(
            host,
            True,
            None,
            f"{host} has no {question.interpreter}",
            f"create the environment there: suite env create {question.framework} (same user, same"
            " path)",
        )
    try:
        values = json.loads(ran.stdout.strip().splitlines()[-1])
        return NodeAnswer(host, True, NodeFacts(**{**values, "link": Link(**values["link"])}))
    except (ValueError, IndexError, KeyError, TypeError):
        remedy = "put the same suite and environment on every node"
        if ran.returncode == 0:  # no Python was there
            remedy = (
                "the launch agent must run commands there: check that"
                f" `{typed_command(host, question.agent, 'hostname')}` prints the host's name"
            )
        return NodeAnswer(
            host, True, None, f"{host} could not describe itself: {_last_words(ran)}", remedy
        )


def _unreached(host: str, agent: str | None) -> NodeAnswer | None:
    """The reason why no command can be started on a host, with what to do; None where one can."""
    typed = typed_command(host, agent)
    command, start = remote_command(host, agent, "true"), f"{host} cannot be reached"
    remedy = (
        f"check that this host is switched on and has this name, and that `{typed}` asks for"
        " no password"
    )
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
        return NodeAnswer(host, False, None, problem, f"{remedy} and answers in time")
    except OSError as error:
        return NodeAnswer(
            host,
            False,
            None,
            f"{start}: the launch agent {command[0]} cannot be started ({error.strerror})",
            "give --launch-agent one program without options; it is started like ssh: PROGRAM"
            " HOST COMMAND",
        )
    if ran.returncode == 0:
        return None
    if UNKNOWN_KEY in ran.stderr:
        remedy = (
            f"type `{typed}`: accept the host's key if it is new. If the key has changed, another"
            " machine may have the host's address; only if the host itself was set up again, remove"
            f" the old key with `ssh-keygen -R {host}`"
        )
    return NodeAnswer(host, False, None, f"{start}: {_last_words(ran)}", remedy)


def _last_words(ran: "subprocess.CompletedProcess[str]") -> str:
    """The last line that a command wrote, else its exit code."""
    silent = f"exit code {ran.returncode}, and no output"
    return last_line(ran.stderr, last_line(ran.stdout, silent)).rstrip(".")
