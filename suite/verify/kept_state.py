"""Training states that are handed in for an audit: the draw of the epoch, and whether a state is
the one that the run logged."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reference_impls import contract
from reference_impls.state_file import StateFile
from reference_impls.training_state import digests
from reference_impls.updates import steps_per_epoch
from suite.bundle.log import chain_head
from suite.bundle.reader import Bundle
from suite.bundle.steps import StepRecords
from suite.errors import SuiteError
from suite.metrics.audit_record import StateAudit
from suite.metrics.epoch_draw import drawn_epoch, whole_epochs
from suite.metrics.epoch_replays import EpochReplays
from suite.metrics.replayed_losses import ReplayedLosses, compare_losses


class OtherState(SuiteError):
    """The file holds another training state than the one that the run logged."""


@dataclass(frozen=True)
class HandedIn:
    """A training state and the epoch after which it was taken; ``value`` is the text that the epoch
    was drawn with, None: self-drawn."""

    file: Path
    epoch: int
    value: str | None


@dataclass(frozen=True)
class Draw:
    """The result of a draw among the epochs 1 to ``epochs``; ``head`` is the chain value that it
    began with."""

    epoch: int
    epochs: int
    head: str
    value: str | None


@dataclass(frozen=True)
class KeptState:
    """A state whose digests are those that the run logged after ``epoch``, when ``step`` steps were
    taken.

    ``correct`` is what the run's evaluations counted, by epoch, of ``eval_samples``. ``value``: as
    in HandedIn.
    """

    file: Path
    epoch: int
    step: int
    value: str | None
    correct: Mapping[int, int]
    eval_samples: int

    def steps_after(self, steps: StepRecords, count: int) -> int:
        """How many of ``count`` steps after the state the run has in the next epoch."""
        chosen = (steps.step > self.step) & (steps.epoch == self.epoch + 1)
        return min(count, len(set(steps.step[chosen].tolist())))

    def audited(
        self,
        losses: ReplayedLosses,
        replayed: Mapping[int, int],
        after: EpochReplays | None = None,
        program: EpochReplays | None = None,
    ) -> StateAudit:
        """The record; an evaluation counts where both sides made it."""
        counts = (self.correct.get(self.epoch), replayed.get(self.epoch))
        if None in counts:
            counts = (None, None)
        comparison = compare_losses(losses) if losses.recorded else None
        return StateAudit(
            self.epoch, self.value, losses, comparison, *counts, self.eval_samples, after, program
        )


def draw_epoch(path: Path, value: str | None) -> Draw:
    """Draw the epoch whose state must be handed in, from the chain of the bundle at ``path`` and
    ``value``; without one, from the chain alone."""
    bundle = Bundle(path)
    bundle.expect_sealed("draw an epoch of a run that `suite run` finished")
    epochs, head = whole_epochs(bundle), chain_head(path / contract.log_name(0))
    if not epochs or head is None:
        raise SuiteError(
            f"{path} has no whole epoch, or its log has no chain values, so no epoch can be drawn."
        )
    return Draw(drawn_epoch(head, value or "", epochs), epochs, head, value)


def open_state(bundle: Bundle, request: contract.Request, handed_in: HandedIn) -> KeptState:
    """The state, verified against the log; raises SuiteError for another epoch than the drawn one,
    and for any difference."""
    if handed_in.value is not None:
        drawn = draw_epoch(bundle.path, handed_in.value)
        if drawn.epoch != handed_in.epoch:
            raise SuiteError(
                f"The value of the draw selects epoch {drawn.epoch} of {drawn.epochs}, not epoch"
                f" {handed_in.epoch}; hand in the state of epoch {drawn.epoch}."
            )
    try:
        return _verified(bundle, request, handed_in)
    except contract.ContractError as error:
        raise SuiteError(str(error)) from error


def _verified(bundle: Bundle, request: contract.Request, handed_in: HandedIn) -> KeptState:
    file, epoch = StateFile(str(handed_in.file)), handed_in.epoch
    differ = request.parallel.ranks > 1 and request.has_own_statistics
    if differ and any(name.startswith("statistic/") for name in file):
        raise SuiteError(
            "This state cannot be replayed on one rank: the run had several ranks, and each"
            " normalised only its own samples, so the statistics would differ."
        )
    for rank in range(request.parallel.ranks):
        logged = next(
            (
                event.value
                for event in bundle.log(rank).all("state_digests")
                if event.epoch == epoch
            ),
            None,
        )
        if not isinstance(logged, dict):
            raise SuiteError(
                f"{bundle.path}/{contract.log_name(rank)} has no state_digests of epoch {epoch};"
                " give another --epoch."
            )
        for kind, digest in digests(file.of_rank(rank)).items():
            if logged.get(kind) != digest:
                raise OtherState(
                    f"{handed_in.file} is not the state that the run logged after epoch {epoch}:"
                    f" the {kind} digest of rank {rank} is {digest[:16]}…, but the log has"
                    f" {str(logged.get(kind))[:16]}…; hand in the file that the run kept."
                )
    step = epoch * steps_per_epoch(request)
    if tuple(file.progress) != (epoch, step):
        said = f"after epoch {file.progress.epoch}, step {file.progress.step}"
        raise SuiteError(
            f"{handed_in.file} says that it was saved {said}, not after epoch {epoch}, step {step}."
        )
    return KeptState(
        handed_in.file.resolve(),
        epoch,
        step,
        handed_in.value,
        bundle.log().correct(),
        request.data.eval_samples,
    )
