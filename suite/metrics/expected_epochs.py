"""The epochs to the target at which entries of one setting are scored: those of a reference point,
or interpolated between two batch sizes."""

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suite.catalog.reference_points import ReferencePoint
from suite.metrics.convergence import compare_epochs


@dataclass(frozen=True)
class ExpectedEpochs:
    """Expected epochs to the target at a setting; ``runs`` are those of the reference's runs,
    infinite where the target was missed.

    ``between`` are the batch sizes of the points that they come from: one, or two to interpolate
    between. ``log_sd`` is the standard deviation of the logarithm of a run's epochs, a missed run
    counted with the epochs that it trained.
    """

    epochs: float
    runs: tuple[float, ...]
    between: tuple[int, ...]
    log_sd: float


def expected_epochs(
    points: Sequence[ReferencePoint],
    batch_size: int,
    learning_rate: float,
    local_batch_size: int | None,
    rate_tolerance: float,
) -> ExpectedEpochs | None:
    """The expected epochs at a setting; None without a reference point for it.

    Between two points the rate is the geometric interpolation of theirs, and the local batch size
    has the same share of the batch; the epochs are linear in the batch size, as MLPerf's reference
    convergence points are. Each run's epochs are scaled with them.
    """

    def fits(rate: float) -> bool:
        return abs(learning_rate / rate - 1) <= rate_tolerance

    for point in points:
        if (point.batch_size, point.local_batch_size) == (batch_size, local_batch_size) and fits(
            point.base_learning_rate
        ):
            return _expectation(((point, 1.0),))
    pairs = [
        (low, high)
        for low, high in _enclosing_pairs(points, batch_size, local_batch_size)
        if fits(_rate_between(low, high, batch_size))
    ]
    if not pairs:
        return None
    low, high = min(pairs, key=lambda pair: pair[1].batch_size - pair[0].batch_size)
    share = (batch_size - low.batch_size) / (high.batch_size - low.batch_size)
    return _expectation(((low, 1 - share), (high, share)))


def _enclosing_pairs(
    points: Sequence[ReferencePoint], batch_size: int, local_batch_size: int | None
) -> Iterator[tuple[ReferencePoint, ReferencePoint]]:
    """Pairs of points with a smaller and a larger batch size whose ranks are as many as the
    entry's."""
    for low, high in itertools.product(points, points):
        shares = {
            _share(low.local_batch_size, low.batch_size),
            _share(high.local_batch_size, high.batch_size),
            _share(local_batch_size, batch_size),
        }
        if low.batch_size < batch_size < high.batch_size and len(shares) == 1:
            yield low, high


def _share(local: int | None, batch_size: int) -> int | None:
    return None if local is None else round(batch_size / local)


def _rate_between(low: ReferencePoint, high: ReferencePoint, batch_size: int) -> float:
    slope = math.log(high.base_learning_rate / low.base_learning_rate) / math.log(
        high.batch_size / low.batch_size
    )
    return low.base_learning_rate * math.exp(slope * math.log(batch_size / low.batch_size))


def _expectation(weighted: Sequence[tuple[ReferencePoint, float]]) -> ExpectedEpochs | None:
    known = [
        (point, weight, point.expected_epochs)
        for point, weight in weighted
        if point.expected_epochs is not None
    ]
    if len(known) < len(weighted):
        return None
    epochs = math.fsum(weight * expected for _, weight, expected in known)
    scaled = [
        (run.epochs_to_target * epochs / expected, run.epochs_trained * epochs / expected)
        for point, _, expected in known
        for run in point.runs
    ]
    return ExpectedEpochs(
        epochs=epochs,
        runs=tuple(to_target for to_target, _ in scaled),
        between=tuple(point.batch_size for point, _, _ in known),
        log_sd=(
            statistics.stdev(math.log(trained) for _, trained in scaled) if len(scaled) > 1 else 0.0
        ),
    )


@dataclass(frozen=True)
class RunEpochs:
    """The epochs that a run trained, and whether it reached the target."""

    trained: int
    reached: bool

    @property
    def to_target(self) -> float:
        """Epochs to the target; infinite where it was missed."""
        return self.trained if self.reached else math.inf


@dataclass(frozen=True)
class ScoredEpochs:
    """The epochs at which an entry is scored: the ``reference``'s, or its own where they are
    significantly more.

    ``own`` are all epochs that it trained over the runs that reached the target, None where none
    did; ``p_more`` is the p value of the one-sided test, None without a reference to test against.
    ``log_variance`` is the variance of the logarithm of ``epochs``, 0 for the reference's, which
    are constants of the round; ``freedom`` are its degrees of freedom.
    """

    epochs: float
    reference: float
    own: float | None
    p_more: float
    log_variance: float = 0.0
    freedom: int = 0

    @property
    def is_own(self) -> bool:
        """Whether the entry is scored at its own epochs."""
        return self.epochs != self.reference


def scored_epochs(
    expected: ExpectedEpochs, runs: Sequence[RunEpochs], level: float
) -> ScoredEpochs:
    """Decide by a one-sided permutation test at ``level`` (suite.metrics.convergence) whether the
    runs need more epochs than the reference.

    The variance of own epochs is taken from the scatter of the reference's runs: three runs do not
    tell their own. Without runs the epochs are the reference's.
    """
    if not runs:
        return ScoredEpochs(expected.epochs, expected.epochs, None, 1.0)
    reached = sum(run.reached for run in runs)
    own = sum(run.trained for run in runs) / reached if reached else None
    p_more = compare_epochs(expected.runs, [run.to_target for run in runs]).p_slower
    if own is None or own <= expected.epochs or p_more > level:
        return ScoredEpochs(expected.epochs, expected.epochs, own, p_more)
    variance = expected.log_sd**2 * (1 / len(runs) + 1 / len(expected.runs))
    return ScoredEpochs(own, expected.epochs, own, p_more, variance, len(expected.runs) - 1)
