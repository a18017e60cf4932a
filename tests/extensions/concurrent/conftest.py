"""What tests of training beside inference share: recordings of a simulated server."""

from collections.abc import Callable

import numpy as np
import pytest

from suite.extensions.concurrent.measuring.simulation import simulate
from suite.extensions.concurrent.record.arrivals import NS_PER_S, Arrivals, intended_ns
from suite.extensions.concurrent.record.batching import BatchRule
from suite.extensions.concurrent.record.records import Recording, Setting

Simulated = Callable[..., Recording]


@pytest.fixture
def simulated() -> Simulated:
    """The recording of a simulated server: constant service of ``service_s`` per batch, or as
    ``service_ns(count)`` says; without training."""

    def record(
        arrivals: Arrivals,
        batch: int,
        service_s: float = 0.0,
        *,
        service_ns: Callable[[int], int] | None = None,
        deadline_s: float | None = None,
        late_s: float = 0.0,
        leave_s: float | None = None,
    ) -> Recording:
        times = intended_ns(arrivals)
        rule = BatchRule(batch, None if deadline_s is None else round(deadline_s * NS_PER_S))
        rows, noticed = simulate(
            times,
            rule,
            service_ns or (lambda count: round(service_s * NS_PER_S)),
            round(late_s * NS_PER_S),
        )
        if leave_s is not None:
            rows = tuple(row for row in rows if row.end_ns <= leave_s * NS_PER_S)
        setting = Setting(
            "lenet",
            None,
            arrivals.kind.value,
            arrivals.rate_per_s,
            arrivals.duration_s,
            arrivals.seed,
            batch,
            deadline_s,
            "alone",
            1,
            1,
            0,
            round(arrivals.duration_s * NS_PER_S),
            rows[-1].end_ns,
            0,
        )
        return Recording(
            setting,
            times,
            np.array(noticed, np.int64),
            np.array(rows, np.int64),
            np.zeros((0, 3), np.int64),
        )

    return record
