"""Commands on other hosts: the SSH command line, and the script that starts a module of the suite
there."""

import re
import resource
import shlex
from collections.abc import Sequence
from pathlib import Path

from suite.files.paths import repository_root
from suite.launch.slurm import SRUN, host_command

SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
"""``-T``: a terminal (`RequestTTY force` in ~/.ssh/config) would change the lines that are sent."""
NO_SUITE, NO_INTERPRETER = 71, 72
"""Exit codes of :func:`module_script`: no suite in this host's path, none of the interpreters; its
last line of errors says why."""
LIST, DENIED = "LC_ALL=C ls -dL", "Permission denied"
"""The command that says why a path cannot be used, and what it says where the user may not."""
FILES, FILES_PER_HOST = 256, 16
"""Files that a process may need to have open: of its own, and for each host. The harness has four
for each (three pipes to the recorder, a rank's heartbeats)."""
SSH_ENDED = 255
"""ssh's own exit code: it could not connect, its connection was lost, or a signal ended the
command."""


def allow_open_files(hosts: int) -> None:
    """Raise this process's soft limit of open files, which mpirun inherits, to what N hosts
    need, as far as the hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES + FILES_PER_HOST * hosts
    if soft < needed and soft != resource.RLIM_INFINITY:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def remote_command(host: str, agent: str | None, script: str) -> list[str]:
    """The command that runs a shell script on ``host``; ``agent`` is a program that is started
    like ssh (None: ssh itself), or Slurm's srun."""
    if agent == SRUN:
        return host_command(host, script)
    return [*([agent] if agent else SSH), host, script]


def was_denied(exit_code: int, last_line: str) -> bool:
    """Whether a script of :func:`module_script` ended because the user may not use a path; the last
    line of its errors names it."""
    return exit_code in (NO_SUITE, NO_INTERPRETER) and DENIED in last_line


def typed_command(host: str, agent: str | None, command: str = "true") -> str:
    """What a person types to see whether a host can be reached."""
    return (
        f"{SRUN} --nodelist={host} {command}"
        if agent == SRUN
        else f"{agent or 'ssh'} {host} {command}"
    )


def module_script(interpreters: Sequence[Path], module: str, argument: str) -> str:
    """A command that runs ``python -m module argument`` in the suite's folder, which must have the
    same path on every host. Any login shell takes it, fish and csh too: sh runs the script in it.

    The first interpreter that exists is used. Exits with NO_SUITE or NO_INTERPRETER when one of
    them is missing.
    """
    pythons = " ".join(shlex.quote(str(interpreter)) for interpreter in interpreters)
    suite = shlex.quote(str(repository_root()))
    script = (
        f"cd {suite} && test -e reference_impls/node.py"
        f" || {{ {LIST} {suite}/reference_impls/node.py >&2; exit {NO_SUITE}; }}; "
        f'for python in {pythons}; do test -x "$python" && exec "$python" -m {module}'
        f" {shlex.quote(argument)}; done; "
        f'{LIST} "$python" >&2; exit {NO_INTERPRETER}'
    )
    # within quotes csh would expand "!", and fish shorten two backslashes
    return "exec sh -c " + re.sub(r"[\\!]", r"'\\\g<0>'", shlex.quote(script))
