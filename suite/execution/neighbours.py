"""Further trainings beside a run: the same request, from before its first step until after its last
one (several tenants of one board)."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from reference_impls import contract
from suite.bundle import layout
from suite.errors import SuiteError
from suite.execution.implementation import tried
from suite.execution.request import RunRequest
from suite.launch.environments import Environment

ENDLESS_EPOCHS = 1_000_000
POLL_S, START_TIMEOUT_S = 0.05, 600.0
STEPS = contract.steps_name(0)


@contextmanager
def neighbours(request: RunRequest, environment: Environment) -> Iterator[None]:
    """Train the request ``request.neighbours`` times more within the block, which begins when all
    of them make steps.

    Their records are in folders of their own, and are removed. Raises SuiteError for one that ends
    or makes no step.
    """
    with ExitStack() as stack:
        trainings = [
            stack.enter_context(
                tried(request, environment, epochs=ENDLESS_EPOCHS, steps=None, target_accuracy=None)
            )
            for _ in range(request.neighbours)
        ]
        for process, folder in trainings:
            _wait_for_steps(process, folder)
        yield


def _wait_for_steps(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Wait for a neighbour's first finished epoch: its steps are written then."""
    until_s = time.monotonic() + START_TIMEOUT_S
    while not (folder / STEPS).is_file() or (folder / STEPS).read_bytes().count(b"\n") < 2:
        if process.poll() is not None or time.monotonic() > until_s:
            lines = (
                (folder / layout.OUTPUT).read_text(encoding="utf-8", errors="replace").splitlines()
            )
            raise SuiteError(
                "A neighbour of the run makes no steps:"
                f" {lines[-1][:300] if lines else 'no output'}",
                "train fewer at once",
            )
        time.sleep(POLL_S)
