"""What the tokens of a bundle prove, and by whom a run was witnessed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.files.signature import SignatureState
from suite.witness.record import Answer, WitnessRecord, receipt_digest, stamp_digest
from suite.witness.tokens import TokenVerdict, verify_token


@dataclass(frozen=True)
class WitnessVerdict:
    """The verdicts on receipt and stamp; None where the witness did not answer, or was not asked."""

    receipt: TokenVerdict | None
    stamp: TokenVerdict | None

    @property
    def by(self) -> str | None:
        """The witness of the rulebook that saw beginning and end; None if there is none. Says nothing about the times."""
        if self.receipt is None or self.stamp is None or not self.receipt.state == self.stamp.state == SignatureState.KNOWN:
            return None
        return self.receipt.witness if self.receipt.witness == self.stamp.witness else None


def judge_tokens(record: WitnessRecord, run_id: str, request: Mapping[str, Any], nonce: Mapping[str, Any] | None, trusted: Path) -> WitnessVerdict:
    """Verify both tokens of a record against what run.json and the record itself hold."""
    receipt = _judge(record.receipt, lambda: receipt_digest(run_id, request, nonce), trusted)
    stamp = None if record.stamp is None else _judge(record.stamp, lambda: stamp_digest(run_id, record.heads, record.receipt.token), trusted)
    return WitnessVerdict(receipt, stamp)


def _judge(answer: Answer, digest: Callable[[], str], trusted: Path) -> TokenVerdict | None:
    return None if answer.token is None else verify_token(answer.token, digest(), trusted)
