"""`suite data prepare NAME`."""

import json as json_format
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from suite.errors import SuiteError

app = typer.Typer(no_args_is_help=True, help="Prepare data sets.")
REFRESH_S = 0.5


@app.callback()
def _group() -> None:
    """Prepare data sets."""


@app.command()
def prepare(
    name: Annotated[str, typer.Argument(help="mnist, digits, …")],
    source: Annotated[Path | None, typer.Option("--from", help="The folder that holds the data set's files, plain or as .gz.")] = None,
    download: Annotated[bool, typer.Option("--download", help="Fetch the files from the network.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put a data set in its place, verified by SHA-256."""
    from suite.datasets import prepare as preparing
    from suite.datasets.definition import load_data_set

    if source is not None and download:
        raise SuiteError("--from takes files that are there and --download fetches them; give one of the two.")
    if source is not None:
        prepared = preparing.from_directory(name, source)
    elif download:
        definition = load_data_set(name)
        size = sum(file.download_size_bytes or 0 for file in definition.files)
        print(f"Downloading {definition.title}, {size / 1e6:.1f} MB, from {', '.join(definition.mirrors)} (the first that has it)", file=sys.stderr)
        try:
            prepared = preparing.from_network(name, _Progress())
        except KeyboardInterrupt:
            raise SuiteError(f"Interrupted; what has arrived is kept. To go on: suite data prepare {name} --download") from None
    else:
        prepared = preparing.make(name)
    if json:
        print(json_format.dumps({"name": name, "directory": str(prepared.directory), "files": [file.name for file in prepared.definition.files]}))
    else:
        print(f"{prepared.definition.title}: {prepared.directory}")


class _Progress:
    """One line that moves on a terminal, at most twice a second; nothing elsewhere."""

    def __init__(self) -> None:
        self._address, self._began_s, self._shown_s, self._first = "", 0.0, 0.0, 0

    def __call__(self, address: str, done: int, total: int | None) -> None:
        now_s = time.monotonic()
        if address != self._address:
            self._address, self._began_s, self._first = address, now_s, done
        if not sys.stderr.isatty() or (now_s - self._shown_s < REFRESH_S and done != total):
            return
        self._shown_s = now_s
        rate = (done - self._first) / max(now_s - self._began_s, 1e-3)
        left = f", {(total - done) / rate:.0f} s to go" if total and rate else ""
        end = "\n" if done == total else ""
        print(f"\r\x1b[K{address.rsplit('/', 1)[1]}: {done / 1e6:.1f} of {(total or 0) / 1e6:.1f} MB{left}", end=end, file=sys.stderr)
