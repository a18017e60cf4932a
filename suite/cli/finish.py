"""`suite finish RUN…`."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from suite import api
from suite.cli.json_output import print_json
from suite.cli.options import Json
from suite.errors import Reported, SuiteError
from suite.execution.finish import FinishedRun
from suite.files.counted import counted
from suite.files.shell_command import shell_command


def finish(
    runs: Annotated[
        list[Path],
        Argument(
            help="Run directories whose bundle is not sealed, because the run failed, lost power,"
            " or was killed or interrupted."
        ),
    ],
    json: Json = False,
) -> None:
    """Seal the bundles of runs that were killed or interrupted. Exit code: 0 all are sealed, 2 at
    least one is not."""
    closed: list[FinishedRun] = []
    problems = []
    for run in runs:
        try:
            closed += api.finish([run])
        except SuiteError as error:
            problems.append(str(error))
    if json:
        print_json("finish", {"runs": closed, "problems": problems})
    else:
        for each in closed:
            print(_sentence(each))
    if problems:
        raise Reported("\n".join(problems))


def _sentence(run: FinishedRun) -> str:
    epochs = counted(run.epochs, "finished epoch")
    if run.was_closed:
        return f"{run.path}: is already sealed ({run.status}, {epochs})" + (
            f"; {run.reason}" if run.reason else ""
        )
    if run.status == "finished":
        ending = f"Check it: {shell_command('suite check', run.path)}"
    elif run.epochs:
        ending = f"It is not a result. To see its epochs: {shell_command('suite watch', run.path)}"
    else:
        ending = "It is not a result: run it again"
    return f"{run.path}: sealed as {run.status}, {epochs} ({run.reason}). {ending}"
