"""Entry point of the `suite` command: imports the command line where Ctrl-C ends it with a sentence, too. On a board this takes seconds."""

import sys

from suite.execution.interrupts import ignore_interrupts, interrupt_at_signals


def main() -> None:
    """Run the command that was typed; Ctrl-C, once or many times, ends it with one sentence."""
    interrupt_at_signals()
    try:
        from suite.cli.app import main as run_command  # the import that is guarded

        run_command()
    except KeyboardInterrupt:
        print("error: Interrupted.", file=sys.stderr)
        sys.exit(2)
    finally:
        ignore_interrupts()
