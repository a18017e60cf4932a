"""Bundles of small files that unpack to millions of rows or values are checked in bounded memory
and time: `make prove hostile-sizes`."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from benchmarks.runner.child import Usage, usage_of
from benchmarks.runner.training import SUITE
from proofs.figures import hand_over
from suite.bundle.layout import MANIFEST, READINGS, STEPS, SUMMARY, SYSTEM
from suite.bundle.manifest import seal
from tests.builders import RICH, make_bundle

MAX_MIB = 300
MILLIONS = 8_000_000

Edit = Callable[[Path], object]


def equal_readings(rows: int) -> Edit:
    """A table of one reading, repeated."""

    def edit(bundle: Path) -> None:
        texts = {
            name: pyarrow.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [text])
            for name, text in (("source", "cpu"), ("unit", "%"))
        }
        columns = {
            "t_ns": np.full(rows, 10**12),
            "source": texts["source"],
            "channel": texts["source"],
            "value": np.zeros(rows),
            "unit": texts["unit"],
        }
        pyarrow.parquet.write_table(
            pyarrow.table(columns), bundle / READINGS, compression="zstd", store_schema=False
        )

    return edit


def equal_steps(bundle: Path) -> None:
    """A table of one step, repeated."""
    first = pyarrow.parquet.read_table(bundle / STEPS).slice(0, 1)
    pyarrow.parquet.write_table(
        first.take(pyarrow.array(np.zeros(MILLIONS, np.int64))), bundle / STEPS, compression="zstd"
    )


def long_text(bundle: Path) -> None:
    """A table with a channel's name of 256 MiB."""
    first = pyarrow.parquet.read_table(bundle / READINGS).slice(0, 1)
    name = pyarrow.array(["x" * 2**28])
    pyarrow.parquet.write_table(
        first.set_column(2, "channel", name), bundle / READINGS, compression="zstd"
    )


def lists(bundle: Path) -> None:
    """A JSON file of five million lists."""
    (bundle / SUMMARY).write_bytes(b'{"a":[' + b"[]," * (5 * 2**20) + b"[]]}")


def emoji(bundle: Path) -> None:
    """A JSON file of one text, four bytes a character."""
    (bundle / SYSTEM).write_text('{"a":"' + "\U0001f600" * (7 * 2**19) + '"}', encoding="utf-8")


def nested_log(bundle: Path) -> None:
    """A log of nine million lists."""
    _append_to_log(
        bundle, b':::MLLOG {"key":"a","time_ms":1,"value":[' + b"[]," * 300_000 + b"[]]}\n", 30
    )


def long_log(bundle: Path) -> None:
    """A log of 450,000 events."""
    _append_to_log(
        bundle, b':::MLLOG {"key":"a","time_ms":1,"value":1,"metadata":{"a":1}}\n', 450_000
    )


def _append_to_log(bundle: Path, line: bytes, times: int) -> None:
    with (bundle / "log.txt").open("ab") as stream:
        stream.write(line * times)


HOSTILE: dict[str, Edit] = {
    "8 million equal readings": equal_readings(MILLIONS),
    "2.4 million equal readings, as many as the log's time allows": equal_readings(2_400_000),
    "8 million equal steps": equal_steps,
    "a name of 256 MiB": long_text,
    "JSON of 5 million lists": lists,
    "JSON of 3.7 million emoji": emoji,
    "a log of 9 million lists": nested_log,
    "a log of 450,000 events": long_log,
}


def check(folder: Path, edit: Edit) -> tuple[Usage, int]:
    """Memory and time of `suite check` for a bundle after an edit, and the size of its files,
    bytes."""
    bundle = make_bundle(folder / "bundle", RICH)
    edit(bundle)
    (bundle / MANIFEST).unlink()
    seal(bundle)
    return usage_of([SUITE, "check", "--json", bundle]), sum(
        file.stat().st_size for file in bundle.iterdir()
    )


def main() -> int:
    """Print a row per bundle; exit code 1 if one took more than MAX_MIB or could not be judged."""
    too_many, found = False, []
    print("| bundle | size | peak memory | CPU time |\n|---|---|---|---|")
    for name, edit in {"a good one": lambda bundle: None, **HOSTILE}.items():
        with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
            used, size_bytes = check(Path(folder), edit)
        found.append(used)
        too_many |= used.peak_mib > MAX_MIB or used.exit_code not in (0, 1)
        print(
            f"| {name} | {size_bytes / 2**10:.0f} KiB | {used.peak_mib:.0f} MiB |"
            f" {used.cpu_s:.1f} s |",
            flush=True,
        )
    peak_mib, cpu_s = max(used.peak_mib for used in found), max(used.cpu_s for used in found)
    hand_over(
        bundles=len(found),
        largest_peak_mib=round(peak_mib),
        allowed_peak_mib=MAX_MIB,
        largest_cpu_s=round(cpu_s, 1),
    )
    return int(too_many)


if __name__ == "__main__":
    sys.exit(main())
