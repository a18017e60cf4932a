"""Mini-batches through Chainer's MultiprocessIterator, with worker processes."""

from typing import Any, Iterator

from chainer.iterators import MultiprocessIterator

from reference_impls.contract import Batch, Loading
from reference_impls.data.pipelines import Batches


def fetch(batches: Batches, loading: Loading) -> Iterator[Batch]:
    """Each worker makes whole mini-batches: the iterator's examples are mini-batches, and its
    batches one of each worker."""
    iterator = MultiprocessIterator(
        _Answers(batches),
        batch_size=loading.workers,
        repeat=False,
        shuffle=False,
        n_processes=loading.workers,
        n_prefetch=loading.prefetch,
        shared_mem=0,  # None would make the first ones in this process, to measure them
    )
    with iterator:
        for answers in iterator:
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
                yield answer


class _Answers:
    """Mini-batches, or the exceptions that prevented them: one that is raised in a worker ends the
    iterator's thread, and the training would wait for ever."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, index: int) -> Any:
        try:
            return self._batches[index]
        except Exception as error:  # noqa: BLE001 - raised again in the training process
            return error
