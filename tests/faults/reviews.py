"""Faults that the rules of suite.compliance.rules.reviews find, by check."""

from tests.faults.edits.fault import Fault, of_submission
from tests.faults.edits.review_edits import add_review, edit_signed_review

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-reviews": (
        of_submission("a review edited after it was signed", edit_signed_review()),
        of_submission("a review in another's name", add_review({"record.organization": "other"})),
        of_submission("a review with a key too many", add_review({"record.remark": "x"})),
        of_submission("a date that is none", add_review({"draw.date": "yesterday"})),
        of_submission(
            "a state drawn with another value", add_review({"run.audit.state.value": "x"})
        ),
        of_submission("a state that nobody drew", add_review({"run.audit.state.value": None})),
        of_submission("other losses", add_review({"run.audit.losses.recorded.3": 0.5})),
    ),
    "submission-reviewer": (of_submission("a key that nobody knows", add_review({})),),
}
