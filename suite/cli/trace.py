"""`suite trace RUN`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from suite import api
from suite.bundle.reader import Bundle
from suite.cli.json_output import print_json
from suite.cli.options import Json
from suite.files.durable import refuse_existing


def trace(
    run: Annotated[Path, Argument(help="Run directory; its bundle need not be sealed.")],
    output: Annotated[
        Path | None,
        Option(
            help=(
                "File to write, compressed if its name ends with .gz (default: <run>.trace.json.gz"
                " beside the run)."
            )
        ),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace an existing file.")] = False,
    json: Json = False,
) -> None:
    """Write a run as a trace for Perfetto or chrome://tracing: ranks, steps and readings on one
    clock."""
    from suite.metrics.trace_file import default_path  # start-up: NumPy

    Bundle(run).expect_run()
    target = output or default_path(run)
    refuse_existing(target, force)
    written = api.trace(run, target)
    if json:
        print_json("trace", vars(written))
        return
    print(
        f"{written.path}: {written.events} events. Open it in https://ui.perfetto.dev or"
        " chrome://tracing."
    )
    for sentence in written.left_out:
        print(f"left out: {sentence}")
