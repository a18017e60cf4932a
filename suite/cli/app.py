"""The `suite` command: loads the module of the command that was typed and turns every failure into
one sentence and an exit code.

0 done, 1 does not comply or agree, 2 error.
"""

import functools
import importlib
import itertools
import re
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
import typer.core
import typer.main
from typer import Option

from suite import __version__
from suite.bundle.layout import states_folder
from suite.catalog.extensions import Extension, ListedCommand, extensions, read_extension
from suite.cli.panels import in_panels
from suite.cli.streams import tolerant_streams
from suite.compliance.finding import printable
from suite.errors import COULD_NOT, InterruptedAfterEnd, Reported, SuiteError
from suite.execution.interrupts import interrupt_at_signals
from suite.files.names import nearest
from suite.files.paths import suite_home
from suite.files.shell_command import shell_command
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
    "tensorboard": "tensorboard",
}
"""Modules that boards may do without, and the extra of this package that installs each."""
REPLACE_NOTHING = ("run", "quick")
ALSO_CALLED = {"reference": "reference-points"}
"""Further names of commands, which work and are not listed."""
OWN = "commands.toml"
CODES = {
    "run": "Exit code: 0 done, 1 refused because the run could never comply, 2 error.",
    "cluster doctor": "Exit code: 0 the hosts can train together, 1 they have problems, 2 unknown.",
}
"""Of commands whose help text has none, and which may end with 1."""
USUAL_CODES = "Exit code: 0 done, 2 error."


@functools.cache
def own_commands() -> Extension:
    """The suite's own commands, described as those of an extension are."""
    return read_extension(Path(__file__).with_name(OWN), "suite.cli")


@functools.cache
def listed_commands() -> dict[str, tuple[Extension, ListedCommand]]:
    """Every command with who describes it, by name: the suite's own, then those of extensions."""
    return listed_in(own_commands(), *extensions())


def listed_in(*described: Extension) -> dict[str, tuple[Extension, ListedCommand]]:
    """The commands of these, by name."""
    return {each.name: (one, each) for one in described for each in one.commands}


WRITTEN = ("output", "archive", "caption")
"""Options that name what a command writes."""
ELSEWHERE = {
    "help": "--help",
    "version": "--version",
    "data list": "list data-sets",
    "env list": "list frameworks",
    "submissions list": "submissions status",
}
"""What is typed as in other programs, and the command that does it."""
WRONG_VALUE = re.compile(r"Invalid value for '(.+)': Input should be (.+)")
"""What Pydantic says of a value; Typer's versions without it say it themselves."""
WANTED = {
    "a valid integer.*": "a whole number",
    "a valid number.*": "a number",
    "greater than or equal to (.*)": r"at least \1",
    "less than or equal to (.*)": r"at most \1",
}

BEGIN = """\
Benchmark DNN training on edge devices. Start with these commands:

  suite doctor                          what this machine can measure, and how to get more
  suite env create pytorch              the environment of a framework
  suite data prepare mnist --download   the data set of LeNet-5
  suite quick --within 10m              how long training would take here
  suite run --division closed           the workloads of this device, measured for the leaderboard

All commands: suite --help
"""


def command_help() -> dict[str, str]:
    """The first paragraph of every command's help, by name."""
    return {name: command.help for name, (_, command) in listed_commands().items()}


def command_examples() -> dict[str, str]:
    """An example of every command and subcommand, those of extensions too."""
    described = (own_commands(), *extensions())
    return {each.command: each.typed for one in described for each in one.examples}


