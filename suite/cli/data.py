"""`suite data prepare NAME` and `suite data verify NAME`."""

import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from suite.catalog.data_sets import load_data_set
from suite.cli.completion import data_set_names
from suite.cli.json_output import print_json
from suite.cli.options import Json
from suite.datasets import prepare as preparing
from suite.datasets.layouts import decode_all
from suite.datasets.locate import PreparedDataSet, find_data_set
from suite.errors import SuiteError

app = typer.Typer(no_args_is_help=True)
REFRESH_S = 0.5
SAMPLES, SEED = 10000, 1
DIFFERS = 1
DataSetName = Annotated[
    str, Argument(autocompletion=data_set_names, help="Data set (`suite list data-sets`).")
]


@app.command()
def prepare(
    name: DataSetName,
    source: Annotated[
        Path | None,
        Option(
            "--from",
            help="The data set's archive, or a folder with its archive, its files (plain or .gz) or"
            " its photographs.",
        ),
    ] = None,
    download: Annotated[bool, Option("--download", help="Download the files.")] = False,
    synthetic: Annotated[
        bool,
        Option(
            "--synthetic",
            help="Generate data in the same layout, for machines without the real data.",
        ),
    ] = False,
    samples: Annotated[
        int, Option(help="Training samples to generate; a fifth as many are added for evaluation.")
    ] = SAMPLES,
    seed: Annotated[int, Option(min=0, max=2**32 - 1, help="Seed of the generated data.")] = SEED,
    json: Json = False,
) -> None:
    """Download, import or make a data set and verify its checksums."""
    _refuse_contradictions(source, download, synthetic, (samples, seed))
    if synthetic:
        prepared = preparing.generate_data_set(name, samples, seed)
    elif source is not None:
        count = partial(_Progress().count, f"pictures of {name}")
        prepared = preparing.from_directory(name, source, done=count)
    elif download:
        prepared = _download(name)
    else:
        prepared = preparing.make_data_set(name)
    _show(prepared, json)


def _refuse_contradictions(
    source: Path | None, download: bool, synthetic: bool, generated: tuple[int, int]
) -> None:
    if sum((source is not None, download, synthetic)) > 1:
        raise SuiteError(
            "--from imports data, --download fetches data and --synthetic generates data; choose"
            " one of the three."
        )
    if not synthetic and generated != (SAMPLES, SEED):
        raise SuiteError("--samples and --seed belong to --synthetic; add it, or leave them out.")


@app.command()
def verify(
    name: DataSetName,
    source: Annotated[
        Path | None,
        Option("--from", help="Folder of the data set (default: where it was prepared)."),
    ] = None,
    json: Json = False,
) -> None:
    """Verify checksums and decode every image. Exit code: 0 nothing differs from the published
    data, 1 something does."""
    prepared = find_data_set(name, source)
    progress = _Progress()
    decode_all(prepared.directory, lambda done, of: progress.count(f"decoding {name}", done, of))
    _show(prepared, json)
    if prepared.contents.different is not None:
        raise typer.Exit(DIFFERS)


def _download(name: str) -> PreparedDataSet:
    definition = load_data_set(name)
    addresses = definition.archive.addresses if definition.archive else definition.mirrors
    size = sum(file.download_size_bytes or file.size_bytes for file in definition.files)
    if addresses:
        print(
            f"Downloading {definition.title}, up to {size / 1e6:.1f} MB, from"
            f" {', '.join(addresses)} (tried in this order until one works)",
            file=sys.stderr,
        )
    try:
        return preparing.from_network(name, _Progress())
    except KeyboardInterrupt:
        raise SuiteError(
            "Interrupted; the part downloaded so far is kept. To continue: suite data prepare"
            f" {name} --download"
        ) from None


def _show(prepared: PreparedDataSet, json: bool) -> None:
    found = prepared.contents
    origin = (
        "synthetic"
        if prepared.is_synthetic
        else "as published"
        if found.verified
        else f"different: {found.different}"
        if found.different
        else "not verified: no checksum is known"
    )
    published = prepared.definition.train_samples
    of_published = (
        ""
        if prepared.is_synthetic or published in (None, found.train_samples)
        else f" of {published}"
    )
    if json:
        values = {
            "name": prepared.definition.name,
            "path": prepared.directory,
            "synthetic": prepared.is_synthetic,
            **vars(found),
        }
        print_json("data", values)
    else:
        print(f"{prepared.definition.title}: {prepared.directory}")
        print(
            f"{found.train_samples}{of_published} training and {found.eval_samples} evaluation"
            f" samples of {found.classes} classes; {origin}"
        )


class _Progress:
    """A line on a terminal, rewritten at most twice a second; nothing elsewhere."""

    def __init__(self) -> None:
        self._what, self._began_s, self._shown_s, self._first = "", 0.0, 0.0, 0

    def count(self, what: str, done: int, total: int) -> None:
        """Show a count of items, of which number ``done`` (from 0) is worked on."""
        self._show(what, done, total, f"{done + 1} of {total}", is_last=done + 1 == total)

    def __call__(self, address: str, done: int, total: int | None) -> None:
        """Show how many bytes have arrived."""
        said = f"{done / 1e6:.1f} of {(total or 0) / 1e6:.1f} MB"
        self._show(address, done, total, said, is_last=done == total)

    def _show(self, what: str, done: int, total: int | None, said: str, *, is_last: bool) -> None:
        """Show it, and how long the rest will take at the same rate."""
        now_s = time.monotonic()
        if what != self._what:
            self._what, self._began_s, self._first = what, now_s, done
        if not sys.stderr.isatty() or (now_s - self._shown_s < REFRESH_S and not is_last):
            return
        self._shown_s = now_s
        rate = (done - self._first) / max(now_s - self._began_s, 1e-3)
        left = f", {(total - done) / rate:.0f} s to go" if total and rate and not is_last else ""
        line, end = f"{what.rpartition('/')[2]}: {said}{left}", "\n" if is_last else ""
        print(f"\r\x1b[K{line}", end=end, file=sys.stderr)
