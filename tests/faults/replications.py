"""Faults of replications, by check: those of suite.compliance.rules.records."""

from typing import Any

from suite.bundle.layout import MANIFEST
from tests.faults.edits.fault import Fault
from tests.faults.edits.replication_edits import (
    change_replication,
    copy_first_run,
    halve_fresh_times,
    lose_run,
    of_replication,
    resealed,
)


def _confirm(content: Any) -> None:
    content["comparisons"]["times"]["verdict"] = content["comparisons"]["verdict"] = "confirmed"
    content["comparisons"]["times"]["ratio"] = 1.001


def _halve_fresh(content: Any) -> None:
    for run in content["runs"]:
        run["time_to_epoch_s"] /= 2


def _other_maker(content: Any) -> None:
    content["organization"] = "somebody else"


def _later_originals(content: Any) -> None:
    for run in content["originals"]:
        run["started_time_ms"] += 10**12


FAULTS: dict[str, tuple[Fault, ...]] = {
    "record-sealed": (
        of_replication("a verdict changed", change_replication(_confirm)),
        of_replication("a fresh run lost", lose_run(2)),
        of_replication("no manifest", lambda folder: (folder / MANIFEST).unlink()),
    ),
    "replication-maker": (
        resealed("another organization", change_replication(_other_maker)),
        resealed("originals that began later", change_replication(_later_originals)),
    ),
    "record-recomputes": (
        resealed("a verdict changed", change_replication(_confirm)),
        resealed("the fresh runs' times halved in the record", change_replication(_halve_fresh)),
        resealed("a fresh run lost", lose_run(2)),
        resealed("a fresh run that is a copy of the first", copy_first_run(3)),
        resealed("an unknown key", change_replication(lambda content: content.update(remark="x"))),
        resealed("another schema", change_replication(lambda content: content.update(schema=9))),
        resealed("no original", change_replication(lambda content: content.update(originals=[]))),
        resealed("a fresh run with half the times", halve_fresh_times(2)),
    ),
}
