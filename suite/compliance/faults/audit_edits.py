"""Adds the record of an audit to a submission: an honest one, or an edited one."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from suite import __version__
from suite.bundle.layout import MANIFEST
from suite.bundle.reader import Bundle
from suite.catalog.audit import FLOAT64, load_audit_tolerances
from suite.compliance.faults.fault import first_run
from suite.files.digest import sha256
from suite.files.toml_file import from_plain
from suite.submission.folders import audit_path

STEPS = 10


def add_audit(changes: Mapping[str, Any], judged: bool = False, number: int = 1) -> Callable[[Path], None]:
    """Add an audit of the first run that agrees, as run ``number``'s, with some values changed; keys are dotted, "plain" copies that list.

    With ``judged``, the verdict is recomputed after the change.
    """

    def change(submission: Path) -> None:
        run = first_run(submission)
        values = honest_audit(run)
        for name, value in changes.items():
            _set(values, name, values["losses"]["plain"] if value == "plain" else value)
        if judged:
            _judge(values)
        path = audit_path(submission, run.with_name(f"run_{number}"))
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")

    return change


def honest_audit(run: Path) -> dict[str, Any]:
    """The record of an audit that replayed the run's own losses, as plain values."""
    from suite.metrics.replayed_losses import ReplayedLosses, compare_losses, recorded_losses  # start-up: loads numpy

    bundle, request = Bundle(run), Bundle(run).run().request
    recorded, tolerances = recorded_losses(bundle.steps(), STEPS), load_audit_tolerances(request["workload"])
    of = {name: tolerances.of(request["framework"], partner, STEPS) for name, partner in (("plain", request["framework"]), ("wide", FLOAT64))}
    losses = ReplayedLosses(recorded, recorded, None, of["plain"], of["wide"])
    replayer = {
        "framework": request["framework"], "framework_version": "1.0", "threads": 1, "architecture": "x86_64", "cpu_model": None, "board": None,
        "data_verified": True,
    }  # fmt: skip
    audited = {
        "run_id": bundle.run().run_id,
        "manifest_sha256": sha256(run / MANIFEST),
        **{name: request[name] for name in ("workload", "framework", "division", "seed", "global_batch_size")},
        "base_learning_rate": request["optimizer"]["base_learning_rate"],
        "ranks": request["parallel"]["ranks"],
    }
    return _plain({
        "schema": 1, "suite_version": __version__, "bundle": audited, "replayer": replayer, "steps": STEPS, "losses": losses,
        "with_other_rate": None, "comparison": compare_losses(losses), "rate_error_found": None, "reason": None, "time_s": 5.0,
    })  # fmt: skip


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Dataclasses and tuples as JSON has them."""
    plain: dict[str, Any] = json.loads(json.dumps(values, default=asdict))
    return plain


def _set(values: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        values = values[parent]
    values[int(last) - 1 if isinstance(values, list) else last] = value


def _judge(values: dict[str, Any]) -> None:

    from suite.metrics.replayed_losses import ReplayedLosses, compare_losses  # start-up: loads numpy

    values["comparison"] = _plain({"comparison": compare_losses(from_plain(values["losses"], ReplayedLosses, ""))})["comparison"]
