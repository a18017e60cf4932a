"""The three runs of a stall analysis: cold page cache, warm page cache, data in memory."""

from dataclasses import replace
from pathlib import Path

from suite.errors import SuiteError
from suite.execution.request import PageCache, RunRequest
from suite.metrics.stall_analysis import Source

DEFAULT_EPOCHS = 4  # the first is kept apart, three make a mean with its spread


def variants(request: RunRequest, directory: Path, epochs: int) -> dict[Source, RunRequest]:
    """The three requests, each with a folder of its own below ``directory``; no target ends a run before its last epoch.

    Raises SuiteError for what gives no mean: whole epochs are compared, and the first one is kept apart.
    """
    if request.training.steps is not None:
        raise SuiteError("--stall-analysis compares whole epochs; leave --steps out (--epochs 3 is the shortest with a spread).")
    if epochs < 2:
        raise SuiteError("--stall-analysis keeps the first epoch apart; ask for --epochs 2 at least (3 to have a spread).")
    return {source: _variant(request, directory, epochs, source) for source in Source}


def _variant(request: RunRequest, directory: Path, epochs: int, source: Source) -> RunRequest:
    training = request.training._replace(
        output_directory=str(directory / source.value),
        epochs=epochs,
        target_accuracy=None,
        batches="synthetic" if source is Source.SYNTHETIC else "read",
        drop_cache_every_epoch=source is Source.COLD,
    )
    page_cache = PageCache.COLD if source is Source.COLD else PageCache.WARM
    return replace(request, run_id=f"{request.run_id}-{source.value}", page_cache=page_cache, training=training)
