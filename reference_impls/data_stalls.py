"""Pipelines for the analysis of data stalls: a framework's pipeline with synthetic data in memory,
or with a cold page cache.

Three runs separate the parts of the fetch stall: with one mini-batch in memory nothing is read or
preprocessed, with a warm page cache data is only preprocessed, with a cold one it is read too.
Method: Mohan et al., "Analyzing and Mitigating Data Stalls in DNN Training" (VLDB 2021),
DS-Analyzer. Standard library only.
"""

import os
from typing import Callable, Iterable, Iterator

from reference_impls.contract import Batch, ContractError, Pipeline, Request

READ, SYNTHETIC = "read", "synthetic"


def as_requested(
    request: Request, pipeline: Pipeline, share_of: Callable[[int], slice]
) -> Pipeline:
    """The pipeline, wrapped according to the request's ``batches`` and ``drop_cache_every_epoch``.

    ``share_of`` gives the places of this rank's samples in a mini-batch
    (reference_impls.shares.Share.of).
    """
    if request.batches not in (READ, SYNTHETIC):
        raise ContractError(
            "batches is {!r}; it must be {!r} or {!r}.".format(request.batches, READ, SYNTHETIC)
        )
    if request.batches == SYNTHETIC:
        return InMemory(request, pipeline, share_of)
    return Uncached(request, pipeline) if request.drop_cache_every_epoch else pipeline


class InMemory(Pipeline):
    """The first mini-batch of the data set, fetched before the run and repeated: nothing is read or
    preprocessed.

    An epoch has as many mini-batches and samples as one of the data set. The evaluation set is read
    normally: it is in no epoch's time.
    """

    def __init__(
        self, request: Request, pipeline: Pipeline, share_of: Callable[[int], slice]
    ) -> None:
        self._request, self._pipeline, self._share_of = request, pipeline, share_of
        batches = iter(pipeline.training(1))
        self._batch = next(batches)
        del batches  # ends the workers and closes the files of this epoch

    def training(self, epoch: int) -> Iterator[Batch]:
        """As many mini-batches as the data set has, the last one with as many samples as its last
        one."""
        size, images, labels = (
            self._request.global_batch_size,
            self._batch.images,
            self._batch.labels,
        )
        whole, rest = divmod(self._request.data.train_samples, size)
        for _ in range(whole):
            yield self._batch
        if rest:
            local = len(range(rest)[self._share_of(rest)])
            yield Batch(images[:local], labels[:local])

    def evaluation(self) -> Iterator[Batch]:
        """The evaluation set."""
        return iter(self._pipeline.evaluation())


class Uncached(Pipeline):
    """The pipeline, with the data set's files dropped from the page cache before every epoch.

    They are dropped when an epoch or an evaluation is exhausted, after the last step: this is in no
    epoch's time. Pages that a worker process still maps stay; the harness records how much is in
    the page cache.
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
    """Drop every file below the folder from the page cache: posix_fadvise(2), which needs only read
    permission. What cannot be read was not."""
    for folder, _, names in os.walk(directory):
        paths = (os.path.join(folder, name) for name in names)
        drop_files(path for path in paths if os.path.isfile(path) and os.access(path, os.R_OK))


def drop_files(paths: Iterable[str]) -> None:
    """The same for these files."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)
