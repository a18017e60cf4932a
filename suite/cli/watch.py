"""`suite watch RUN`."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from reference_impls import contract
from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.cli.results import ending_of
from suite.cli.watching import REFRESH_S, LineWatcher
from suite.errors import SuiteError
from suite.execution.run_directory import is_held
from suite.execution.training import LogFollower
from suite.files.typed import typed


def watch(run: Annotated[Path, typer.Argument(help="Run directory.")]) -> None:
    """Follow a run that another terminal, a job or an ssh session made; ends with the run."""
    Bundle(run).expect_run()
    training = read_request(Bundle(run).run(), str(run / RUN))
    lines = LineWatcher(training, run, sys.stderr.isatty())
    follower, goes_on = LogFollower(run / contract.log_name(0)), True
    while goes_on:
        goes_on = is_held(run)
        for event in follower.new_events():
            lines.event(event)
        lines.tick()
        time.sleep(REFRESH_S if goes_on else 0.0)
    lines.clear()
    bundle = Bundle(run)
    if not bundle.is_sealed:
        raise SuiteError(
            f"No process on this machine makes {run} (status: {bundle.run().status}); watch it"
            f" where it is made. If it was killed, `{typed('suite finish', run)}` closes it."
        )
    print(ending_of(bundle))
