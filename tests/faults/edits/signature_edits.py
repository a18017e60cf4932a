"""Edits of signed submissions."""

from collections.abc import Callable
from pathlib import Path

from suite.submission.folder_names import LISTING, SIGNATURE
from suite.submission.signature import sign_submission
from tests.faults.edits.fault import edit
from tests.faults.edits.keys import signing_key


@edit
def signed(submission: Path, *changes: Callable[[Path], object]) -> None:
    """Sign the submission, then apply the changes."""
    sign_submission(submission, signing_key())
    for change in changes:
        change(submission)


@edit
def replace_listing(submission: Path) -> None:
    """Write the listing of the present files; the signature stays that of the listing before."""
    signature = (submission / SIGNATURE).read_bytes()
    for name in (LISTING, SIGNATURE):
        (submission / name).unlink()
    sign_submission(submission, signing_key())
    (submission / SIGNATURE).write_bytes(signature)
