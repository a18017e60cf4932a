"""Hosts for tests: network namespaces, each with an address, a host name and an SSH server,
connected by a bridge.

It takes root; where it cannot be made, the test is skipped with the reason. What is real: every
byte between hosts crosses a network interface, an SSH session starts what runs on another host, and
a cut link cuts all of it. What is not: hosts share processors, memory, disk and clocks.
"""

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import interruptible
from tests.every_case import in_ci

PROGRAMS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "ssh-keygen": "openssh-client",
    "ssh": "openssh-client",
}
SSHD = "/usr/sbin/sshd"
LISTENS, KEEPER = "Server listening", "sleep infinity"
"""What an SSH server logs when it is there, and what keeps a host without one."""
_NUMBERS = itertools.count()
OVER_THE_WIRE = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
"""MPICH would find that all hosts are one machine and send through shared memory."""

SSHD_CONFIG = """\
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
"""
SSH_CONFIG = """\
IdentityFile {folder}/key
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
LogLevel ERROR
BatchMode yes
ConnectTimeout 5
"""
TEAR_DOWN = """
cat > /dev/null
for namespace in "$@"; do
    ip netns pids "$namespace" | xargs -r kill -KILL
    ip netns delete "$namespace"
    rm -rf "/etc/netns/$namespace"
done
"""


@dataclass(frozen=True)
class Host:
    """A network namespace as a host; ``pid`` is its SSH server's."""

    name: str
    address: str
    namespace: str
    port: str
    pid: int


@dataclass(frozen=True)
class Traffic:
    """Bytes that a host's interface has received and sent, with the headers of Ethernet, IP and
    TCP."""

    received_bytes: int
    sent_bytes: int


