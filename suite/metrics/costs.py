"""The cost of a training, in seconds or joules, as a function of its epochs: first epoch + later
epochs + evaluations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from suite.metrics.comparisons import RunStatistics, run_statistics
from suite.metrics.expected_epochs import ScoredEpochs


@dataclass(frozen=True)
class TrainingCost:
    """The cost of the first epoch, of one later epoch, and of what is spent around one epoch: its
    evaluation and the moments between."""

    first_epoch: float
    later_epoch: float
    evaluation: float

    def total(self, epochs: float) -> float:
        """The cost of a training of that many epochs, each with an evaluation; at a run's own
        epochs it is the run's cost."""
        return self.first_epoch + (epochs - 1) * self.later_epoch + epochs * self.evaluation


def measured_score(
    costs: Sequence[TrainingCost],
    epochs: ScoredEpochs,
    fixed_variance: float,
    sessions: Sequence[str] | None = None,
) -> RunStatistics:
    """The statistics of an entry's score from the costs of its runs, all positive at these
    epochs, or of its ``sessions``."""
    score = run_statistics([cost.total(epochs.epochs) for cost in costs], fixed_variance, sessions)
    if not epochs.is_own:
        return score
    at_reference = run_statistics([cost.total(epochs.reference) for cost in costs], 0.0, sessions)
    excess = score.log_mean - at_reference.log_mean
    return replace(
        score,
        epochs_variance=epochs.log_variance,
        epochs_freedom=epochs.freedom,
        epochs_excess=excess,
    )
