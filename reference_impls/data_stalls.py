"""Pipelines for the analysis of data stalls: any framework's own pipeline, with its data already in memory or never in the page cache.

Three runs tell the parts of the fetch stall apart: with one mini-batch in memory nothing is read or preprocessed, with a warm page
cache data is preprocessed only, with a cold one it is read too. Method: Mohan et al., "Analyzing and Mitigating Data Stalls in DNN
Training" (VLDB 2021), DS-Analyzer. Standard library only.
"""

import os
from typing import Iterator

from reference_impls.contract import Batch, ContractError, Pipeline, Request

READ, SYNTHETIC = "read", "synthetic"


def as_requested(request: Request, pipeline: Pipeline) -> Pipeline:
    """The pipeline itself, or around it what the request says of batches and page cache."""
    if request.batches not in (READ, SYNTHETIC):
        raise ContractError("batches is {!r}; it must be {!r} or {!r}.".format(request.batches, READ, SYNTHETIC))
    if request.batches == SYNTHETIC:
        return InMemory(request, pipeline)
    return Uncached(request, pipeline) if request.drop_cache_every_epoch else pipeline


class InMemory(Pipeline):
    """The first mini-batch of the data set, taken before the run and given again and again: nothing is read, nothing preprocessed.

    An epoch has as many mini-batches, and as many samples, as one of the data set. The evaluation set is read as ever: no epoch's
    time holds it.
    """

    def __init__(self, request: Request, pipeline: Pipeline) -> None:
        self._request, self._pipeline = request, pipeline
        batches = iter(pipeline.training(1))
        self._batch = next(batches)
        del batches  # workers and files of an epoch that nobody goes on with

    def training(self, epoch: int) -> Iterator[Batch]:
        """As many mini-batches as the data set has, the last one as small as its last one."""
        size, images, labels = self._request.global_batch_size, self._batch.images, self._batch.labels
        whole, rest = divmod(self._request.data.train_samples, size)
        for _ in range(whole):
            yield self._batch
        if rest:
            local = max(1, rest * len(labels) // size)  # a rank has its share of the global mini-batch
            yield Batch(images[:local], labels[:local])

    def evaluation(self) -> Iterator[Batch]:
        """The evaluation set."""
        return iter(self._pipeline.evaluation())


class Uncached(Pipeline):
    """The pipeline, with the data set's files out of the page cache before every epoch.

    They are dropped when an epoch or an evaluation is exhausted, which is after the last step: no epoch's time holds it. What a
    worker process still maps stays; the harness looks at the page cache and records what was there.
    """

    def __init__(self, request: Request, pipeline: Pipeline) -> None:
        self._directory, self._pipeline = request.data.directory, pipeline

    def training(self, epoch: int) -> Iterator[Batch]:
        """The epoch's mini-batches."""
        return self._then_drop(iter(self._pipeline.training(epoch)))

    def evaluation(self) -> Iterator[Batch]:
        """The evaluation set."""
        return self._then_drop(iter(self._pipeline.evaluation()))

    def _then_drop(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            yield batch
        del batches
        drop_from_page_cache(self._directory)


def drop_from_page_cache(directory: str) -> None:
    """Ask the kernel to forget every file below the folder: posix_fadvise(2), which needs no right but reading them."""
    for folder, _, names in os.walk(directory):
        for name in names:
            handle = os.open(os.path.join(folder, name), os.O_RDONLY)
            try:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)
