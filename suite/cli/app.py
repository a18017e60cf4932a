"""The `suite` command: loads the module of the command that was typed and turns every failure into
one sentence and an exit code.

0 done, 1 judged not compliant, 2 could not.
"""

import importlib
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import typer
import typer.core
import typer.main

from suite import __version__
from suite.catalog.extensions import Part, extensions
from suite.cli.examples import with_examples
from suite.cli.streams import tolerant_streams
from suite.compliance.finding import escaped
from suite.errors import COULD_NOT, InterruptedAfterEnd, Reported, SuiteError
from suite.execution.interrupts import interrupt_at_signals
from suite.files.paths import home
from suite.files.typed import typed
from suite.machine.modes.places import has_records

INTERRUPTED = 130
"""What newer versions of Typer return for Ctrl-C before the command begins; others raise Abort."""
USAGE_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
"""What Typer raises for a command line that it cannot read; some of its versions bring Click with
them, others depend on it."""
EXTRAS = {
    "matplotlib": "figures",
    "pandas": "report",
    "jinja2": "report",
    "markdown_it": "report",
    "sklearn": "digits",
}
"""Modules that boards may do without, and the extra of this package that installs each."""


class Command(NamedTuple):
    """Where a command is: a module of suite.cli with a function, or a Typer of subcommands;
    ``help`` is the first line of its help text."""

    module: str
    attribute: str
    help: str


COMMANDS = {
    "run": Command(
        "run",
        "run",
        "Train a workload under the rules of a division and record everything that was measured.",
    ),
    "quick": Command(
        "quick",
        "quick",
        "Train a few epochs of workloads and project times to the target. Exit code: 0 done, 2 one"
        " could not be.",
    ),
    "sweep": Command(
        "sweep",
        "sweep",
        "Run a study, or a matrix of settings. Resumable: rerun the same command to continue.",
    ),
    "finish": Command(
        "finish",
        "finish",
        "Close runs that were left unclosed. Exit code: 0 every run is closed, 2 one could not be.",
    ),
    "power": Command(
        "power",
        "app",
        "Set power modes and put them back; attach the trace of an external power meter to a"
        " finished run.",
    ),
    "check": Command(
        "check",
        "check",
        "Check bundles and submissions against the rulebook. Exit code: 0 complies, 1 does not, 2"
        " could not judge.",
    ),
    "audit": Command(
        "audit",
        "app",
        "Train a run's first steps again and compare. Exit code: 0 agrees, 1 contradicts, 2 could"
        " not tell.",
    ),
    "explain": Command("explain", "explain", "Explain what a rule demands and why."),
    "report": Command(
        "report",
        "report",
        "Render a leaderboard as static pages that need no server and no network.",
    ),
    "trace": Command(
        "trace",
        "trace",
        "Write a run as a trace for Perfetto or chrome://tracing: ranks, steps and readings on one"
        " clock.",
    ),
    "figure": Command(
        "figure",
        "figure",
        "Draw a figure for a paper, and write its caption: n, seeds, error bars, device,"
        " instrument.",
    ),
    "paper": Command(
        "paper",
        "app",
        "Draw the data tables and panels of published papers from your own runs, and compare with"
        " what they state.",
    ),
    "reproduce": Command(
        "reproduce",
        "reproduce",
        "Make somebody's runs again and compare. Exit code: 0 confirmed, 1 refuted, 2 undecided.",
    ),
    "verify-model": Command(
        "verify_model",
        "verify_model",
        "Verify that implementations compute the same model. Exit code: 0 yes, 1 no, 2 unknown.",
    ),
    "verify-ranks": Command(
        "verify_ranks",
        "verify_ranks",
        "Verify that several ranks train as one does. Exit code: 0 yes, 1 no, 2 unknown.",
    ),
    "package": Command(
        "submission",
        "package",
        "Place runs in a submission tree and check it. Exit code: 0 complies, 1 does not.",
    ),
    "submit": Command(
        "submission",
        "submit",
        "Check a submission as a reviewer will. Exit code: 0 complies, 1 does not, 2 could not"
        " judge.",
    ),
    "submissions": Command(
        "submissions", "app", "List submissions with what a reviewer still has to decide."
    ),
    "linpack": Command(
        "linpack", "linpack", "Run LINPACK and seal its rate, residual, BLAS and power in a record."
    ),
    "doctor": Command(
        "doctor",
        "doctor",
        "List what this machine can measure and run, and how to get each missing thing.",
    ),
    "implementation": Command(
        "implementation", "app", "Begin and test an implementation of your own."
    ),
    "new": Command(
        "new",
        "new",
        "Write the skeleton of a new device, meter, rule, workload, framework or extension.",
    ),
    "list": Command(
        "listing",
        "app",
        "List workloads, devices, frameworks, data sets, studies, figures, rounds or rules.",
    ),
    "reference-points": Command(
        "reference_points",
        "app",
        "Make, show and compare reference points (epochs that the reference runs need).",
    ),
    "env": Command("environment", "app", "Create framework environments."),
    "data": Command("data", "app", "Prepare and verify data sets."),
    "nonce": Command(
        "nonce", "app", "Seeds that nobody chose: lock what will be run before the nonce is known."
    ),
    "witness": Command("witness", "app", "Witness of when the runs of a lab began and ended."),
    "cluster": Command("cluster", "app", "Check the hosts of a cluster."),
}


