"""The reviews that a submission holds, each with its maker."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from suite.errors import SuiteError
from suite.files.signature import SignatureState, SignatureVerdict
from suite.metrics.replayed_losses import AuditVerdict
from suite.metrics.review_record import Review, read_review
from suite.submission.evidence import maker_of
from suite.submission.folder_names import REVIEWS


@dataclass(frozen=True)
class SignedReview:
    """A review in ``file`` and the verdict on its signature; ``record`` is None, with the
    ``problem``, where it cannot be read."""

    file: Path
    maker: SignatureVerdict
    record: Review | None
    problem: str | None = None

    @cached_property
    def reviewer(self) -> str | None:
        """The organization that made it; None unless its own known key signed it."""
        if self.record is None or self.maker.state is not SignatureState.KNOWN:
            return None
        return self.maker.signer if self.maker.signer == self.record.organization else None

    def confirms(self, run: str, manifest_sha256: str | None) -> bool:
        """Whether the run agrees with a replay from a state that was drawn for this manifest, and
        the probe did not find another model."""
        if self.record is None:
            return False
        found, model = self.record.runs.get(run), self.record.models.get(run.rpartition("/")[0])
        return (
            found is not None
            and found.audit is not None
            and found.manifest_sha256 == manifest_sha256
            and self.record.is_from_drawn_state(found)
            and found.audit.verdict is AuditVerdict.AGREES
            and (model is None or model.is_equivalent is not False)
        )


def read_signed_reviews(submission: Path, allowed: Path) -> tuple[SignedReview, ...]:
    """Every review of an untrusted submission, by the allowed signers."""
    return tuple(
        _read(path, allowed)
        for path in sorted((submission / REVIEWS).glob("*.json"))
        if path.is_file() and not path.is_symlink()
    )


def _read(path: Path, allowed: Path) -> SignedReview:
    maker = maker_of(path, allowed)
    try:
        return SignedReview(path, maker, read_review(path))
    except SuiteError as error:
        return SignedReview(path, maker, None, str(error))
