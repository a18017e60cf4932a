"""`suite watch RUN`."""

import sys
import time
from pathlib import Path
from typing import Annotated

from typer import Argument

from reference_impls import contract
from reference_impls.contract import Request
from suite.bundle.layout import RUN, SUMMARY
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.bundle.resumption import how_to_resume
from suite.bundle.run_lock import is_held
from suite.cli.json_output import Json, print_json
from suite.cli.results import ending_of, run_values
from suite.cli.watching import REFRESH_S, LineWatcher
from suite.errors import SuiteError
from suite.execution.resume import FINISHED
from suite.execution.training import LogFollower
from suite.files.shell_command import shell_command


def watch(run: Annotated[Path, Argument(help="Run directory.")], json: Json = False) -> None:
    """Follow a run that was started in another terminal, job or SSH session, until it ends."""
    Bundle(run).expect_run()
    training = read_request(Bundle(run).run(), str(run / RUN))
    lines = LineWatcher(training, run, sys.stderr.isatty())
    follower, goes_on, is_past = LogFollower(run / contract.log_name(0)), True, True
    try:
        while goes_on:
            goes_on = is_held(run)
            for event in follower.new_events():
                lines.event(event, is_past)
            is_past = False
            lines.tick()
            time.sleep(REFRESH_S if goes_on else 0.0)
    except KeyboardInterrupt:
        again = shell_command("suite watch", run)
        raise SuiteError(
            f"Interrupted; the run {run} continues. To watch it again: {again}"
        ) from None
    finally:
        lines.clear()
    bundle = Bundle(run)
    if not bundle.is_sealed or bundle.run().status != FINISHED:
        raise SuiteError(_why_not_whole(bundle, training))
    if json:
        print_json("run", run_values(bundle))
    else:
        print(ending_of(bundle))


def _why_not_whole(bundle: Bundle, training: Request) -> str:
    """What ended a run that did not finish, or whose bundle is not sealed, and what to do."""
    run, record, finish = bundle.path, bundle.run(), shell_command("suite finish", bundle.path)
    if record.status == FINISHED:
        return f"{run} finished, but its bundle is not sealed; `{finish}` seals it."
    if record.status == "running":
        return (
            f"{run} has the status {record.status}, but no process on this machine trains it. Watch"
            f" it on the machine that trains it; if the run was killed, `{finish}` seals it."
        )
    cause = str(record.message or record.status).rstrip(".")
    closed = f"`{finish}` seals its bundle."
    if bundle.is_sealed:  # without records there are no figures
        closed = ending_of(bundle) if (run / SUMMARY).is_file() else ""
    said = (f"{run} ended: {cause}.", closed, how_to_resume(run, training))
    return " ".join(filter(None, said))
