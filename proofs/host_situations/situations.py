"""Situations of a run on hosts that are no faults of a moment: other environments, storage, launch
agents, hostfiles, networks, numbers of ranks."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from proofs.host_faults.faults import LABELS, Scene
from suite.bundle.limits import MAX_EPOCHS
from suite.files.paths import repository_root

Action = Callable[[Scene], object]
SHORT, ENDLESS = ("--epochs", 2), ("--epochs", MAX_EPOCHS, "--learning-rate", 1e-9)


@dataclass(frozen=True)
class Situation:
    """``before`` is done before `suite run` is typed with ``options``, and ``during`` after its
    first epoch.

    ``is_wrong``: a result would be wrong or one of nothing, so the run or the checker must refuse
    it; otherwise it must comply.
    """

    name: str
    before: Action
    is_wrong: bool = False
    options: Sequence[object] = SHORT
    hosts: int = 2
    during: Action | None = None


def nothing(_: Scene) -> None:
    """Leave everything as it is."""


def on(scene: Scene, place: int, script: str) -> None:
    """Run a shell script on a host, counted from 0."""
    answer = scene.cluster.run(scene.cluster.hosts[place], "sh", "-c", script)
    assert answer.returncode == 0, answer.stderr


def shell(script: str) -> Action:
    """What the shell of commands over SSH reads on node2 (bash on Debian: ~/.bashrc)."""

    def act(scene: Scene) -> None:
        (scene.folder / "bashrc").write_text(f"{script}\n")
        scene.replace(Path.home() / ".bashrc", scene.folder / "bashrc")

    return act


def there(script: str, place: int = 1) -> Action:
    """A shell script on a host."""
    return lambda scene: on(scene, place, script)


def everywhere(script: str) -> Action:
    """A shell script on every host."""

    def act(scene: Scene) -> None:
        for place in range(len(scene.cluster.hosts)):
            on(scene, place, script)

    return act


def renamed(scene: Scene) -> None:
    """The second host has the first one's name."""
    subprocess.run(
        ["nsenter", "--target", str(scene.cluster.hosts[1].pid), "--uts", "hostname", "node1"],
        check=True,
    )


def full(path: str) -> str:
    """A script that replaces a folder by a full file system."""
    return (
        f"mount -t tmpfs -o size=16k tmpfs {path} && dd if=/dev/zero of={path}/fill bs=4k 2>"
        " /dev/null; true"
    )


def agent(script: str) -> Action:
    """Another launch agent, in which SSH stands for ssh as it is called otherwise."""

    def act(scene: Scene) -> None:
        ssh = (
            scene.cluster.agent.read_text()
            .splitlines()[1]
            .removeprefix("exec ")
            .removesuffix(' "$@"')
        )
        scene.cluster.agent.write_text(
            f"#!/bin/sh\n{script.replace('SSH', ssh).replace('FOLDER', str(scene.folder))}\n"
        )

    return act


def ssh_config(line: str) -> Action:
    """Lines that come first in ssh's configuration."""

    def act(scene: Scene) -> None:
        path = scene.cluster.agent.with_name("ssh_config")
        path.write_text(f"{line.replace('FOLDER', str(scene.folder))}\n{path.read_text()}")

    return act


def changed_key(scene: Scene) -> None:
    """Another key of node2 is known than the one that it has."""
    key = scene.cluster.agent.with_name("key.pub").read_text().split()
    (scene.folder / "known_hosts").write_text(f"node2 {key[0]} {key[1][:-8]}AAAAAAAA\n")
    ssh_config("UserKnownHostsFile FOLDER/known_hosts\nStrictHostKeyChecking yes")(scene)


def hostfile(content: str) -> Action:
    """The hostfile, as an editor left it."""
    return lambda scene: scene.trainer.hostfile.write_bytes(content.encode())


def own_data(change: Callable[[Path], object]) -> Action:
    """Node2 reads data of its own, changed."""

    def act(scene: Scene) -> None:
        theirs = scene.folder / "theirs"
        if not theirs.exists():
            shutil.copytree(scene.trainer.digits, theirs)
            scene.replace(scene.trainer.digits, theirs)
        change(theirs)

    return act


def as_they_are(_: Path) -> None:
    """A copy, and no change."""


def linked(theirs: Path) -> None:
    """Every file behind a symbolic link."""
    for path in list(theirs.iterdir()):
        path.rename(theirs.with_name(path.name))
        path.symlink_to(theirs.with_name(path.name))


def rolled(theirs: Path) -> None:
    """The labels moved by three samples, in place."""
    content = (theirs / LABELS).read_bytes()
    with (theirs / LABELS).open("r+b") as stream:
        stream.write(content[:8] + content[11:] + content[8:11])


def small_disk(size: str) -> Action:
    """A disk of this size for the run directory."""

    def act(scene: Scene) -> None:
        (scene.folder / "run").mkdir()
        on(scene, 0, f"mount -t tmpfs -o size={size} tmpfs {scene.folder}/run")

    return act


def shadowed(scene: Scene) -> None:
    """A module in node2's PYTHONPATH that Python loads when it starts."""
    (scene.folder / "sitecustomize.py").write_text("import random\n")
    shell(f"export PYTHONPATH={scene.folder}")(scene)


