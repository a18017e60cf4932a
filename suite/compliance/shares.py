"""The samples of a mini-batch, or of an evaluation, that each rank has by request and log."""

from reference_impls.contract import SPEED
from reference_impls.shares import samples_of_ranks
from suite.bundle.log import Log
from suite.compliance.rule import BundleContext
from suite.compliance.values import is_number

EVENT = "shares_of_ranks"
MIN_S, MAX_S = 1e-12, 1e6
"""That a rank may take for a sample."""


def samples_by_rank(context: BundleContext, samples: int) -> list[int]:
    """How many of these samples each rank has; equal shares where the log has no measured speeds.

    Of fewer samples than ranks, the first ranks have one each.
    """
    ranks, seconds = context.request.parallel.ranks, speeds(context)
    if seconds is None or samples < ranks:
        return [len(range(rank, samples, ranks)) for rank in range(ranks)]
    return samples_of_ranks(seconds, samples)


def speeds(context: BundleContext) -> tuple[float, ...] | None:
    """The seconds per sample that shares follow; None where they are equal by request, or nothing
    was measured."""
    parallel = context.request.parallel
    return measured_seconds(context.log, parallel.ranks) if parallel.shares == SPEED else None


def measured_seconds(log: Log, ranks: int) -> tuple[float, ...] | None:
    """The seconds per sample of every rank that a log states; None where it does not."""
    value = log.value(EVENT)
    seconds = value.get("seconds_per_sample") if isinstance(value, dict) else None
    if not isinstance(seconds, list) or len(seconds) != ranks:
        return None
    is_known = all(is_number(each) and MIN_S < each < MAX_S for each in seconds)
    return tuple(map(float, seconds)) if is_known else None
