"""Adds the record of an audit to a submission: an honest one, or an edited one."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reference_impls.contract import log_name
from suite import __version__
from suite.bundle.layout import MANIFEST
from suite.bundle.log import chain_head
from suite.bundle.reader import Bundle
from suite.catalog.audit_tolerances import FLOAT64, load_audit_tolerances
from suite.files.digest import sha256
from suite.files.schema import from_plain
from suite.metrics.epoch_draw import drawn_epoch
from suite.submission.folder_names import audit_path
from tests.faults.edits.fault import first_run

STEPS = 10
NO_LOSSES: Mapping[str, Any] = {
    "recorded": [],
    "plain": [],
    "float64": None,
    "tolerances": [],
    "tolerances_float64": [],
}


def add_audit(
    changes: Mapping[str, Any],
    judged: bool = False,
    number: int = 1,
    state: int | None = None,
    value: str | None = None,
) -> Callable[[Path], None]:
    """Add an audit of the first run that agrees, as run ``number``'s, with some values changed;
    keys are dotted.

    ``state`` is the epoch of a training state that was replayed, too; with ``value``, it is an
    epoch that this value does not draw. The values "plain" and "state" copy the plain losses of run
    and state, "none" empties all lists. With ``judged``, the verdicts are recomputed.
    """

    def change(submission: Path) -> None:
        run = first_run(submission)
        values = honest_audit(run)
        values["state"] = (
            None
            if state is None
            else honest_state(run, state if value is None else _not_drawn(run, value), value)
        )
        for name, new in changes.items():
            special = {
                "plain": values["losses"]["plain"],
                "state": (values["state"] or values)["losses"]["plain"],
                "none": NO_LOSSES,
            }
            set_value_at(values, name, special.get(new, new) if isinstance(new, str) else new)
        if judged:
            _judge(values)
        path = audit_path(submission, run.with_name(f"run_{number}"))
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")

    return change


def _not_drawn(run: Path, value: str) -> int:
    """An epoch that the value does not draw."""
    epochs, head = Bundle(run).log().finished_epochs(), chain_head(run / log_name(0))
    return next(epoch for epoch in epochs if epoch != drawn_epoch(str(head), value, len(epochs)))


def honest_audit(run: Path) -> dict[str, Any]:
    """The record of an audit that replayed the run's own losses, as plain values."""
    # start-up: loads numpy
    from suite.metrics.replayed_losses import ReplayedLosses, compare_losses, recorded_losses

    bundle, request = Bundle(run), Bundle(run).run().request
    recorded, tolerances = (
        recorded_losses(bundle.steps(), STEPS),
        load_audit_tolerances(request["workload"]),
    )
    of = {
        name: tolerances.per_step(request["framework"], partner, STEPS)
        for name, partner in (("plain", request["framework"]), ("wide", FLOAT64))
    }
    losses = ReplayedLosses(recorded, recorded, None, of["plain"], of["wide"])
    replayer = {
        "framework": request["framework"],
        "framework_version": "1.0",
        "threads": 1,
        "architecture": "x86_64",
        "cpu_model": None,
        "board": None,
        "data_verified": True,
    }
    audited = {
        "run_id": bundle.run().run_id,
        "manifest_sha256": sha256(run / MANIFEST),
        **{
            name: request[name]
            for name in ("workload", "framework", "division", "seed", "global_batch_size")
        },
        "base_learning_rate": request["optimizer"]["base_learning_rate"],
        "ranks": request["parallel"]["ranks"],
    }
    return _plain(
        {
            "schema": 1,
            "suite_version": __version__,
            "bundle": audited,
            "replayer": replayer,
            "steps": STEPS,
            "losses": losses,
            "with_other_rate": None,
            "comparison": compare_losses(losses),
            "rate_error_found": None,
            "reason": None,
            "time_s": 5.0,
        }
    )


def honest_state(run: Path, epoch: int, value: str | None) -> dict[str, Any]:
    """The part of a record that replayed the run's own losses after an epoch, and its own
    evaluation."""
    # start-up: loads numpy
    from suite.metrics.epoch_replays import MIN_REPLAYS, EpochReplays, replay_figures, samples_of
    from suite.metrics.replayed_losses import ReplayedLosses, compare_losses, recorded_losses

    bundle, request = Bundle(run), Bundle(run).run().request
    steps, framework = bundle.steps(), request["framework"]
    recorded = recorded_losses(steps, STEPS, int(steps.step[steps.epoch <= epoch].max()))
    tolerances = load_audit_tolerances(request["workload"])
    losses = ReplayedLosses(
        recorded,
        recorded,
        None,
        tolerances.per_step(framework, framework, STEPS),
        tolerances.per_step(framework, FLOAT64, STEPS),
    )
    correct = next(
        event.metadata["correct"]
        for event in bundle.log().all("eval_accuracy")
        if event.epoch == epoch
    )
    samples = request["data"]["eval_samples"]
    done = int(steps.step[steps.epoch <= epoch].max())
    count = int((steps.epoch == epoch + 1).sum())
    epoch_after = None
    if count:
        whole = (recorded_losses(steps, count, done), bundle.log().correct().get(epoch + 1))
        own, replayed = replay_figures(whole, [whole] * MIN_REPLAYS)
        seen = samples_of(steps, count, done)
        epoch_after = EpochReplays(count, seen, seen, samples, own, replayed)
    return _plain(
        {
            "epoch": epoch,
            "value": value,
            "losses": losses,
            "comparison": compare_losses(losses),
            "correct": correct,
            "replayed_correct": correct,
            "eval_samples": samples,
            "epoch_after": epoch_after,
        }
    )


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Dataclasses and tuples as JSON has them."""
    plain: dict[str, Any] = json.loads(json.dumps(values, default=asdict))
    return plain


def set_value_at(values: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        values = values[parent]
    values[int(last) - 1 if isinstance(values, list) else last] = value


def _judge(values: dict[str, Any]) -> None:

    # start-up: loads numpy
    from suite.metrics.replayed_losses import ReplayedLosses, compare_losses

    for part in (values, values["state"]):
        if part is not None:
            part["comparison"] = _plain(
                {"comparison": compare_losses(from_plain(part["losses"], ReplayedLosses, ""))}
            )["comparison"]
