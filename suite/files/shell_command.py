"""Commands that a message tells a person to type."""

import shlex


def shell_command(command: str, *words: object) -> str:
    """The command with these words after it, quoted where a shell would read another word: a path
    may have spaces."""
    return f"{command} {shlex.join(map(str, words))}"
