"""Commands that a message tells a person to type."""

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from suite.files.paths import HOME_VARIABLE, suite_home


def shell_command(command: str, *words: object) -> str:
    """The command with these words after it, quoted where a shell would read another word: a path
    may have spaces."""
    return f"{command} {shlex.join(map(str, words))}"


def with_sudo(arguments: Iterable[str] | None = None) -> str:
    """This command line, or `suite` with other arguments, as root: with the program's whole path
    and this user's folder of environments and data, since sudo searches other ones."""
    home, program = f"{HOME_VARIABLE}={suite_home()}", Path(sys.argv[0]).absolute()
    typed = sys.argv[1:] if arguments is None else arguments
    return shell_command("sudo env", home, program, *typed)
