"""Faults that the rules of suite.compliance.rules.submission_layout find, by check."""

from suite.submission.declaration import NAME
from suite.submission.folder_names import LISTING, SIGNATURE
from tests.faults.edits.fault import Fault, of_submission
from tests.faults.edits.signature_edits import replace_listing, signed
from tests.faults.edits.submission_edits import add_file, add_link, set_value

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-signature": (
        of_submission("a file edited after signing", signed(set_value(NAME, "notes", "better"))),
        of_submission("a file added after signing", signed(add_file("probes/more.json"))),
        of_submission(
            "a file edited, and the listing made to fit",
            signed(set_value(NAME, "notes", "better"), replace_listing()),
        ),
        of_submission(
            "a listing without a signature",
            signed(lambda submission: (submission / SIGNATURE).unlink()),
        ),
        of_submission(
            "a signature without a listing",
            signed(lambda submission: (submission / LISTING).unlink()),
        ),
        of_submission(
            "a text in place of the signature",
            signed(lambda submission: (submission / SIGNATURE).write_text("acme\n")),
        ),
        of_submission(
            "a link in place of the signature",
            signed(
                lambda submission: (submission / SIGNATURE).unlink(),
                add_link(SIGNATURE, "/etc/hostname"),
            ),
        ),
    ),
    "submission-signer": (of_submission("a signature by a key that nobody knows", signed()),),
}
