"""Lines, answers and traces of real boards, beside the checkout: test input only, absent on most
machines."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from suite.files.paths import repository_root

FOLDER = (
    Path(os.environ.get("SUITE_TEST_DATA", repository_root().parent / "shared" / "data")) / "boards"
)
# as the traces' columns follow one another
RAILS = ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", "VDDQ_VDD2_1V8AO")
needs_recordings = pytest.mark.skipif(
    not FOLDER.is_dir(),
    reason=f"needs the recordings of real boards in {FOLDER} (set SUITE_TEST_DATA)",
)

Trace = tuple[npt.NDArray[np.float64], dict[str, npt.NDArray[np.float64]]]


def tegrastats_lines() -> dict[str, str]:
    """Each board's recorded line."""
    names, lines = [], []
    for line in (FOLDER / "tegrastats.txt").read_text(encoding="utf-8").splitlines():
        (names if line.startswith("#") else lines).append(line.removeprefix("# "))
    return dict(zip(names, lines, strict=True))


def traces() -> dict[str, Trace]:
    """Times, s, and power of every rail, W, of each trace of an AGX Orin; the last line holds the
    recorder's own totals and is left out."""
    found = {}
    for path in sorted(FOLDER.glob("orin-*.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
            rows = np.array(
                [[float(cell) for cell in row[:5]] for row in list(csv.reader(stream))[1:-1]]
            )
        found[path.name.removesuffix(".csv.gz")] = (
            rows[:, 0],
            {rail: rows[:, place] / 1000 for place, rail in enumerate(RAILS, start=1)},
        )
    return found