def filled(scene: Scene) -> None:
    """No space left there."""
    on(scene, 0, f"dd if=/dev/zero of={scene.folder}/run/fill bs=4k 2> /dev/null; true")


def harness(number: signal.Signals, times: int = 1) -> Action:
    """A signal to everything that the terminal runs, again after a third of a second."""

    def act(scene: Scene) -> None:
        assert scene.harness is not None
        for _ in range(times):
            os.killpg(scene.harness.pid, number)
            time.sleep(0.3)

    return act


def interrupted(hosts: str, change: Action = nothing) -> Action:
    """A run of eight epochs, interrupted after its first ones, whose states are kept; then the
    hosts that are left, and a change."""

    def act(scene: Scene) -> None:
        first = scene.trainer.start(
            "fake", scene.folder / "first", "--epochs", 8, "--baseload", 0, "--keep-states"
        )
        log = scene.folder / "first/log.txt"
        while first.poll() is None and (
            not log.exists() or log.read_text().count('"epoch_stop"') < 2
        ):
            time.sleep(0.05)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
        hostfile(hosts)(scene)
        change(scene)

    return act


def damaged_states(scene: Scene) -> None:
    """A bit of every kept state changed."""
    for path in (path for path in (scene.folder / "first.states").rglob("*") if path.is_file()):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


