"""`suite trace RUN`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from suite import api
from suite.cli.json_output import print_json
from suite.cli.options import Json


def trace(
    run: Annotated[Path, Argument(help="Run directory, closed or not.")],
    output: Annotated[
        Path | None,
        Option(
            help=(
                "File to write, compressed if its name ends with .gz (default: <run>.trace.json.gz"
                " beside the run)."
            )
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write a run as a trace for Perfetto or chrome://tracing: ranks, steps and readings on one
    clock."""
    written = api.trace(run, output)
    if json:
        print_json("trace", vars(written))
        return
    print(
        f"{written.path}: {written.events} events. Open it in https://ui.perfetto.dev or"
        " chrome://tracing."
    )
    for sentence in written.left_out:
        print(f"left out: {sentence}")
