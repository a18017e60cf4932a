"""Isolation of an implementation from the rest of the machine: nothing, Linux namespaces of its
own, or a container."""

import enum
import os
import shutil
import subprocess
from collections.abc import Sequence

from suite.errors import SuiteError
from suite.files.shell_command import with_sudo
from suite.launch.command import answer_of, last_line
from suite.launch.containers import describe_podman, refuse_podman

SHORT_S = 10.0


class Isolation(str, enum.Enum):
    """What an implementation is started in. Docker is named so that its refusal can be."""

    NONE = "none"
    NAMESPACE = "namespace"
    PODMAN = "podman"
    DOCKER = "docker"


NAMESPACES = ("mount", "uts", "ipc", "net", "pid")
"""Namespaces that the implementation gets for itself. Time is not among them: records of the
harness and of the implementation share a clock."""


def isolated_command(kind: Isolation | None, command: Sequence[str]) -> list[str]:
    """The command within its namespaces. The process that is started stays the parent of what
    trains, so that meters find it."""
    if kind is not Isolation.NAMESPACE:
        return list(command)
    return [*_unshare(), "--", *command]


def refuse_isolation(kind: Isolation | None, ranks: int = 1) -> None:
    """Raise SuiteError where this machine or user cannot isolate an implementation so; the sentence
    names the nearest thing that works."""
    if kind in (None, Isolation.NONE):
        return
    if kind is Isolation.DOCKER:
        raise SuiteError(_docker())
    if ranks > 1:
        raise SuiteError(
            f"--isolation {kind.value} is for one rank, because it cuts off the network over"
            f" which {ranks} ranks talk; leave --isolation out, or use one rank."
        )
    if kind is Isolation.PODMAN:
        refuse_podman()
        return
    try:
        tried = subprocess.run(
            [*_unshare(), "--", "true"], capture_output=True, text=True, timeout=SHORT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SuiteError(
            f"--isolation namespace needs the program unshare: {error}; install util-linux, or use"
            " --isolation none."
        ) from error
    if tried.returncode != 0:
        said = last_line(tried.stderr, "no message")
        or_sudo = "" if _is_root() else f"type `{with_sudo()}`, or "
        raise SuiteError(
            f"This user may not make namespaces here ({said}); {or_sudo}use --isolation none."
        )


def describe_isolation(kind: Isolation | None) -> dict[str, object] | None:
    """What a run's record says of it; None where nobody asked for any."""
    if kind is None:
        return None
    if kind is Isolation.NONE:
        return {"kind": kind.value}
    if kind is Isolation.PODMAN:
        return {"kind": kind.value, **describe_podman(), "namespaces": list(NAMESPACES)}
    return {
        "kind": kind.value,
        "program": answer_of("unshare", "--version"),
        "namespaces": [*([] if _is_root() else ["user"]), *NAMESPACES],
    }


def _unshare() -> list[str]:
    user = [] if _is_root() else ["--user", "--map-current-user"]
    return [
        "unshare",
        *user,
        *(f"--{name}" for name in NAMESPACES),
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]


def _is_root() -> bool:
    return os.geteuid() == 0


def _docker() -> str:
    where = (
        "is not installed here"
        if shutil.which("docker") is None
        else "starts its containers outside the harness's process tree"
    )
    return (
        f"docker {where}, and meters cannot find a training in docker's containers. Use"
        " --isolation podman, which runs the same image, or --isolation namespace, which needs"
        " no engine."
    )
