"""Training steps that overlap batches of inference."""

from collections.abc import Iterator

import numpy as np

from suite.extensions.concurrent.record.records import Recording


def overlaps(found: Recording) -> Iterator[tuple[int, int]]:
    """The number of each step (1, 2, …) that overlaps a batch, and that batch; both are sorted by
    time."""
    starts, ends = found.column("start_ns"), found.column("end_ns")
    if not len(starts):
        return
    # the first batch that ends after the step's start
    after = np.searchsorted(ends, found.steps[:, 0], side="right")
    for step, batch in enumerate(after.tolist()):
        if batch < len(starts) and starts[batch] < found.steps[step, 1]:
            yield step + 1, batch