REPLACE_NOTHING = ("run", "quick")
ALSO_CALLED = {"reference": "reference-points"}
"""Further names of commands, which work and are not listed."""


def commands() -> dict[str, str]:
    """The first line of every command's help, by name: the suite's own, then those of
    extensions."""
    own = {name: command.help for name, command in COMMANDS.items()}
    return own | {each.name: each.help for one in extensions() for each in one.commands}


class LazyGroup(typer.core.TyperGroup):
    """Imports a command's module when the command runs. Ctrl-C ends a command with one sentence,
    like every other failure."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, text in commands().items():
            self.add_command(typer.core.TyperCommand(name, help=text))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was typed, loaded, in place of the stub that `suite --help` lists."""
        name, command, rest = super().resolve_command(
            ctx, [ALSO_CALLED.get(args[0], args[0]), *args[1:]] if args else args
        )
        return name, command and load_command(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            kept = str(interrupt)  # of a run: where its finished epochs are
            is_complete = isinstance(interrupt, InterruptedAfterEnd) and sys.argv[1:2] == ["run"]
            again = (
                ""
                if is_complete
                else f" To run again{_elsewhere(sys.argv[1:])}: {typed('suite', *sys.argv[1:])}"
            )
            raise SuiteError(f"Interrupted; {kept}.{again}" if kept else "Interrupted.") from None


def _elsewhere(words: list[str]) -> str:
    """What to change before an interrupted command is typed again: one that replaces nothing
    refuses the folder where its epochs are kept."""
    names = {word.partition("=")[0] for word in words}
    return (
        ", with another --output"
        if words[0] in REPLACE_NOTHING and "--output" in names and "--force" not in names
        else ""
    )


def load_command(name: str) -> Any:
    """Import a command, of the table or of an extension, and make it ready to run."""
    if name in COMMANDS:
        command = COMMANDS[name]
        found = getattr(importlib.import_module(f"suite.cli.{command.module}"), command.attribute)
    else:
        found = next(
            getattr(extension.part(Part.COMMAND), name.replace("-", "_"))
            for extension in extensions()
            if name in (each.name for each in extension.commands)
        )
    if isinstance(found, typer.Typer):
        return with_examples(name, typer.main.get_group(found))
    single = typer.Typer(add_completion=False)
    single.command(name)(found)
    return with_examples(name, typer.main.get_command(single))


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Benchmark DNN training on edge devices.",
    epilog=(
        "Each command's --help ends with an example. Exit code: 0 done, 1 judged not compliant, 2"
        " could not."
    ),
)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    """Print the version on --version."""
    if show:
        print(__version__)
        raise typer.Exit()


