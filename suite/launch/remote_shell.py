"""Commands on other hosts: the SSH command line, and the script that starts a module of the suite
there."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from suite.files.paths import repository_root
from suite.launch.slurm import SRUN, host_command

SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
NO_SUITE, NO_INTERPRETER = 71, 72
"""Exit codes of :func:`module_script`: no suite in this host's path, none of the interpreters."""
SSH_ENDED = 255
"""ssh's own exit code: it could not connect, its connection was lost, or a signal ended the
command."""


def remote_command(host: str, agent: str | None, script: str) -> list[str]:
    """The command that runs a shell script on ``host``; ``agent`` is a program that is called like
    ssh (None: ssh itself), or Slurm's srun."""
    if agent == SRUN:
        return host_command(host, script)
    return [*([agent] if agent else SSH), host, script]


def typed_command(host: str, agent: str | None, command: str = "true") -> str:
    """What a person types to see whether a host can be reached."""
    return (
        f"{SRUN} --nodelist={host} {command}"
        if agent == SRUN
        else f"{agent or 'ssh'} {host} {command}"
    )


def module_script(interpreters: Sequence[Path], module: str, argument: str) -> str:
    """A shell script that runs ``python -m module argument`` in the suite's folder, which must have
    the same path on every host.

    The first interpreter that exists is used. Exits with NO_SUITE or NO_INTERPRETER when one of
    them is missing.
    """
    pythons = " ".join(shlex.quote(str(interpreter)) for interpreter in interpreters)
    return (
        f"cd {shlex.quote(str(repository_root()))} && test -e reference_impls/node.py || exit"
        f" {NO_SUITE}; "
        f'for python in {pythons}; do test -x "$python" && exec "$python" -m {module}'
        f" {shlex.quote(argument)}; done; "
        f"exit {NO_INTERPRETER}"
    )
