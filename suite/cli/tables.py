"""Tables for people."""

import sys

from rich.console import Console
from rich.table import Table

PIPED_WIDTH = 160


def show_table(table: Table) -> None:
    """Print a table: as wide as the terminal, or for a pager or a file. Programs read --json."""
    Console(width=None if sys.stdout.isatty() else PIPED_WIDTH).print(table)
