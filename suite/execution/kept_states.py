"""The training states that a run keeps beside its bundle (`suite run --keep-states`): their folder,
and the disk space that they need."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reference_impls.updates import steps_per_epoch
from suite.bundle.layout import states_folder
from suite.errors import SuiteError
from suite.execution.request import FLOAT_BYTES, RunRequest

ARRAYS_PER_PARAMETER = 2  # parameters and velocities
STATISTICS_SHARE, HEADERS_BYTES = 0.02, 2**16  # of every rank: 1 % at most in the suite's models


def kept_epochs(request: RunRequest) -> int:
    """The most epochs whose states the run keeps: those up to the step limit, without those before
    the state that a resumed run starts from."""
    training, before = request.training, request.resume.record.epoch if request.resume else 0
    if training.steps is None:
        return training.epochs - before
    return min(training.epochs, -(-training.steps // steps_per_epoch(training))) - before


def states_size_bytes(request: RunRequest) -> int:
    """An upper bound for the size of all kept states; the reference implementations' models have
    the workload's number of parameters."""
    parameters, ranks = request.workload.parameters * FLOAT_BYTES, request.ranks
    arrays = int(parameters * (ARRAYS_PER_PARAMETER + STATISTICS_SHARE * ranks))
    return kept_epochs(request) * (arrays + HEADERS_BYTES * ranks)


def mebibytes(size_bytes: int) -> str:
    """A size for people."""
    return f"{size_bytes / 2**20:.{0 if size_bytes >= 10 * 2**20 else 1}f} MiB"


def refuse_states_folder(run: Path, force: bool) -> None:
    """Raise SuiteError for a folder that :func:`make_states_folder` may not empty: before anything
    of the run is replaced."""
    folder = states_folder(run)
    with _folder_errors(folder):
        old = list(folder.iterdir()) if os.path.lexists(folder) else []
    is_kept = [path.match("epoch_*.npz") or path.match(".epoch_*.npz") for path in old]
    if old and not (force and all(is_kept)):
        raise SuiteError(
            f"{folder} exists and is not empty; choose another --output, or remove the folder."
        )


def make_states_folder(run: Path, force: bool) -> None:
    """Create the folder; raises SuiteError for one that is not empty, unless ``force`` is set,
    which removes the states in it."""
    refuse_states_folder(run, force)
    folder = states_folder(run)
    with _folder_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()


@contextmanager
def _folder_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SuiteError(
            f"The folder {folder} for training states cannot be created: {error.strerror}; choose"
            " another --output."
        ) from error
