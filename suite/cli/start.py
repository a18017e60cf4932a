"""Entry point of the `suite` command: imports the command line where Ctrl-C ends it with a sentence, too. On a board this takes seconds."""

import sys

from suite.execution.interrupts import exit_at_signals, interrupt_at_signals

COULD_NOT = 2


def main() -> None:
    """Run the command that was typed; Ctrl-C, once or many times, ends it with one sentence."""
    interrupt_at_signals()
    try:
        from suite.cli.app import main as run_command  # the import that is guarded

        run_command()
    except SystemExit as end:
        exit_at_signals(end.code if isinstance(end.code, int) else 0)
        raise
    except KeyboardInterrupt:
        print("error: Interrupted.", file=sys.stderr)
        exit_at_signals(COULD_NOT)
        sys.exit(COULD_NOT)
