"""Faults of stall analyses, by check: those of suite.compliance.rules.records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.bundle.layout import MANIFEST
from suite.bundle.stall_folder import BatchSource
from tests.faults.edits.fault import Fault
from tests.faults.edits.stall_edits import (
    change_record,
    copy_run,
    exchange,
    of_analysis,
    reseal,
    set_requested,
)
from tests.faults.edits.submission_edits import delete_folder


def _halve_stall(content: Any) -> None:
    content["figures"]["read_stall_s"]["value"] *= 0.5


def _resealed(name: str, change: Callable[[Path], object]) -> Fault:
    """The change, with digests in the record and a manifest that fit."""
    return of_analysis(f"{name} [manifest fits]", reseal(change))


FAULTS: dict[str, tuple[Fault, ...]] = {
    "record-sealed": (
        of_analysis("a stall halved", change_record(_halve_stall)),
        of_analysis("cold and warm run exchanged", exchange(BatchSource.COLD, BatchSource.WARM)),
        of_analysis("the synthetic run lost", delete_folder(BatchSource.SYNTHETIC.value)),
        of_analysis("no manifest", lambda folder: (folder / MANIFEST).unlink()),
    ),
    "stalls-sources": (
        of_analysis("cold and warm run exchanged", exchange(BatchSource.COLD, BatchSource.WARM)),
        _resealed("the warm run is the cold one", copy_run(BatchSource.COLD, BatchSource.WARM)),
        _resealed(
            "the synthetic run said to have read",
            set_requested(BatchSource.SYNTHETIC, batches="read"),
        ),
    ),
    "record-recomputes": (
        _resealed("a stall halved", change_record(_halve_stall)),
        _resealed(
            "a warm run of another batch size",
            set_requested(BatchSource.WARM, global_batch_size=64),
        ),
        of_analysis("the warm run lost", delete_folder(BatchSource.WARM.value)),
        _resealed(
            "another device in the record",
            change_record(lambda content: content.update(device="orin")),
        ),
    ),
}
