"""What the tokens of a bundle prove, and by whom a run was witnessed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from suite.files.signature import SignatureState
from suite.witness.record import Answer, WitnessRecord, files_digest, receipt_digest, stamp_digest
from suite.witness.tokens import TokenVerdict, verify_token


@dataclass(frozen=True)
class WitnessVerdict:
    """The verdicts on receipt, stamp, and stamp over the files; None where the witness did not
    answer, or was not asked."""

    receipt: TokenVerdict | None
    stamp: TokenVerdict | None
    files: TokenVerdict | None

    @property
    def by(self) -> str | None:
        """The one witness of the rulebook that saw beginning, end and files; None if there is none.
        Says nothing about times and files."""
        if self.receipt is None or self.stamp is None or self.files is None:
            return None
        tokens = (self.receipt, self.stamp, self.files)
        is_known = all(token.state is SignatureState.KNOWN for token in tokens)
        return (
            self.receipt.witness
            if is_known and len({token.witness for token in tokens}) == 1
            else None
        )


def judge_tokens(
    record: WitnessRecord,
    run_id: str,
    request: Mapping[str, Any],
    nonce: Mapping[str, Any] | None,
    trusted: Path,
) -> WitnessVerdict:
    """Verify the tokens of a record against what run.json and the record itself hold."""
    receipt = _judge(record.receipt, lambda: receipt_digest(run_id, request, nonce), trusted)
    stamp = (
        None
        if record.stamp is None
        else _judge(
            record.stamp, lambda: stamp_digest(run_id, record.heads, record.receipt.token), trusted
        )
    )
    over_files = partial(
        files_digest,
        run_id,
        record.files,
        record.receipt.token,
        None if record.stamp is None else record.stamp.token,
    )
    files = None if record.files_stamp is None else _judge(record.files_stamp, over_files, trusted)
    return WitnessVerdict(receipt, stamp, files)


def _judge(answer: Answer, digest: Callable[[], str], trusted: Path) -> TokenVerdict | None:
    return None if answer.token is None else verify_token(answer.token, digest(), trusted)
