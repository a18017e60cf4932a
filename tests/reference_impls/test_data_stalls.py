"""Pipelines of the stall analysis around any other: the same number of mini-batches and samples,
nothing read, or nothing cached."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_impls.contract import Batch, ContractError, DataSet, Pipeline, Request
from reference_impls.data_stalls import as_requested
from reference_impls.shares import Share
from suite.machine.page_cache import data_files, residency
from tests.builders import Scenario, make_request

ALONE = Share(0, 1).of


class Counting(Pipeline):
    """Ten samples in mini-batches of four, read from a file; counts what it had to make."""

    def __init__(self, file: Path) -> None:
        self.file, self.made = file, 0

    def training(self, epoch: int) -> Iterator[Batch]:
        content = self.file.read_bytes()
        for start in range(0, 10, 4):
            self.made += 1
            size = min(4, 10 - start)
            yield Batch([epoch] * size, list(content[start : start + size]))

    def evaluation(self) -> Iterator[Batch]:
        yield Batch([0], list(self.file.read_bytes()[:1]))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A megabyte on disk."""
    path = tmp_path / "data" / "images"
    path.parent.mkdir()
    path.write_bytes(os.urandom(2**20))
    os.sync()  # a page that waits to be written stays in memory
    return path


def request(file: Path, **changes: object) -> Request:
    """Ten samples below the file's folder, four at a time."""
    made = make_request(file.parent, Scenario())._replace(
        data=DataSet("mnist", str(file.parent), "idx", 10, 10, 10, True, False), global_batch_size=4
    )
    return made._replace(**changes)  # type: ignore[arg-type]


def test_without_a_stall_analysis_the_pipeline_is_not_wrapped(file: Path) -> None:
    pipeline = Counting(file)
    assert as_requested(request(file), pipeline, ALONE) is pipeline


def test_synthetic_gives_one_batch_again_and_again_and_as_many_samples_as_the_data_set(
    file: Path,
) -> None:
    inner = Counting(file)
    pipeline = as_requested(request(file, batches="synthetic"), inner, ALONE)
    batches = list(pipeline.training(1)) + list(pipeline.training(2))
    assert [len(batch.labels) for batch in batches] == [4, 4, 2, 4, 4, 2]
    assert all(batch is batches[0] for batch in batches if len(batch.labels) == 4)
    assert inner.made == 1


class FirstShare(Pipeline):
    """A rank's share of the data set's first mini-batch."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def training(self, epoch: int) -> Iterator[Batch]:
        yield Batch([0] * self.samples, [0] * self.samples)

    def evaluation(self) -> Iterator[Batch]:
        yield from ()


def test_the_synthetic_mini_batches_of_three_ranks_together_have_the_data_sets_samples(
    file: Path,
) -> None:
    """Of 1438 samples the last mini-batch of 16 has 14."""
    asked = request(file, batches="synthetic", global_batch_size=16)
    asked = asked._replace(data=asked.data._replace(train_samples=1438))
    sizes = []
    for rank, first in enumerate((6, 5, 5)):
        pipeline = as_requested(asked, FirstShare(first), Share(rank, 3).of)
        sizes.append([len(batch.labels) for batch in pipeline.training(1)])
    assert [of_rank[-1] for of_rank in sizes] == [5, 5, 4]
    assert sum(map(sum, sizes)) == 1438


def test_uncached_gives_the_same_batches_and_leaves_nothing_of_the_files_in_memory(
    file: Path,
) -> None:
    files, pipeline = (
        data_files(file.parent),
        as_requested(request(file, drop_cache_every_epoch=True), Counting(file), ALONE),
    )
    for batches in (lambda: pipeline.training(1), pipeline.evaluation):
        kept = []
        for batch in batches():
            assert residency(files).resident_bytes == 2**20
            kept.append(batch)
        assert sum(len(batch.labels) for batch in kept) in (10, 1)
        assert residency(files).resident_bytes == 0


def test_a_broken_link_beside_the_files_ends_no_run_without_a_cache(file: Path) -> None:
    (file.parent / "link").symlink_to("nowhere")
    pipeline = as_requested(request(file, drop_cache_every_epoch=True), Counting(file), ALONE)
    assert sum(len(batch.labels) for batch in pipeline.training(1)) == 10
    assert residency([file]).resident_bytes == 0


def test_an_unknown_source_of_batches_is_refused(file: Path) -> None:
    with pytest.raises(ContractError, match="must be 'read' or 'synthetic'"):
        as_requested(request(file, batches="made up"), Counting(file), ALONE)
