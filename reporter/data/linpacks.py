"""LINPACK records at or below the paths, as rows of the frame ``linpacks``."""

import hashlib
import math
from collections.abc import Iterable
from pathlib import Path

from reporter.data.folders import read_each
from reporter.data.frames import Row
from reporter.data.text import one_line, plain_or_none
from suite.bundle.layout import LINPACK_RECORD
from suite.errors import SuiteError
from suite.metrics.linpack_record import LINPACK, Linpack, find_linpacks, read_linpack, refuse_wrong


def read_linpacks(paths: Iterable[Path]) -> tuple[list[Row], list[Row]]:
    """Sealed records at or below the paths, each once, the fastest first, and rows of the frame
    ``broken`` for those that cannot be shown."""
    found, broken = read_each(paths, find_linpacks, _read)
    rows = {row["linpack_id"]: row for row in reversed(found)}
    return sorted(rows.values(), key=lambda row: (-row["gflops"], row["linpack_id"])), broken


def _read(folder: Path, place: str) -> Row:
    return {**_row(read_linpack(folder), folder), "place": place}


def _row(record: Linpack, folder: Path) -> Row:
    LINPACK.refuse_broken(folder)
    solution, power = refuse_wrong(record.solution), record.power
    if not (math.isfinite(solution.gflops) and solution.gflops > 0):
        raise SuiteError(
            f"{folder / LINPACK_RECORD}: {solution.gflops} GFLOPS is not a valid rate; run"
            " `suite linpack` again."
        )
    return {
        "linpack_id": hashlib.sha256((folder / LINPACK_RECORD).read_bytes()).hexdigest()[:10],
        "path": str((folder / LINPACK_RECORD).resolve()),
        "kind": one_line(record.kind, 20),
        "program": one_line(Path(record.program).name, 60),
        "device": one_line(record.device, 60),
        "cpu_model": plain_or_none(record.cpu_model),
        "nodes": record.nodes,
        "ranks": record.ranks,
        "threads_per_rank": record.threads_per_rank,
        "size": solution.problem.size,
        "gflops": solution.gflops,
        "residual": solution.residual,
        "gflops_per_watt": power.gflops_per_watt,
        "power_method": plain_or_none(power.method),
        "power_reason": plain_or_none(power.reason),
    }
