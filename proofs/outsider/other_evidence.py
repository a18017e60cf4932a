"""What a replay and a witness's record say of the outsider's lies, beside the checker: the columns
*audit* and *witness* of the score.

A lie is witnessed where its sample had a witness's record over log and files before it was edited.
It is audited on the one sample that was trained (``real``): on the others, whose losses were made
up, a replay contradicts the sample itself.
"""

import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from proofs.outsider.edits import EDITED, Lie, Submission, save
from proofs.outsider.samples import copy_of, opened
from proofs.outsider.trial import findings, lie_at
from suite import api
from suite.bundle.reader import Bundle
from suite.compliance.finding import Severity
from suite.errors import SuiteError
from suite.metrics.audit_record import AuditVerdict
from tests.faults.edits.witness_edits import witnessed

TRAINED = "real"
# runs of an analysis have no witness; the other was sealed before there was one
NOT_WITNESSED = ("stall_folder", "reference")
FREE = frozenset(
    {
        "output_directory",
        "cache_cleared",
        "organization",
        "platform",
        "threads",
        "loading",
        "batches",
        "target_accuracy",
        "epochs",
    }
)
STEPS = 10
WITNESS_RULES = "witness-"


def witnessed_lie(place: tuple[str, int]) -> tuple[str, tuple[str, ...] | None]:
    """Name of the lie at this place, and :func:`witness_rules` of it."""
    lie = lie_at(place)
    return lie.name, witness_rules(lie)


def witness_rules(lie: Lie) -> tuple[str, ...] | None:
    """The rules about witnesses that refuse this lie where its sample was witnessed before; None if
    that sample cannot be."""
    if lie.needs in NOT_WITNESSED:
        return None
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the edited values may be impossible
        path = copy_of(lie.needs, Path(folder))
        for run in _runs(path):
            witnessed()(run)
        edited = opened(lie.needs, path)
        try:
            lie.change(edited)
            if lie.sealed:
                save(edited)
        except Exception:  # noqa: BLE001  counted as not applied by the checker's column
            return None
        fired, _ = findings(path)
    return tuple(sorted(rule for rule in fired[Severity.INVALID] if rule.startswith(WITNESS_RULES)))


def _runs(path: Path) -> Iterator[Path]:
    yield from [run for run in path.glob("*/*/run_*") if run.is_dir()] or [path]


def audit_verdict(lie: Lie) -> str:
    """What `suite audit` says of this lie about a run that was trained: a verdict, or why there is
    none.

    Not audited are edited records whose losses the editing tool made up, where the lie's author
    would have left the run's own. A replay is made only where the lie changes what it is made of,
    or compared with: the others agree as the sample does.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if lie.needs == "submission" or lie.needs in NOT_WITNESSED:
            return "is not about one run"
        path = copy_of(TRAINED, Path(folder))
        edited = opened(TRAINED, path)
        before = replayed(path)
        try:
            assert not isinstance(edited, Submission)
            lie.change(edited)
            if lie.sealed:
                save(edited)
        except Exception:  # noqa: BLE001  it is about another sample: several ranks, a power meter, a submission
            return "does not apply to a trained run"
        try:
            if lie.level == EDITED and getattr(edited, "losses_are_invented", False):
                return "has losses that the editing tool made up"
            return (
                AuditVerdict.AGREES.value
                if replayed(path) == before
                else api.audit(path).verdict.value
            )
        except (SuiteError, OSError, ValueError, KeyError) as error:
            return f"cannot be replayed: {error}"


def replayed(path: Path) -> str:
    """What an audit reads of a bundle: request and first losses."""
    bundle = Bundle(path)
    request = {
        name: value
        for name, value in bundle.json("run.json")["request"].items()
        if name not in FREE
    }
    request["data"] = {
        name: value
        for name, value in request["data"].items()
        if name not in ("directory", "verified")
    }
    return json.dumps(
        [request, [float(loss) for loss in bundle.steps().loss[:STEPS]]], sort_keys=True
    )
