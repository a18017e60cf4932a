"""Tries the edits on copies of the reference submission, relabelled to the open round: `python -m
proofs.outsider.third_list.trial`.

Three columns: whether `suite check` refuses the edited bundle, whether an audit of the edited run
contradicts it, and whether the record of a witness would, had it stamped the run before the edit.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from proofs.outsider.other_evidence import WITNESS_RULES, replayed
from proofs.outsider.samples import NEWER_REFERENCE as REFERENCE
from proofs.outsider.third_list.edits import Edit
from proofs.outsider.third_list.forged_copy import ForgedCopy
from proofs.outsider.third_list.judged import judged
from proofs.outsider.third_list.runs import RUNS
from proofs.outsider.third_list.submissions import SUBMISSIONS
from suite import api
from suite.errors import SuiteError
from suite.metrics.audit_record import AuditVerdict
from tests.faults.edits.witness_edits import witnessed
from tests.open_round import OPEN
from tests.relabelled import relabelled

FRAMEWORKS = ("chainer", "pytorch", "tensorflow")
EDITS = (*RUNS, *SUBMISSIONS)


def of_framework(submission: Path, framework: str) -> Path:
    """The first run of a framework in a submission."""
    return submission / "lenet" / framework / "run_1"


def edited(entry: Edit, folder: Path, is_witnessed: bool = False) -> Path:
    """The edited copy below ``folder``: of one run, or of the whole submission, whose runs had a
    witness's record before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the edited values may be impossible
        if entry.sample == "submission":
            path = relabelled(REFERENCE, folder / OPEN / "reference")
            for run in sorted(path.glob("lenet/*/run_*")) if is_witnessed else ():
                witnessed()(run)
            entry.change(path)
            return path
        path = relabelled(of_framework(REFERENCE, entry.sample), folder / "run")
        for framework in FRAMEWORKS:
            relabelled(of_framework(REFERENCE, framework), folder / "others" / framework)
        if is_witnessed:
            witnessed()(path)
        copy = ForgedCopy(path)
        entry.change(copy)
        copy.save()
        return path


def tried(entry: Edit) -> dict[str, Any]:
    """What `suite check` says of one edit."""
    with tempfile.TemporaryDirectory() as folder:
        return judged(edited(entry, Path(folder)))


def witness_rules(entry: Edit) -> list[str]:
    """The rules about witnesses that refuse the edit, where the runs were witnessed before it."""
    with tempfile.TemporaryDirectory() as folder:
        result = judged(edited(entry, Path(folder), is_witnessed=True))
    return [rule for rule in result.get("invalid", []) if rule.startswith(WITNESS_RULES)]


def audit_verdict(entry: Edit) -> str:
    """What an audit says of an edited run. A replay is made only where the edit changes what is
    replayed or compared: else it agrees."""
    if entry.sample == "submission":
        return "several runs"
    with tempfile.TemporaryDirectory() as folder:
        path = edited(entry, Path(folder))
        if replayed(path) == replayed(of_framework(REFERENCE, entry.sample)):
            return AuditVerdict.AGREES.value
        try:
            return api.audit(path).verdict.value
        except SuiteError as error:
            return f"cannot be replayed: {error}"


def main() -> int:
    """Try the edits, one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a name")
    options = parser.parse_args()
    for entry in EDITS:
        if options.only in entry.name:
            result = tried(entry)
            rules = " ".join(result.get("invalid", [])) + result.get("error", "")
            others = (
                f"audit: {audit_verdict(entry)}; if witnessed before:"
                f" {' '.join(witness_rules(entry)) or 'nothing'}"
            )
            print(
                f"{result['outcome']:22}{entry.level:16}{entry.name:40}{rules or 'no rule'};"
                f" {others}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
