"""Verifies training with several ranks: they must compute what one rank computes."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reference_impls.contract import LOCAL, Parallel
from reference_impls.probe import ProbeRequest
from suite import __version__
from suite.catalog.workloads import WIDE, Workload
from suite.verify.array_differences import Arrays, QuantityDifference, compare_arrays
from suite.verify.probing import ALONE, ProbedImplementation, probe_as, probe_request
from suite.verify.verdict import shapes_of

SCHEMA = 1
STEPS = 50
BUCKET_BYTES = 65536
"""Small, so that the smallest model has several buckets too."""

ONE_RANK, SHARES_IN_TURN = (
    "one rank",
    "one rank that computes every rank's share of a mini-batch in turn",
)


@dataclass(frozen=True)
class RanksVerdict:
    """Differences between N ranks and one, the ``reference``, after ``steps`` steps in float64.

    The reference trains on the whole mini-batches; for a model whose ranks normalise locally it
    takes every rank's share in turn, each normalised by its own statistics.
    """

    schema: int
    suite_version: str
    workload: str
    subject: str  # the implementation's name
    ranks: int
    collective: str
    overlap: bool
    normalisation: str
    steps: int
    batch_size: int
    reference: str
    differences: tuple[QuantityDifference, ...]

    @property
    def passed(self) -> bool:
        """True when every difference is within its tolerance."""
        return all(difference.passed for difference in self.differences)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **asdict(self),
            "passed": self.passed,
            "differences": [{**asdict(one), "passed": one.passed} for one in self.differences],
        }


def verify_ranks(
    workload: Workload,
    implementation: ProbedImplementation,
    parallel: Parallel,
    report: Callable[[str], None],
    steps: int = STEPS,
    reference: ProbedImplementation | None = None,
) -> RanksVerdict:
    """Train with N ranks on this machine and with one of ``reference`` (None: the implementation's
    own), and compare. Raises SuiteError when a probe fails.

    Mini-batches have one sample more than can be shared evenly, so that a rank with more samples
    must have a larger weight.
    """
    by_shares = parallel.normalisation == LOCAL and workload.normalisation_statistics
    alone = reference or implementation
    how = SHARES_IN_TURN if by_shares else ONE_RANK
    report(f"{alone.name}: {how}")
    expected = probe_as(
        alone,
        _request(workload, ALONE, parallel.ranks, parallel.ranks if by_shares else 1, steps),
    )
    report(f"{implementation.name}: {parallel.ranks} ranks")
    found = probe_as(
        implementation,
        _request(workload, parallel, parallel.ranks, 1, steps),
        shapes_of({WIDE: expected}),
    )
    return RanksVerdict(
        SCHEMA,
        __version__,
        workload.name,
        implementation.name,
        parallel.ranks,
        parallel.collective,
        parallel.overlap,
        parallel.normalisation,
        steps,
        _samples(workload, parallel.ranks),
        how,
        _differences(workload, expected, found),
    )


def _differences(
    workload: Workload, expected: Arrays, found: Arrays
) -> tuple[QuantityDifference, ...]:
    tolerances = workload.verification.tolerances
    limits = {name: getattr(tolerances, name) for name in ("losses", "parameter", "statistic")}
    # ranks that received the same sums have bit-identical parameters
    distance = found.get("apart")
    error = None
    if distance is not None and distance.shape == () and np.isfinite(distance):
        error = float(distance)
    problem = "the probe did not write a number into apart.npy" if error is None else None
    apart = QuantityDifference("ranks apart", error, 0.0, "", problem)
    return (*compare_arrays(expected, found, limits), apart)


def _samples(workload: Workload, ranks: int) -> int:
    return workload.verification.samples_per_rank * ranks + 1


def _request(
    workload: Workload, parallel: Parallel, ranks: int, shares: int, steps: int
) -> ProbeRequest:
    first, *_, last = workload.verification.learning_rates
    rates = [first] * (steps // 2) + [last] * (steps - steps // 2)
    return probe_request(workload, "float64", rates)._replace(
        batch_size=_samples(workload, ranks), parallel=parallel, shares=shares
    )
