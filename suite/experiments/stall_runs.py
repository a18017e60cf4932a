"""The three runs of a stall analysis: cold page cache, warm page cache, data in memory."""

from dataclasses import replace
from pathlib import Path

from suite.bundle.stall_folder import BatchSource
from suite.catalog.divisions import Division
from suite.errors import SuiteError
from suite.execution.events import Progress, StallRunStarted, silent
from suite.execution.request import PageCache, RunRequest
from suite.experiments.one_run import run_one
from suite.metrics.stall_analysis import STALLS, StallAnalysis, analyse_stalls

DEFAULT_EPOCHS = 4  # the first is kept apart, three make a mean with its spread
MIN_EPOCHS = 2


def run_stall_analysis(
    request: RunRequest,
    *,
    epochs: int | None = None,
    force: bool = False,
    command: tuple[str, ...] | None = None,
    progress: Progress = silent,
) -> StallAnalysis:
    """Make the cold, warm and synthetic runs below the request's output directory, compare them and
    write the record there.

    Each run records the rules that it breaks as part of an analysis; none is a leaderboard entry.
    Raises as :func:`variants` and ``run_one``.
    """
    directory = request.directory
    for source, variant in variants(request, directory, epochs or DEFAULT_EPOCHS).items():
        progress(StallRunStarted(source))
        run_one(variant, force=force, command=command, progress=progress)
    analysis = analyse_stalls(directory)
    STALLS.write(directory, analysis)
    return analysis


def variants(request: RunRequest, directory: Path, epochs: int) -> dict[BatchSource, RunRequest]:
    """The three requests, each with a folder of its own below ``directory``; no target ends a run
    before its last epoch, which the closed division does not allow.

    Raises SuiteError for settings that give no mean: whole epochs are compared, and the first one
    is kept apart.
    """
    if request.training.steps is not None:
        raise SuiteError(
            "--stall-analysis compares whole epochs; leave --steps out. For the spread between"
            " epochs, use at least --epochs 3."
        )
    if request.nonce is not None:
        raise SuiteError(
            "--stall-analysis makes several runs, and a nonce sets the seed of a single run;"
            " leave --nonce out."
        )
    if epochs < MIN_EPOCHS:
        raise SuiteError(
            "--stall-analysis leaves the first epoch out of its means, so it needs at least"
            f" --epochs {MIN_EPOCHS}. For the spread between epochs, use at least --epochs 3."
        )
    return {source: _variant(request, directory, epochs, source) for source in BatchSource}


def _variant(request: RunRequest, directory: Path, epochs: int, source: BatchSource) -> RunRequest:
    training = request.training._replace(
        output_directory=str(directory / source.value),
        division=Division.OPEN.value,
        epochs=epochs,
        target_accuracy=None,
        batches="synthetic" if source is BatchSource.SYNTHETIC else "read",
        drop_cache_every_epoch=source is BatchSource.COLD,
    )
    page_cache = PageCache.COLD if source is BatchSource.COLD else PageCache.WARM
    return replace(
        request,
        run_id=f"{request.run_id}-{source.value}",
        page_cache=page_cache,
        training=training,
        baseload_s=0.0,
    )
