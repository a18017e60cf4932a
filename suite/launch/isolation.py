"""Isolation of an implementation from the rest of the machine: nothing, or Linux namespaces of its own."""

import enum
import os
import shutil
import subprocess
from collections.abc import Sequence

from suite.errors import SuiteError

SHORT_S = 10.0
INSTALL = {"podman": "apt-get install podman", "docker": "see docs.docker.com"}
NEAREST = "--isolation namespace needs no engine"


class Isolation(str, enum.Enum):
    """What an implementation is started in. The engines are named so that their absence can be."""

    NONE = "none"
    NAMESPACE = "namespace"
    PODMAN = "podman"
    DOCKER = "docker"


NAMESPACES = ("mount", "uts", "ipc", "net", "pid")
"""Namespaces that the implementation gets for itself. Time is not among them: records of the harness and of the implementation share a clock."""


def isolated(kind: Isolation | None, command: Sequence[str]) -> list[str]:
    """The command within its isolation. The process that is started stays the parent of what trains, so that meters find it."""
    if kind is not Isolation.NAMESPACE:
        return list(command)
    return [*_unshare(), "--", *command]


def refuse_isolation(kind: Isolation | None, ranks: int = 1) -> None:
    """Raise SuiteError where this machine or user cannot isolate an implementation so; the sentence names the nearest thing that works."""
    if kind in (None, Isolation.NONE):
        return
    if kind in (Isolation.PODMAN, Isolation.DOCKER):
        raise SuiteError(_engine(kind.value))
    if ranks > 1:
        raise SuiteError(f"--isolation {kind.value} is for one rank: {ranks} ranks talk over the machine's network; leave it out, or use one rank.")
    try:
        tried = subprocess.run([*_unshare(), "--", "true"], capture_output=True, text=True, timeout=SHORT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SuiteError(f"--isolation namespace needs the program unshare (util-linux): {error}; --isolation none needs nothing.") from error
    if tried.returncode != 0:
        said = (tried.stderr.strip().splitlines() or ["no message"])[-1]
        raise SuiteError(f"This user may not make namespaces here ({said}); type sudo before the command, or use --isolation none.")


def describe_isolation(kind: Isolation | None) -> dict[str, object] | None:
    """What a run's record says of it; None where nobody asked for any."""
    if kind is None:
        return None
    if kind is Isolation.NONE:
        return {"kind": kind.value}
    version = subprocess.run(["unshare", "--version"], capture_output=True, text=True, timeout=SHORT_S).stdout.strip()
    return {"kind": kind.value, "program": version, "namespaces": [*([] if _is_root() else ["user"]), *NAMESPACES]}


def _unshare() -> list[str]:
    user = [] if _is_root() else ["--user", "--map-current-user"]
    return ["unshare", *user, *(f"--{name}" for name in NAMESPACES), "--fork", "--kill-child", "--mount-proc"]


def _is_root() -> bool:
    return os.geteuid() == 0


def _engine(name: str) -> str:
    if shutil.which(name) is None:
        return f"{name} is not installed here ({INSTALL[name]}); {NEAREST}."
    return f"{name} starts containers outside the harness's process tree, where no meter would find them; {NEAREST}."
