"""PyTorch's probe with one mistake in what ranks do together, named by MISTAKE: what the comparison
of ranks must notice."""

import os

from reference_impls.communication import MpiWorld
from reference_impls.contract import Parallel
from reference_impls.normalisation import Moments, Synchroniser
from reference_impls.probe import ProbeRequest, main
from reference_impls.pytorch.exchange import GradientExchange
from reference_impls.pytorch.probe import ProbedPyTorchModel


class Mistaken(ProbedPyTorchModel):
    """The model with the mistake."""

    def join(self, world: MpiWorld, settings: Parallel) -> None:
        """As the implementation does it, but for the mistake."""
        MISTAKES[os.environ["MISTAKE"]](self, world, settings)


def every_rank_counts_alike(model: Mistaken, world: MpiWorld, settings: Parallel) -> None:
    """Where shares are unequal, a mean of means is not the mean."""
    ProbedPyTorchModel.join(model, world, settings)
    begin = GradientExchange.begin
    GradientExchange.begin = lambda self, share: begin(self, 1.0 / world.size)


def nobody_gets_the_first_ranks_weights(
    model: Mistaken, world: MpiWorld, settings: Parallel
) -> None:
    """Each goes on from its own."""
    world.broadcast = lambda arrays: None
    ProbedPyTorchModel.join(model, world, settings)


def a_bucket_stays_at_home(model: Mistaken, world: MpiWorld, settings: Parallel) -> None:
    """The last bucket is never summed."""
    ProbedPyTorchModel.join(model, world, settings)
    buckets = model._implementation._exchange._buckets
    start, last = buckets.start, len(buckets.arrays) - 1
    buckets.start = lambda bucket: None if bucket == last else start(bucket)


def every_rank_normalises_alone(model: Mistaken, world: MpiWorld, settings: Parallel) -> None:
    """No statistics are summed."""
    world.separate_sum = lambda: lambda values: None
    ProbedPyTorchModel.join(model, world, settings)


def every_rank_weighs_alike_in_the_backward_pass(
    model: Mistaken, world: MpiWorld, settings: Parallel
) -> None:
    """As if every rank had as many samples as this one."""
    ProbedPyTorchModel.join(model, world, settings)
    corrections = Synchroniser.corrections
    Synchroniser.corrections = lambda self, count, of_all, *sums: corrections(
        self, count, world.size * count, *sums
    )


def biased_running_variances(model: Mistaken, world: MpiWorld, settings: Parallel) -> None:
    """They are kept as the mini-batch was normalised by them."""
    ProbedPyTorchModel.join(model, world, settings)
    Moments.unbiased = property(lambda self: self.variance)


MISTAKES = {
    function.__name__: function
    for function in (
        every_rank_counts_alike,
        nobody_gets_the_first_ranks_weights,
        a_bucket_stays_at_home,
        every_rank_normalises_alone,
        every_rank_weighs_alike_in_the_backward_pass,
        biased_running_variances,
    )
}


def open_model(request: ProbeRequest) -> ProbedPyTorchModel:
    """The mistake is one of several ranks; one alone makes none."""
    return Mistaken(request)


if __name__ == "__main__":
    main(open_model)
