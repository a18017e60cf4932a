"""Faults that the rules of suite.compliance.rules.audits find, by check."""

from tests.faults.edits.audit_edits import add_audit
from tests.faults.edits.fault import Fault, of_submission

OTHER_COUNT = {"state.correct": 9990, "state.replayed_correct": 9990}


OTHER_STEP = {"state.losses.plain.2": 9.0, "state.losses.float64": "state"}


OTHER_LOSSES = {"state.losses.recorded.2": 0.5, "state.losses.plain.2": 0.5}

OVERFLOWING = [{"mean_loss": loss, "apart_loss": 1.0, "correct": 1} for loss in (1e308, -1e308) * 3]

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-audits": (
        of_submission(
            "an audit of another manifest", add_audit({"bundle.manifest_sha256": "0" * 64})
        ),
        of_submission(
            "an audit that contradicts",
            add_audit({"losses.plain.3": 9.0, "losses.float64": "plain"}, judged=True),
        ),
        of_submission(
            "an audit whose verdict does not follow",
            add_audit({"losses.plain.3": 9.0, "losses.float64": "plain"}),
        ),
        of_submission(
            "an audit with a wider tolerance",
            add_audit({"losses.tolerances.3": 10.0}, judged=True),
        ),
        of_submission(
            "an audit of other losses",
            add_audit({"losses.recorded.3": 0.5, "losses.plain.3": 0.5}, judged=True),
        ),
        of_submission("an audit of another seed", add_audit({"bundle.seed": 77})),
        of_submission("an audit with a missing loss", add_audit({"steps": 11})),
        of_submission("an audit with a key too many", add_audit({"bundle.remark": "x"})),
        of_submission("an audit of another schema", add_audit({"schema": 9})),
        of_submission("an audit of a run that is not there", add_audit({}, number=9)),
        of_submission("an audit with an invented power", add_audit({"rate_error_found": 1e-9})),
        of_submission(
            "a state of another epoch than the drawn one",
            add_audit({}, state=2, value="a value"),
        ),
        of_submission(
            "a state of an epoch that was not trained", add_audit({"state.epoch": 9}, state=2)
        ),
        of_submission(
            "a state with another number of correct samples", add_audit(OTHER_COUNT, state=2)
        ),
        of_submission(
            "a state whose evaluation contradicts",
            add_audit({"state.replayed_correct": 9000}, state=2),
        ),
        of_submission(
            "a state whose steps contradict", add_audit(OTHER_STEP, judged=True, state=2)
        ),
        of_submission(
            "an epoch whose replays learn less",
            add_audit({"state.epoch_after.recorded.apart_loss": 0.5}, state=2),
        ),
        of_submission(
            "an epoch with another mean loss",
            add_audit({"state.epoch_after.recorded.mean_loss": 0.1}, state=2),
        ),
        *(
            of_submission(
                f"an epoch with {what}", add_audit({f"state.epoch_after.{name}": value}, state=2)
            )
            for what, name, value in (
                ("more steps than memory holds", "steps", 10**13),
                ("a hundred times the samples evaluated", "eval_samples", 10**6),
                ("correct samples of the replays alone", "recorded.correct", None),
                ("losses that overflow", "replayed", OVERFLOWING),
            )
        ),
        of_submission(
            "an epoch that counted other samples",
            add_audit(
                {"state.epoch_after.samples": 8, "state.epoch_after.expected_samples": 8}, state=2
            ),
        ),
        of_submission("a state with other losses", add_audit(OTHER_LOSSES, judged=True, state=2)),
        of_submission(
            "a state without the steps after it",
            add_audit({"state.losses": "none", "state.comparison": None}, state=2),
        ),
    ),
}
