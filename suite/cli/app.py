"""The `suite` command: mounts one module per command and turns every failure into one sentence and an exit code.

0 done, 1 judged not compliant, 2 could not.
"""

import signal
import sys
import time
import traceback
from typing import Any

import typer
import typer.core

from suite import __version__
from suite.cli import (
    check,
    cluster,
    data,
    doctor,
    environment,
    linpack,
    listing,
    reference_points,
    report,
    run,
    submission,
    sweep,
    verify_model,
    verify_ranks,
)
from suite.compliance.finding import escaped
from suite.errors import SuiteError
from suite.files.paths import home

COULD_NOT = 2


class InterruptibleGroup(typer.core.TyperGroup):
    """Ctrl-C ends a command with one sentence, like every other failure."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SuiteError("Interrupted.") from None


app = typer.Typer(
    cls=InterruptibleGroup, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Benchmark DNN training on edge devices."
)
app.command()(run.run)
app.command()(sweep.sweep)
app.command()(check.check)
app.command()(check.explain)
app.command()(report.report)
app.command()(verify_model.verify_model)
app.command()(verify_ranks.verify_ranks)
app.command()(submission.package)
app.command()(submission.submit)
app.command()(linpack.linpack)
app.command()(doctor.doctor)
app.add_typer(listing.app, name="list")
app.add_typer(reference_points.app, name="reference-points")
app.add_typer(environment.app, name="env")
app.add_typer(data.app, name="data")
app.add_typer(cluster.app, name="cluster")


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    """Print the version when asked."""
    if show:
        print(__version__)
        raise typer.Exit()


def main() -> None:
    """Entry point of the `suite` command; being asked to end (SIGTERM) is Ctrl-C to it, so that nothing that it started goes on."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except SuiteError as error:
        _end(str(error))
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a sentence, the traceback goes to a file
        _end(f"Something unforeseen happened ({type(error).__name__}: {error}). {_keep_traceback()}")


def _end(sentence: str) -> None:
    print("error: " + "\n".join(map(escaped, sentence.splitlines())), file=sys.stderr)
    sys.exit(COULD_NOT)


def _keep_traceback() -> str:
    path = home() / "logs" / time.strftime("traceback-%Y%m%dT%H%M%S.txt")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{' '.join(sys.argv)}\n{traceback.format_exc()}", encoding="utf-8")
    except OSError as error:
        return f"The traceback could not be kept in {path}: {error.strerror}."
    return f"The traceback is in {path}; please report it with that file."
