"""Submissions: a signature covers every file, and says who submitted them."""

from collections.abc import Iterator

from suite.compliance.faults.fault import of_submission
from suite.compliance.faults.signature_edits import replace_listing, signed
from suite.compliance.faults.submission_edits import add_file, add_link, set_value
from suite.compliance.finding import Severity
from suite.compliance.rule import Violation
from suite.compliance.submission_rule import SubmissionContext, SubmissionRule
from suite.files.signature import SignatureState
from suite.submission.declaration import NAME
from suite.submission.folders import LISTING, SIGNATURE
from suite.submission.signature import allowed_signers

ORDER = 110  # after what the files say: it says who, not what

AGAIN = "package the runs again with `suite package --sign KEY`, and change nothing afterwards"


def _fits(context: SubmissionContext) -> Iterator[Violation]:
    signature = context.signature
    if signature is None:
        return
    if signature.verdict.state is SignatureState.BAD:
        yield Violation(
            SIGNATURE, f"a signature of {LISTING}", signature.verdict.reason or "another one", AGAIN
        )
    for difference in signature.differences:
        yield Violation(difference.file, difference.expected, difference.observed, AGAIN)


def _signer(context: SubmissionContext) -> Iterator[Violation]:
    if context.signature is None:
        return
    verdict, organization = context.signature.verdict, context.declaration.organization
    expected = f"a signature by {organization}"
    if verdict.state is SignatureState.UNKNOWN:
        fix = (
            f"add the key to {allowed_signers().name} in a pull request of its own: `{organization}"
            ' namespaces="…" ssh-ed25519 …`'
        )
        yield Violation(
            SIGNATURE, expected, f"one by a key that is not in {allowed_signers().name}", fix
        )
    elif verdict.state is SignatureState.UNVERIFIED:
        yield Violation(
            SIGNATURE,
            expected,
            f"one that could not be verified: {verdict.reason}",
            "check it where OpenSSH 8.2 or later is installed",
        )
    elif verdict.state is SignatureState.KNOWN and verdict.signer != organization:
        yield Violation(
            SIGNATURE,
            expected,
            f"one by {verdict.signer}",
            "state in the review why another one signs",
        )


RULES = (
    SubmissionRule(
        id="submission-signature",
        sentence=(
            f"A signed submission's {LISTING} lists every file with its SHA-256, and {SIGNATURE} is"
            " an SSH signature of it."
        ),
        rationale="A signature beside other files would vouch for what its owner never saw.",
        check=_fits,
        faults=(
            of_submission(
                "a file edited after signing", signed(set_value(NAME, "notes", "better"))
            ),
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
    ),
    SubmissionRule(
        id="submission-signer",
        sentence=(
            "A signature is by a key of the submitting organization in"
            f" submissions/{allowed_signers().name}."
        ),
        rationale="Readers learn who signed only where the key is known.",
        check=_signer,
        faults=(of_submission("a signature by a key that nobody knows", signed()),),
        severity=Severity.NOTE,
    ),
)