@dataclass(frozen=True)
class Cluster:
    """Some hosts on one network; ``agent`` is the program that starts a command on one of them, as
    ssh does."""

    hosts: tuple[Host, ...]
    switch: str
    agent: Path

    def hostfile(self, path: Path) -> Path:
        """A file with one host per line."""
        path.write_text("".join(f"{host.name}\n" for host in self.hosts))
        return path

    def start(
        self,
        host: Host,
        *command: object,
        variables: Mapping[str, str] = OVER_THE_WIRE,
        **options: Any,
    ) -> "subprocess.Popen[str]":
        """Start a command on a host, in a new session."""
        enter = ["nsenter", "--target", str(host.pid), "--mount", "--net", "--uts", "--"]
        return subprocess.Popen(
            [*enter, *map(str, command)],
            env={**os.environ, **variables},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=interruptible,
            **options,
        )

    def run(
        self, host: Host, *command: object, timeout_s: float = 120, **options: Any
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command on a host to its end."""
        process = self.start(host, *command, **options)
        out, err = process.communicate(timeout=timeout_s)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def traffic(self, host: Host) -> Traffic:
        """What has crossed the host's interface so far."""
        folder = "/sys/class/net/eth0/statistics"
        received, sent = self.run(
            host, "cat", f"{folder}/rx_bytes", f"{folder}/tx_bytes"
        ).stdout.split()
        return Traffic(int(received), int(sent))

    def shape(self, host: Host, megabits_per_s: float) -> None:
        """Slow a host's link down, in both directions."""
        for namespace, device in ((host.namespace, "eth0"), (self.switch, host.port)):
            rate = ["tbf", "rate", f"{megabits_per_s}mbit", "burst", "64kbit", "latency", "100ms"]
            _must("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *rate)

    def cut(self, host: Host) -> None:
        """Cut the host's link: no packet goes in or out, and no connection is closed."""
        _must("ip", "-n", self.switch, "link", "set", host.port, "nomaster")

    def replace(self, host: Host, path: Path, other: Path) -> None:
        """Replace a path on one host only (bind mount)."""
        answer = self.run(host, "mount", "--bind", other, path)
        assert answer.returncode == 0, answer.stderr

    def processes(self, host: Host) -> dict[int, str]:
        """The command line of everything that runs on a host."""
        found = {}
        for pid in subprocess.run(
            ["ip", "netns", "pids", host.namespace], capture_output=True, text=True
        ).stdout.split():
            with suppress(OSError):  # it has ended meanwhile
                found[int(pid)] = (
                    Path(f"/proc/{pid}/cmdline")
                    .read_bytes()
                    .replace(b"\0", b" ")
                    .decode(errors="replace")
                    .strip()
                )
        return found

    def expect_nobody_left(self, seconds: float = 30.0) -> None:
        """Soon nothing runs on any host but its SSH server."""
        deadline_s = time.monotonic() + seconds
        while (left := self._left()) and time.monotonic() < deadline_s:
            time.sleep(0.1)
        assert not left

    def _left(self) -> list[str]:
        found = [words for host in self.hosts for words in self.processes(host).values()]
        return [
            words for words in found if words and "sshd" not in words.split()[0] and words != KEEPER
        ]


@contextmanager
def joined_hosts(count: int, folder: Path, by_ssh: bool = True) -> Iterator[Cluster]:
    """``count`` hosts, node1 first; they and their processes are removed afterwards, even if this
    process is killed.

    Without SSH a host's commands are started in its namespaces directly: every byte of the training
    crosses the wire as before.
    """
    _refuse_without_means(by_ssh)
    prefix = f"suite{os.getpid()}x{next(_NUMBERS)}"
    switch, namespaces = f"{prefix}s", [f"{prefix}n{number}" for number in range(1, count + 1)]
    guard = subprocess.Popen(
        ["sh", "-c", TEAR_DOWN, "sh", *namespaces, switch],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        if by_ssh:
            _make_keys(folder)
        _must("ip", "netns", "add", switch)
        _must("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        _must("ip", "-n", switch, "link", "set", "bridge", "up")
        names = "".join(f"{_address(number)} node{number}\n" for number in range(1, count + 1))
        hosts = tuple(
            _make_host(number, namespace, switch, names, folder, by_ssh)
            for number, namespace in enumerate(namespaces, start=1)
        )
        if not by_ssh:
            entering_agent(hosts, folder / "agent")
        yield Cluster(hosts, switch, folder / "agent")
    finally:
        assert guard.stdin is not None
        guard.stdin.close()
        guard.wait(30)


def _address(number: int) -> str:
    return f"10.77.0.{number}"


def entering_agent(hosts: Iterable[Host], path: Path) -> Path:
    """A launch agent, called as ssh is, options of ssh included, whose commands are its
    children."""
    lines = [
        "#!/bin/sh",
        'while [ "${1#-}" != "$1" ]; do shift; done',
        "host=$1; shift",
        'case "$host" in',
        *(f"{host.name}) process={host.pid};;" for host in hosts),
        '*) echo "there is no $host" >&2; exit 1;;',
        "esac",
        'exec nsenter --target "$process" --mount --net --uts -- sh -c "$*"',
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    path.chmod(0o755)
    return path


def _refuse_without_means(by_ssh: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces as hosts need root")
    missing = {
        package
        for program, package in PROGRAMS.items()
        if shutil.which(program) is None and (by_ssh or "ssh" not in program)
    }
    if by_ssh and not Path(SSHD).exists():
        missing.add("openssh-server")
    if missing:
        (pytest.fail if in_ci() else pytest.skip)(
            f"hosts to test on need more programs: sudo apt-get install {' '.join(sorted(missing))}"
        )


def _make_keys(folder: Path) -> None:
    _must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key"))
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(folder=folder))
    (folder / "ssh_config").write_text(SSH_CONFIG.format(folder=folder))
    (folder / "agent").write_text(f'#!/bin/sh\nexec ssh -F {folder}/ssh_config "$@"\n')
    (folder / "agent").chmod(0o755)


def _make_host(
    number: int, namespace: str, switch: str, names: str, folder: Path, by_ssh: bool
) -> Host:
    """A namespace with a link to the switch, and a process that keeps it: an SSH server that
    listens, or one that only says that it is there."""
    port = f"port{number}"
    _must("ip", "netns", "add", namespace)
    _must(
        "ip",
        "-n",
        namespace,
        "link",
        "add",
        "eth0",
        "type",
        "veth",
        "peer",
        "name",
        port,
        "netns",
        switch,
    )
    _must("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
    _must("ip", "-n", namespace, "address", "add", f"{_address(number)}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        _must("ip", "-n", namespace, "link", "set", device, "up")
    hosts = Path("/etc/netns", namespace, "hosts")  # what `ip netns exec` puts in /etc/hosts' place
    hosts.parent.mkdir(parents=True)
    # as Debian writes a machine's own name
    hosts.write_text(f"127.0.0.1 localhost\n127.0.1.1 node{number}\n{names}")
    Path("/run/sshd").mkdir(exist_ok=True)
    keeps = (
        f"{SSHD} -D -e -f {folder}/sshd_config"
        if by_ssh
        else f"sh -c 'echo {LISTENS} >&2; exec {KEEPER}'"
    )
    script = f"hostname node{number} && exec {keeps}"
    with (folder / f"sshd{number}.log").open("wb") as log:
        server = subprocess.Popen(
            ["ip", "netns", "exec", namespace, "unshare", "--uts", "sh", "-c", script],
            stderr=log,
            start_new_session=True,
        )
    host = Host(f"node{number}", _address(number), namespace, port, server.pid)
    _await_server(host, server, folder / f"sshd{number}.log")
    return host


def _await_server(host: Host, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until the host's process is there; skip with its log when it exited."""
    while LISTENS not in log.read_text():
        try:
            server.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        pytest.skip(f"{host.name} does not start here: {log.read_text().strip()}")


def _must(*command: str) -> None:
    """Run a command that needs root, or skip with its error output."""
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        pytest.skip(f"hosts cannot be made here: {' '.join(command[:6])}: {ran.stderr.strip()}")