class LazyGroup(typer.core.TyperGroup):
    """Imports a command's module when the command runs, and looks for extensions unless it is one
    of the suite's own. Ctrl-C ends a command with one sentence, like every other failure."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        in_panels(self)
        self._list(listed_in(own_commands()))

    def _list(self, commands: dict[str, tuple[Extension, ListedCommand]]) -> None:
        for name in commands.keys() - self.commands.keys():
            listed = commands[name][1]
            text = listed.help.partition(" Exit code:")[0]  # said by its own help
            self.add_command(
                typer.core.TyperCommand(name, help=text, rich_help_panel=listed.panel.value)
            )

    def list_commands(self, ctx: Any) -> list[str]:
        """Those of extensions, too."""
        self._list(listed_commands())
        return list(listed_commands())

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was typed, loaded, in place of the stub that `suite --help` lists."""
        typed_as = [ALSO_CALLED.get(args[0], args[0]), *args[1:]] if args else args
        if typed_as and typed_as[0] not in self.commands:
            self._list(listed_commands())
        name, command, rest = super().resolve_command(ctx, typed_as)
        return name, command and load_command(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was typed."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            kept = str(interrupt)  # of a run: where its finished epochs are
            is_run = sys.argv[1:2] == ["run"] and not _makes_a_set(_flat(sys.argv[1:]))
            is_complete = is_run and isinstance(interrupt, InterruptedAfterEnd)
            again = "" if is_complete else f" To {_resume_hint(sys.argv[1:])}"
            raise SuiteError(f"Interrupted; {kept}.{again}" if kept else "Interrupted.") from None


def _flat(words: list[str]) -> list[str]:
    """Options and their values as words of their own."""
    return [part for word in words for part in word.split("=", 1 if word[:2] == "--" else 0)]


def _makes_a_set(flat: list[str]) -> bool:
    """Whether the command makes several runs, and typed again those that are missing."""
    is_one = "--stall-analysis" in flat or ("--workload" in flat and "--boards" not in flat)
    return flat[:1] == ["run"] and not is_one


def _resume_hint(words: list[str]) -> str:
    """What to type after an interrupt: into another folder where the command replaces nothing, and
    from the last state where the run kept one (the closed division trains from the start)."""
    flat = _flat(words)
    if _makes_a_set(flat):
        return f"continue: {shell_command('suite', *flat)}"
    place = flat.index("--output") + 1 if "--output" in flat else 0
    taken, numbers = flat[place], itertools.count(2)
    has_state = any(states_folder(Path(taken)).glob("epoch_*.npz"))
    keeps = not {"--keep-states", "--short"}.isdisjoint(flat)  # else the states are of another run
    goes_on = has_state and keeps and {"run", "--output", "open"} <= set(flat)
    if flat[0] in REPLACE_NOTHING and place and (goes_on or "--force" not in flat):
        flat[place] = next(new for n in numbers if not Path(new := f"{taken}-{n}").exists())
        if goes_on and "--resume" in flat:
            flat[flat.index("--resume") + 1] = taken
        elif goes_on:
            flat += ["--resume", taken]
    return f"{'continue' if goes_on else 'run again'}: {shell_command('suite', *flat)}"


def load_command(name: str) -> Any:
    """Import a command and make it ready to run."""
    own = listed_in(own_commands())
    owner, listed = own[name] if name in own else listed_commands()[name]
    module = importlib.import_module(f"{owner.package}.{listed.module}")
    found = getattr(module, "app", None) or getattr(module, name.replace("-", "_"))
    if isinstance(found, typer.Typer):
        found.info.help = listed.help
        return with_examples(name, typer.main.get_group(found))
    single = typer.Typer(add_completion=False)
    single.command(name)(found)
    return with_examples(name, typer.main.get_command(single))


def with_examples(path: str, command: Any) -> Any:
    """The command, and those below it, with many options in panels, an example and the exit codes
    at the end of the help."""
    in_panels(command)
    example = command_examples().get(path)
    if example:
        codes = "" if "Exit code:" in (command.help or "") else CODES.get(path, USUAL_CODES)
        command.epilog = f"For example: {example}" + (f"\n\n{codes}" if codes else "")
    children = getattr(command, "commands", {})
    for name, child in children.items():
        with_examples(f"{path} {name}", child)
    if not children or command.invoke_without_command:
        command.callback = _beside_runs(command.callback)
    return command


def _beside_runs(call: Callable[..., Any]) -> Callable[..., Any]:
    """The command, which refuses a place in a run directory for what it writes."""

    @functools.wraps(call)
    def refusing(*arguments: Any, **values: Any) -> Any:
        for name in WRITTEN:
            if str(place := values.get(name)) == "-":
                raise SuiteError(f"--{name} needs a file or folder, not standard output (-).")
            if place is not None:
                from suite.bundle.manifest import refuse_inside_run  # start-up: of few commands

                refuse_inside_run(Path(place))
        return call(*arguments, **values)

    return refusing


app = typer.Typer(
    cls=LazyGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Benchmark DNN training on edge devices.",
    epilog=(
        "Each --help ends with an example. Exit code: 0 done, 1 does not comply or agree, 2 error."
    ),
)


@app.callback(invoke_without_command=True)
def begin(
    context: typer.Context,
    version: bool = Option(False, "--version", help="Print the version."),
) -> None:
    """Print the version on --version, and without a command the commands to start with."""
    if version or context.invoked_subcommand is None:
        print(__version__ if version else BEGIN, end="\n" if version else "")
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
        meant, said = _meant(sys.argv[1:], error), _sentence(error)
        if "Did you mean `" in meant:  # better than a command of nearly the same letters
            said = said.partition(" Did you mean ")[0]
        _end(f"{said} {meant}See `{_command_of(error)} --help`.")
    except PermissionError as error:
        _end(
            f"This user is not permitted to open {error.filename}: {error.strerror}. Choose another"
            " path, or ask the owner for access."
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
            _end("The current folder was removed; change into one that exists.")
        _end(f"Unexpected error ({type(error).__name__}: {error}). {_keep_traceback()}")


def _put_back_power_settings() -> None:
    """Put back power settings that a killed command left, or say how; whatever comes of it, the
    command that was typed goes on."""
    # these say what is left, or put it back
    if not has_records() or sys.argv[1:3] in (["power", "show"], ["power", "restore"]):
        return
    from suite.cli.power_modes import put_back_sentence  # start-up: of killed commands only
    from suite.machine.modes.set_and_restore import recover_modes  # likewise

    try:
        for done in recover_modes():
            print(put_back_sentence(done), file=sys.stderr)
    except SuiteError as error:
        print(f"warning: {error}", file=sys.stderr)


def _end(sentence: str, with_json: bool = True) -> None:
    """End with a sentence on standard error, and with --json as an object on standard output,
    too."""
    if with_json and "--json" in sys.argv:
        from suite.cli.json_output import print_json  # start-up: of failures only

        print_json("error", {"error": sentence, "exit_code": COULD_NOT})
    print("error: " + "\n".join(map(printable, sentence.splitlines())), file=sys.stderr)
    sys.exit(COULD_NOT)


def _meant(words: list[str], error: Any) -> str:
    """What a word means that stands where people of other programs write it."""
    first = "".join(words[:1])
    if first.startswith("-"):
        return f"The command comes first: `suite COMMAND {first}`. "
    known = [ELSEWHERE.get(" ".join(words[:2])) or ELSEWHERE.get(first)]
    if first not in listed_commands():
        known += [path for path in command_examples() if path.endswith(f" {first}")]
    if found := " or ".join(f"`suite {each}`" for each in known if each):
        return f"Did you mean {found}? "
    command = getattr(getattr(error, "ctx", None), "command", None)
    if any("--workload" in option.opts for option in getattr(command, "params", ())):
        from suite.cli.completion import workload_names  # start-up: of failures only

        for before, word in itertools.pairwise(words):
            if not before.startswith("--") and word in workload_names(""):
                return f"To choose a workload, type `--workload {word}`. "
    return ""


def _sentence(error: Any) -> str:
    message = " ".join(str(error.format_message()).replace("Value error, ", "").split())
    cause = error.__cause__
    if (found := WRONG_VALUE.fullmatch(message)) and hasattr(cause, "errors"):
        option, wanted = found.groups()
        for pattern, words in WANTED.items():
            wanted = re.sub(pattern, words, wanted)
        message = f"{option} must be {wanted}, not {cause.errors()[0]['input']!r}"
    if possible := getattr(error, "possibilities", None):
        hint = nearest(error.option_name.lstrip("-"), [each.lstrip("-") for each in possible])
        message = "; ".join(filter(None, (error.message, hint.replace("'", "'--", 1))))
    message = message.rstrip()
    return message if not message or message.endswith((".", "?")) else f"{message}."


def _command_of(error: Any) -> str:
    path = error.ctx.command_path if getattr(error, "ctx", None) is not None else "suite"
    return " ".join(path.split())  # the command of `suite audit` itself has no name


def _is_in_a_folder() -> bool:
    try:
        return bool(Path.cwd())
    except FileNotFoundError:
        return False


def _keep_traceback() -> str:
    path = suite_home() / "logs" / time.strftime("traceback-%Y%m%dT%H%M%S.txt")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{' '.join(sys.argv)}\n{traceback.format_exc()}", encoding="utf-8")
    except OSError as error:
        return f"The traceback could not be written to {path}: {error.strerror}."
    return f"Please report this error, and attach {path}, which has the traceback."
