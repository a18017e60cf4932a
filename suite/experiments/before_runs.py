"""Before the first run of a sweep: every check is made, and all that they refuse is said at once;
the folder is one sweep's, and one command's."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from suite.bundle.layout import MATRIX, STUDY
from suite.errors import SuiteError
from suite.execution.preflight import BUNDLE_SIZE_BYTES, free_bytes, preflight
from suite.execution.request import RunRequest
from suite.files.counted import counted
from suite.files.file_lock import take_lock
from suite.files.paths import nearest_existing
from suite.launch.environments import find_environment
from suite.metrics.matrix_record import read_matrix
from suite.metrics.study import read_study

RUN_BYTES = 4 * 2**20
"""A short run's bundle: the readings of all meters for a few minutes, and its step records."""
MAX_PROBLEMS = 10
_RUNS = "*-r[0-9]*/"

Check = Callable[[], object]


def refuse_at_once(checks: Iterable[Check]) -> None:
    """Make every check; raise SuiteError with each different sentence of those that raise it, one
    to a line; of many, the first ones."""
    problems = dict[str, None]()
    for check in checks:
        try:
            check()
        except SuiteError as error:
            problems.setdefault(str(error))
    said = list(problems)
    if said:
        more = (
            [f"… and {counted(len(said) - MAX_PROBLEMS, 'more problem')}."]
            if len(said) > MAX_PROBLEMS
            else []
        )
        raise SuiteError("\n".join([*said[:MAX_PROBLEMS], *more]))


def checks_of_runs(requests: Sequence[RunRequest], directory: Path) -> list[Check]:
    """Checks that every sweep makes: environments, what each different run needs of this machine,
    and the disk for all of them."""
    frameworks = {request.framework.argument: request.framework for request in requests}
    different = {
        (request.training.output_directory.rpartition("-r")[0]): request for request in requests
    }
    return [
        *(partial(find_environment, each) for each in frameworks.values()),
        *(partial(preflight, each) for each in different.values()),
        partial(_refuse_full_disk, requests, directory),
    ]


def refuse_folder(directory: Path, kind: str, varied: Sequence[str]) -> None:
    """Raise SuiteError for a folder that cannot hold a sweep of this ``kind`` (MATRIX or STUDY)
    over these settings.

    That is a file, a folder that may not be written, one with other things than a sweep in it, or
    another sweep's.
    """
    place = nearest_existing(directory)
    if not place.is_dir():
        raise SuiteError(f"{place} is not a folder; choose another --output.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise SuiteError(f"You may not write to {place}; choose another --output.")
    if place != directory:
        return
    found = list(_sweeps_in(directory))
    if not found and any(directory.glob("[!.]*")) and not any(directory.glob(_RUNS)):
        raise SuiteError(f"{directory} holds other files but no sweep; choose another --output.")
    for other, of in found:
        if (other, of) != (kind, tuple(varied)):
            raise SuiteError(
                f"{directory} holds another sweep, over {', '.join(of)}; choose another --output."
            )


def left_over(directory: Path, folders: Collection[str]) -> list[str]:
    """Folders of runs in ``directory`` that are not among ``folders``: of values or repetitions
    that an earlier call had, and this one has not."""
    return sorted(path.name for path in directory.glob(_RUNS) if path.name not in folders)


def _sweeps_in(directory: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Kind and varied settings of the sweeps whose records lie in the folder; a damaged record says
    nothing."""
    with suppress(SuiteError):
        yield MATRIX, read_matrix(directory).plan.variables
    with suppress(SuiteError):
        yield STUDY, (read_study(directory).plan.varied,)


@contextmanager
def held_folder(directory: Path) -> Iterator[None]:
    """Create the folder, and hold it: raises SuiteError where another command writes into it. The
    kernel lets go when this one ends."""
    directory.mkdir(parents=True, exist_ok=True)
    handle = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if not take_lock(handle):
            raise SuiteError(
                f"Another command writes into {directory}; wait for its end, or choose another"
                " --output."
            )
        yield
    finally:
        os.close(handle)


def _refuse_full_disk(requests: Sequence[RunRequest], directory: Path) -> None:
    place = nearest_existing(directory)
    missing = sum(not request.directory.exists() for request in requests)
    free, needed = free_bytes(place), missing * RUN_BYTES
    if free < needed > BUNDLE_SIZE_BYTES:  # of less, the preflight of one run has said it
        raise SuiteError(
            f"The disk that holds {place} has {free // 2**20} MiB free, and"
            f" {counted(missing, 'run')} would take about {needed // 2**20} MiB; free some space,"
            " or choose another --output."
        )