def neighbour(scene: Scene) -> None:
    """Another run on the same hosts at the same time."""
    subprocess.Popen(
        ["nsenter", "--target", str(scene.cluster.hosts[0].pid), "--mount", "--net", "--uts", "--"]
        + [
            str(word)
            for word in scene.trainer.words(
                "fake", scene.folder / "second", "--epochs", 2, "--baseload", 0
            )
        ],
        cwd=repository_root(),
        env={**os.environ, **scene.trainer.variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


RESUMED = ("--epochs", 8, "--keep-states", "--resume", "FOLDER/first")
TO_ANY_PORT = "iptables -A INPUT -i eth0 -p tcp --syn --dport 1024:65535"
LOSS = "iptables -A INPUT -i eth0 -m statistic --mode random --probability"
ANOTHER_BOOT = (
    'test "$BOOTED" || { export BOOTED=1; exec unshare --time --boottime 100000 --monotonic 70000'
    ' bash -c "$BASH_EXECUTION_STRING"; }'
)
MANY_HOSTS = "node1\nnode2\n" + "".join(f"pi{number}\n" for number in range(3, 101))

SITUATIONS = (
    Situation("nothing special", nothing),
    Situation(
        "a language on node2 that is not installed there",
        shell("export LANG=de_DE.UTF-8 LC_ALL=de_DE.UTF-8"),
    ),
    Situation(
        "LC_ALL=C and no UTF-8 mode of Python on node2",
        shell("export LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0"),
    ),
    Situation("umask 077 on node2", shell("umask 077")),
    Situation(
        "OMP_NUM_THREADS=7 on node2", shell("export OMP_NUM_THREADS=7 OPENBLAS_NUM_THREADS=9")
    ),
    Situation(
        "LD_PRELOAD of a missing library on node2",
        shell("export LD_PRELOAD=/nowhere/libjemalloc.so.2"),
    ),
    Situation("TMPDIR on node2 that is not there", shell("export TMPDIR=/nowhere")),
    Situation(
        "a message of the day on node2, some of it JSON",
        shell("echo Welcome to node2; echo '{\"updates\": 3}'"),
    ),
    Situation(
        "node2's shell ends at once",
        shell("echo This account is currently not available.; exit 1"),
        is_wrong=True,
    ),
    Situation("a sitecustomize.py in node2's PYTHONPATH", shadowed, is_wrong=True),
    Situation("node2 was started 100,000 s earlier", shell(ANOTHER_BOOT)),
    Situation("node2 calls itself node1", renamed),
    Situation("/tmp full on node2", there(full("/tmp"))),
    Situation(
        "node2's home read-only",
        there(
            f"mount --bind {Path.home()} {Path.home()} && mount -o remount,ro,bind {Path.home()}"
        ),
    ),
    Situation("/dev/shm full on node2", there(full("/dev/shm")), is_wrong=True),
    Situation("16 KiB for the run directory", small_disk("16k"), is_wrong=True),
    Situation("the run directory's disk filled", small_disk("80m"), True, ENDLESS, during=filled),
    Situation("data behind symbolic links on node2", own_data(linked)),
    Situation(
        "data of another user on node2",
        own_data(lambda theirs: subprocess.run(["chown", "-R", "12345", theirs], check=True)),
    ),
    Situation(
        "node2's labels rolled by three while it trains",
        own_data(as_they_are),
        True,
        ("--epochs", 40),
        during=own_data(rolled),
    ),
    Situation(
        "a launch agent that is not there", nothing, True, ("--launch-agent", "/nowhere/agent")
    ),
    Situation("a launch agent with an option", nothing, True, ("--launch-agent", "ssh -q")),
    Situation("a launch agent that does nothing, with exit code 0", agent("exit 0"), is_wrong=True),
    Situation("a launch agent that does nothing, with exit code 7", agent("exit 7"), is_wrong=True),
    Situation(
        "a launch agent that does nothing after the doctor's questions",
        agent('echo >> FOLDER/n; test $(wc -l < FOLDER/n) -gt 3 || exec SSH "$@"'),
        True,
    ),
    Situation(
        "a launch agent that runs everything on node1",
        agent('shift; exec sh -c "$*"'),
        is_wrong=True,
    ),
    Situation(
        "a launch agent that asks for a password",
        agent("echo -n 'password: ' >&2; read word; echo Permission denied. >&2; exit 255"),
        is_wrong=True,
    ),
    Situation("a launch agent that takes 20 s", agent('sleep 20; exec SSH "$@"'), is_wrong=True),
    Situation("a launch agent that takes 4 s", agent('sleep 4; exec SSH "$@"')),
    Situation("node2's host key changed", changed_key, is_wrong=True),
    Situation(
        "a hostfile of Windows, with comments and no last line end",
        hostfile("\ufeff# shelf\r\n\r\n  node1 slots=1\t\r\nNODE2  # two"),
    ),
    Situation("a hostfile with addresses", hostfile("10.77.0.1\n10.77.0.2\n")),
    Situation(
        "a hostfile of MPICH that asks for two ranks (node2:2)", hostfile("node1:2\nnode2:2\n")
    ),
    Situation("a hostfile with users (root@node2)", hostfile("node1\nroot@node2\n"), is_wrong=True),
    Situation("a hostfile with an address of IPv6", hostfile("node1\nfd77::2\n"), is_wrong=True),
    Situation("a hostfile with a host twice", hostfile("node1\nnode2\nnode2\n"), is_wrong=True),
    Situation(
        "a hostfile that begins with localhost", hostfile("localhost\nnode2\n"), is_wrong=True
    ),
    Situation("a hostfile without the own host", hostfile("node2\n"), is_wrong=True),
    Situation(
        "a hostfile with an option of ssh",
        hostfile("node1\n-oProxyCommand=reboot\n"),
        is_wrong=True,
    ),
    Situation("an empty hostfile", hostfile("\n"), is_wrong=True),
    Situation(
        "a hostfile of 100 hosts, of which two are there",
        hostfile(MANY_HOSTS),
        True,
        ("--epochs", 1, "--batch-size", 719),
    ),
    Situation(
        "the same, with --nodes 2", hostfile(MANY_HOSTS), False, ("--epochs", 1, "--nodes", 2)
    ),
    Situation("an MTU of 576 at one end", there("ip link set eth0 mtu 576")),
    Situation(
        "large packets to node2 are lost",
        there("iptables -A INPUT -p tcp -m length --length 1000:65535 -j DROP"),
        is_wrong=True,
    ),
    Situation("1 % of packets lost, both ways", everywhere(f"{LOSS} 0.01 -j DROP")),
    Situation("20 % of packets lost, both ways", everywhere(f"{LOSS} 0.2 -j DROP"), is_wrong=True),
    Situation(
        "a firewall on node1 drops new connections",
        there(f"{TO_ANY_PORT} -j DROP", 0),
        is_wrong=True,
    ),
    Situation(
        "a firewall on node2 refuses new connections",
        there(f"{TO_ANY_PORT} -j REJECT"),
        is_wrong=True,
    ),
    Situation(
        "one address of another network on both (docker0)",
        everywhere(
            "ip link add docker0 type bridge && ip address add 172.17.0.1/16 dev docker0 && ip link"
            " set docker0 up"
        ),
    ),
    Situation("two ranks a node", nothing, options=("--epochs", 2, "--ranks-per-node", 2)),
    Situation(
        "7 samples for three hosts", nothing, options=("--epochs", 1, "--batch-size", 7), hosts=3
    ),
    Situation("1 sample for two hosts", nothing, True, ("--epochs", 1, "--batch-size", 1)),
    Situation(
        "a learning rate that diverges", nothing, True, ("--epochs", 2, "--learning-rate", 1e300)
    ),
    Situation("another run on the same hosts at once", neighbour),
    Situation("Ctrl-C twice", nothing, True, ENDLESS, during=harness(signal.SIGINT, 2)),
    Situation(
        "the terminal is closed (SIGHUP)", nothing, True, ENDLESS, during=harness(signal.SIGHUP)
    ),
    Situation("--resume with one host fewer", interrupted("node1\n"), options=RESUMED),
    Situation(
        "--resume with one host more",
        interrupted("node1\nnode2\nnode3\n"),
        options=RESUMED,
        hosts=3,
    ),
    Situation(
        "--resume at another learning rate",
        interrupted("node1\nnode2\n"),
        True,
        (*RESUMED, "--learning-rate", 0.3),
    ),
    Situation(
        "--resume from a damaged state",
        interrupted("node1\nnode2\n", damaged_states),
        True,
        RESUMED,
    ),
    Situation(
        "--resume with other data on node2",
        interrupted("node1\nnode2\n", own_data(rolled)),
        True,
        RESUMED,
    ),
)