def main() -> None:
    """Run the command that was typed; SIGTERM and SIGHUP are handled as Ctrl-C, so that every
    process that it started ends, too."""
    interrupt_at_signals()
    with tolerant_streams() as output:
        try:
            _run_command()
        finally:
            sys.stdout.flush()
            if output is not None and output.problem() is not None:
                _end(f"The output could not be written: {output.problem()}.", with_json=False)


def _run_command() -> None:
    """Run what was typed; ends with SystemExit."""
    try:
        _put_back_power_settings()
        code = app(standalone_mode=False, prog_name="suite")
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(code)
    except Reported as error:
        _end(str(error), with_json=False)
    except SuiteError as error:
        _end(str(error))
    except USAGE_ERROR as error:
        if not _sentence(error):  # a command without its subcommand: the help was printed
            sys.exit(COULD_NOT)
        _end(f"{_sentence(error)} See `{_command_of(error)} --help`.")
    except PermissionError as error:
        _end(
            f"This user may not open {error.filename}: {error.strerror}. Choose another path, or"
            " have its owner permit it."
        )
    except (typer.Abort, KeyboardInterrupt):
        _end("Interrupted.")
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        _end(
            f"This command needs packages that are not installed ({error.name}): pip install"
            f" 'edge-training-suite[{extra}]'."
            if extra
            else f"The module {error.name} is missing. {_keep_traceback()}"
        )
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a sentence, the traceback goes to a file
        if isinstance(error, FileNotFoundError) and not _is_in_a_folder():
            _end(
                "The folder that this command was typed in was removed; change into one that"
                " exists."
            )
        _end(f"Unexpected error ({type(error).__name__}: {error}). {_keep_traceback()}")


def _put_back_power_settings() -> None:
    """Put back power settings that a killed command left, or say how; whatever comes of it, the
    command that was typed goes on."""
    # these say what is left, or put it back
    if not has_records() or sys.argv[1:3] in (["power", "show"], ["power", "restore"]):
        return
    from suite.cli.power_modes import put_back_sentence  # start-up: of killed commands only
    from suite.machine.modes.keeper import recover  # start-up: of killed commands only

    try:
        for done in recover():
            print(put_back_sentence(done), file=sys.stderr)
    except SuiteError as error:
        print(f"warning: {error}", file=sys.stderr)


def _end(sentence: str, with_json: bool = True) -> None:
    """End with a sentence on standard error, and with --json as an object on standard output,
    too."""
    if with_json and "--json" in sys.argv:
        from suite.cli.json_output import print_json  # start-up: of failures only

        print_json("error", {"error": sentence, "exit_code": COULD_NOT})
    print("error: " + "\n".join(map(escaped, sentence.splitlines())), file=sys.stderr)
    sys.exit(COULD_NOT)


def _sentence(error: Any) -> str:
    message = " ".join(str(error.format_message()).replace("Value error, ", "").split())
    return message if not message or message.endswith((".", "?")) else f"{message}."


def _command_of(error: Any) -> str:
    return error.ctx.command_path if getattr(error, "ctx", None) is not None else "suite"


def _is_in_a_folder() -> bool:
    try:
        return bool(Path.cwd())
    except FileNotFoundError:
        return False


def _keep_traceback() -> str:
    path = home() / "logs" / time.strftime("traceback-%Y%m%dT%H%M%S.txt")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{' '.join(sys.argv)}\n{traceback.format_exc()}", encoding="utf-8")
    except OSError as error:
        return f"The traceback could not be written to {path}: {error.strerror}."
    return f"The traceback is in {path}; please report it with that file."
