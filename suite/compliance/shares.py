"""The samples of a mini-batch, or of an evaluation, that each rank has by request and log."""

from reference_impls.contract import SPEED
from reference_impls.shares import Share
from suite.bundle.log import Log
from suite.compliance.rule import BundleContext
from suite.compliance.values import is_number

EVENT = "shares_of_ranks"
MIN_S, MAX_S = 1e-12, 1e6
"""That a rank may take for a sample."""


def samples_of(context: BundleContext, rank: int, samples: int) -> int:
    """How many of these samples a rank has; an equal share where the log has no measured speeds."""
    parallel = context.request.parallel
    by_speed = parallel.shares == SPEED
    seconds = measured_seconds(context.log, parallel.ranks) if by_speed else None
    return len(range(samples)[Share(rank, parallel.ranks, seconds or ()).of(samples)])


def measured_seconds(log: Log, ranks: int) -> tuple[float, ...] | None:
    """The seconds per sample of every rank that a log states; None where it does not."""
    value = log.value(EVENT)
    seconds = value.get("seconds_per_sample") if isinstance(value, dict) else None
    if not isinstance(seconds, list) or len(seconds) != ranks:
        return None
    is_known = all(is_number(each) and MIN_S < each < MAX_S for each in seconds)
    return tuple(map(float, seconds)) if is_known else None
