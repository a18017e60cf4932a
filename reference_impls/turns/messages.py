"""What the harness and the processes beside each other say: lines of text through two pipes.
Standard library only, Python 3.6 grammar.

A process gets two file descriptors: ``commands``, from the harness, and ``answers``, to it. Its
first answer is ``ready``. It ends when the harness closes ``commands``.
"""

import argparse
import importlib
import os
import select
from typing import Any, Callable, Optional

from reference_impls import contract

STEP_TIMES = "step_times.csv"
COLUMNS = ("start_ns", "end_ns", "samples")
"""The training's rows, one per step."""

READY, PAUSE, PAUSED, CONTINUE = "ready", "pause", "paused", "continue"


class Line:
    """The process's end of both pipes."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers, self._rest = commands, answers, b""

    def answer(self, text: str) -> None:
        """Send a line to the harness."""
        os.write(self._answers, (text + "\n").encode("ascii"))

    def command(self) -> Optional[str]:
        """The next line from the harness, waited for; None when the harness has closed the pipe."""
        while b"\n" not in self._rest:
            received = os.read(self._commands, 4096)
            if not received:
                return None
            self._rest += received
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("ascii")

    def has_command(self) -> bool:
        """Whether :meth:`command` returns at once."""
        return b"\n" in self._rest or bool(select.select([self._commands], [], [], 0)[0])


def main(
    description: str, act: Callable[[contract.Request, Callable[..., Any], Line], None]
) -> None:
    """The command line of both processes: ``--implementation MODULE --request FILE --commands FD
    --answers FD``.

    ``act`` gets the request, the module's ``build`` and the line. A violation of the contract is
    one sentence; exit codes: 0 the harness ended it, 1 and 2 errors.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--implementation", required=True, help="module with the function build(request, world)"
    )
    parser.add_argument("--request", required=True, help="the request file that the harness wrote")
    parser.add_argument(
        "--commands", required=True, type=int, help="file descriptor of the harness's commands"
    )
    parser.add_argument("--answers", required=True, type=int, help="file descriptor of the answers")
    arguments = parser.parse_args()
    try:
        build = importlib.import_module(arguments.implementation).build
        act(
            contract.read_request(arguments.request),
            build,
            Line(arguments.commands, arguments.answers),
        )
    except contract.ContractError as error:
        contract.fail(str(error))
