"""Adds a signed review to a submission: an honest one, or an edited one."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reference_impls.contract import log_name
from suite import __version__
from suite.bundle.layout import MANIFEST
from suite.bundle.log import chain_head
from suite.bundle.reader import Bundle
from suite.files.digest import sha256
from suite.metrics.epoch_draw import drawn_epoch
from suite.submission.evidence import sign_evidence
from suite.submission.folder_names import read_folders, review_path
from tests.faults.edits.audit_edits import honest_audit, honest_state, set_value_at
from tests.faults.edits.fault import edit
from tests.faults.edits.keys import signing_key

BY = "lab"


def fresh_value(runs: Iterable[Path]) -> str:
    """A drawn value; each run's epoch is followed by another one, whose losses can be replayed."""
    draws = [
        (str(chain_head(run / log_name(0))), len(Bundle(run).log().finished_epochs()))
        for run in runs
    ]
    values = (hashlib.md5(b"%d" % number).hexdigest() for number in range(1000))
    return next(
        value
        for value in values
        if all(drawn_epoch(head, value, epochs) < epochs for head, epochs in draws)
    )


def honest_review(submission: Path, by: str = BY) -> dict[str, Any]:
    """The record of a review that replayed every run's own losses from a drawn state."""
    folders = {
        folder.path.relative_to(submission).as_posix(): folder.path
        for folder in read_folders(submission)[0]
    }
    manifests = {name: sha256(path / MANIFEST) for name, path in folders.items()}
    runs, value = {}, fresh_value(folders.values())
    for name, path in folders.items():
        epochs = len(Bundle(path).log().finished_epochs())
        epoch = drawn_epoch(str(chain_head(path / log_name(0))), value, epochs)
        audit = {**honest_audit(path), "state": honest_state(path, epoch, value)}
        digest = manifests[name]
        runs[name] = {"manifest_sha256": digest, "epoch": epoch, "audit": audit, "reason": None}
    drawn = {"date": "2027-02-01T00:00:00Z", "value": value, "manifests": manifests}
    return {
        "schema": 1,
        "suite_version": __version__,
        "organization": by,
        "date": "2027-02-02T00:00:00Z",
        "architecture": "x86_64",
        "cpu_model": None,
        "submission": "/".join(submission.resolve().parts[-2:]),
        "draws": [drawn],
        "runs": runs,
        "models": {},
        "time_s": 60.0,
    }


@edit
def add_review(submission: Path, changes: Mapping[str, Any], by: str = BY) -> None:
    """Add a signed review, with some values of its first run and its draw changed; keys are
    dotted."""
    values = honest_review(submission, by)
    run = next(iter(values["runs"].values()))
    parts = {"run": run, "draw": values["draws"][0], "record": values}
    for name, value in changes.items():
        set_value_at(parts, name, value)
    path = review_path(submission, by)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")
    sign_evidence(path, signing_key())


@edit
def edit_signed_review(submission: Path) -> None:
    """Change a review after it was signed."""
    add_review({})(submission)
    path = review_path(submission, BY)
    path.write_text(path.read_text(encoding="utf-8").replace("60.0", "61.0"), encoding="utf-8")
