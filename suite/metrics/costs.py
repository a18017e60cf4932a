"""The cost of a training, in seconds or joules, as a function of its epochs: first epoch + later epochs + evaluations."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingCost:
    """The cost of the first epoch, of one later epoch, and of what is spent around one epoch: its evaluation and the moments between."""

    first_epoch: float
    later_epoch: float
    evaluation: float

    def at(self, epochs: float) -> float:
        """The cost of a training of that many epochs, each with an evaluation; at a run's own epochs it is the run's cost."""
        return self.first_epoch + (epochs - 1) * self.later_epoch + epochs * self.evaluation
