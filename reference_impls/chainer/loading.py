"""Mini-batches through Chainer's MultiprocessIterator, with worker processes."""

from typing import Iterator

from chainer.iterators import MultiprocessIterator

from reference_impls.contract import Batch, Loading
from reference_impls.data.pipelines import Batches


def fetch(batches: Batches, loading: Loading) -> Iterator[Batch]:
    """Each worker makes whole mini-batches: the iterator's examples are mini-batches."""
    iterator = MultiprocessIterator(
        batches,
        batch_size=1,
        repeat=False,
        shuffle=False,
        n_processes=loading.workers,
        n_prefetch=loading.prefetch * loading.workers,
    )
    with iterator:
        for (batch,) in iterator:
            yield Batch(*batch)
