"""Submissions: a signature covers every file, and says who submitted them."""

from suite.compliance.finding import Severity
from suite.compliance.rule import Rule, Violation, Violations
from suite.compliance.submission_rule import OfSubmission, SubmissionContext
from suite.files.signature import SignatureState
from suite.submission.folder_names import LISTING, SIGNATURE
from suite.submission.signature import allowed_signers

ORDER = 110  # after what the files say: it says who, not what


def _fits(context: SubmissionContext) -> Violations:
    signature = context.signature
    if signature is None:
        return
    if signature.verdict.state is SignatureState.BAD:
        yield Violation(
            SIGNATURE, f"a signature of {LISTING}", signature.verdict.reason or "another one"
        )
    for difference in signature.differences:
        yield Violation(difference.file, difference.expected, difference.observed)


def _signer(context: SubmissionContext) -> Violations:
    if context.signature is None:
        return
    verdict, organization = context.signature.verdict, context.declaration.organization
    expected = f"a signature by {organization}"
    if verdict.state is SignatureState.UNKNOWN:
        yield Violation(
            SIGNATURE,
            expected,
            f"one by a key that is not in {allowed_signers().name}",
            fix=f"add the key to {allowed_signers().name} in a pull request of its own:"
            f" `{organization}"
            ' namespaces="…" ssh-ed25519 …`',
        )
    elif verdict.state is SignatureState.UNVERIFIED:
        fix = "check it where OpenSSH 8.2 or later is installed"
        observed = f"one that could not be verified: {verdict.reason}"
        yield Violation(SIGNATURE, expected, observed, fix=fix)
    elif verdict.state is SignatureState.KNOWN and verdict.signer != organization:
        yield Violation(
            SIGNATURE,
            expected,
            f"one by {verdict.signer}",
            fix="state in the review why another one signs",
        )


RULES = (
    Rule(
        "submission-signature",
        f"A signed submission's {LISTING} lists every file with its SHA-256, and {SIGNATURE} is"
        " an SSH signature of it, with a key of its organization that is in"
        f" submissions/{allowed_signers().name}.",
        "If other files could be added beside a signature, it would vouch for what its owner never"
        " saw. Readers can tell who signed only if the key is known.",
        "package the runs again with `suite package --sign KEY`, and change nothing afterwards",
        (
            OfSubmission("submission-signature", _fits),
            OfSubmission("submission-signer", _signer, severity=Severity.NOTE),
        ),
    ),
)
