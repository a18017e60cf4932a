"""Further trainings beside a run: the same request, from before its first step until after its last
one (several tenants of one board)."""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from reference_impls import contract
from suite.bundle import layout
from suite.errors import SuiteError
from suite.execution.implementation import start_implementation
from suite.execution.request import RunRequest
from suite.launch.environments import Environment
from suite.launch.gate import release
from suite.launch.process import terminate

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
        folders = [
            stack.enter_context(_training(request, environment)) for _ in range(request.neighbours)
        ]
        for process, folder in folders:
            _wait_for_steps(process, folder)
        yield


@contextmanager
def _training(
    request: RunRequest, environment: Environment
) -> "Iterator[tuple[subprocess.Popen[bytes], Path]]":
    with tempfile.TemporaryDirectory(prefix="neighbour-") as name:
        folder = Path(name)
        training = request.training._replace(
            epochs=ENDLESS_EPOCHS, steps=None, target_accuracy=None, output_directory=name
        )
        (folder / contract.REQUEST_NAME).write_text(
            json.dumps(contract.request_to_dict(training)), encoding="utf-8"
        )
        process = start_implementation(
            replace(request, training=training, keep_states=False, resume=None),
            environment,
            folder / layout.OUTPUT,
        )
        try:
            release(process)
            yield process, folder
        finally:
            terminate(process)


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
