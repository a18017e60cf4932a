"""`suite paper list|make|check`: the data tables and panels of published papers, from one's own
runs, compared with the papers."""

import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from suite.bundle.manifest import refuse_inside_run
from suite.catalog.papers import Item, ItemState, Registry, RunSet, load_papers
from suite.cli.json_output import print_json, print_rows
from suite.cli.options import Json
from suite.errors import SuiteError
from suite.execution.interrupts import BySignal
from suite.files.durable import output_errors, refuse_no_folder

if TYPE_CHECKING:
    from reporter.papers.comparing import ComparedValue
    from reporter.papers.measures import MeasureSource

app = typer.Typer(no_args_is_help=True)

RUNS, OUTPUT = Path("runs/papers"), Path("papers")
ASKED = {
    "second": "a folder with the data set on a second storage medium",
    "hosts": "a file with a host per line",
}
"""What only the user knows, by its name in the commands."""

FROM_RUNS = (ItemState.REAL, ItemState.SIMULATED, ItemState.EMULATED)
MEANINGS = {
    ItemState.REAL: "from runs",
    ItemState.SIMULATED: (
        "from training under valgrind, which simulates the caches and the branch predictor"
    ),
    ItemState.EMULATED: "from runs on several hosts that are network namespaces of this machine",
    ItemState.CALCULATED: "without a run",
    ItemState.NEEDS: "other hardware, as listed",
}
"""What the states of items mean."""

Id = Annotated[str, Argument(metavar="ID", help="Id of a table or panel (`suite paper list`).")]
Paths = Annotated[
    list[Path] | None,
    Argument(
        metavar="PATHS...",
        help="Folders with runs (default: those in runs/papers).",
    ),
]


@app.command(name="list")
def list_command(json: Json = False) -> None:
    """List every data table and panel: whether it is drawn from real runs, simulated, emulated or
    calculated, or what it needs."""
    registry = load_papers()
    if json:
        print_rows("paper-list", [_row(registry, item) for item in registry.items])
        return
    for paper in registry.papers:
        print(f"{paper.title} ({paper.source})")
        for item in (item for item in registry.items if item.paper == paper.name):
            needed = f"; needs {item.needs}" if item.state is ItemState.NEEDS else ""
            print(
                f"  {item.id:<16}{item.number:<11}{_state(registry, item):<26}{item.title}{needed}"
            )
        print()
    print("\n".join(_totals(registry)))


@app.command()
def make(
    name: Id,
    paths: Paths = None,
    output: Annotated[Path, Option(help="Folder for the files.")] = OUTPUT,
    given: Annotated[
        list[str] | None,
        Option(
            "--with",
            metavar="NAME=PATH",
            help="Path that the runs need: second=DIR or hosts=FILE.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        Option(
            "--dry-run", help="Show which runs are missing and how long they take; run nothing."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Draw a table or panel: page, PDF, CSV, LaTeX and caption. Missing runs are made first, after
    their cost is shown."""
    from reporter.figures.model import Missing  # start-up: pandas
    from reporter.papers.items import draw_item, write_item  # start-up: pandas
    from reporter.papers.render import refuse_without_matplotlib  # start-up: pandas

    registry = load_papers()
    item = registry.item(name)
    refuse_inside_run(output / f"{item.id}.pdf")
    with output_errors(output):  # before the runs that the files are drawn from
        refuse_no_folder(output)
    refuse_without_matplotlib()
    runs = registry.runs_of(item)
    named = _named(item, runs if paths is None else None, given or [])
    is_made = paths is not None or runs is None or not _unfinished(runs).exists()
    drawn = draw_item(registry, item, _source(registry, item, paths) if is_made else None)
    if isinstance(drawn, Missing) and runs is not None and _may_run(item, paths):
        commands = _commands(item, runs, named)
        print(
            f"{item.id} needs runs that take about {runs.minutes} minutes on two cores"
            f" ({runs.title}):",
            file=sys.stderr,
        )
        print("\n".join(f"  suite {shlex.join(command)}" for command in commands), file=sys.stderr)
        if dry_run:
            _show_plan(item, runs.minutes, commands, json)
            return
        _make_runs(runs, commands)
        drawn = draw_item(registry, item, _source(registry, item, None))
    if isinstance(drawn, Missing):
        raise SuiteError(
            f"{item.id} is not drawn: {drawn.reason}. It needs"
            f" {item.needs or (runs.title if runs else 'runs')}."
        )
    if dry_run:
        _show_plan(item, 0, [], json)
        return
    files = write_item(drawn, output)
    if json:
        made = {"files": files, "caption": drawn.caption, "compared": drawn.compared}
        print_json("paper-make", {"id": item.id, **made})
    else:
        print(f"{drawn.caption}\n{'  '.join(map(str, files))}")


def _show_plan(item: Item, minutes: float, commands: list[list[str]], json: bool) -> None:
    """What a dry run found; for people, missing runs are on standard error, as before runs."""
    if json:
        plan = {"minutes": minutes, "commands": list(map(shlex.join, commands))}
        print_json("paper-plan", {"id": item.id, **plan})
    elif not commands:
        print(f"{item.id} is drawn without further runs")


@app.command()
def check(name: Id, paths: Paths = None, json: Json = False) -> None:
    """Compare our values with those in the paper's text. Exit code: 0 all comparable values agree,
    1 one differs, 2 none is comparable."""
    from reporter.papers.comparing import PaperAgreement, compare_with_paper  # start-up: pandas

    registry = load_papers()
    item = registry.item(name)
    compared = compare_with_paper(item, _source(registry, item, paths))
    verdicts = {one.verdict for one in compared}
    if json:
        print_json(
            "paper-check",
            {
                "id": item.id,
                "paper": registry.paper(item).title,
                "number": item.number,
                "differs": item.differs,
                "compared": compared,
            },
        )
    else:
        print("\n".join(_lines(registry, item, compared)))
    raise typer.Exit(
        1 if PaperAgreement.DIFFERS in verdicts else 0 if PaperAgreement.AGREES in verdicts else 2
    )


def _lines(registry: Registry, item: Item, compared: "tuple[ComparedValue, ...]") -> Iterator[str]:
    yield f"{item.number} of {registry.paper(item).title}: {item.title}"
    if item.differs:
        yield f"ours: {item.differs}"
    if not compared:
        yield "The paper's text states no value for this table or panel."
    for one in compared:
        ours = "" if one.ours is None else f", ours {one.ours}"
        reason = f" ({one.why})" if one.why else ""
        quote = f'; {one.place}: "{one.quote}"' if one.quote else f"; {one.place}"
        yield (
            f"  {one.verdict.value}{reason}: {one.quantity}: published"
            f" {one.published or 'unknown'}{ours}{quote}"
        )


def _source(registry: Registry, item: Item, paths: list[Path] | None) -> "MeasureSource | None":
    from reporter.papers.items import source_of  # start-up: pandas

    runs = registry.runs_of(item)
    if paths is not None:
        missing = next((path for path in paths if not path.exists()), None)
        if missing is not None:
            raise SuiteError(
                f"{missing} does not exist; give folders with runs, or leave the paths out to use"
                " the runs in runs/papers."
            )
        return source_of(item, runs, paths)
    return source_of(item, runs, _places(runs))


def _places(runs: RunSet | None) -> list[Path]:
    """Where `make` puts the runs, if they are there."""
    return [] if runs is None or not (RUNS / runs.name).is_dir() else [RUNS / runs.name]


def _may_run(item: Item, paths: list[Path] | None) -> bool:
    return paths is None and item.state in FROM_RUNS


def _commands(item: Item, runs: RunSet, given: dict[str, str]) -> list[list[str]]:
    """The commands with their folders; raises SuiteError for what the user has to name."""
    names = {"runs": str(RUNS / runs.name), **given}
    try:
        return [
            [word.format(**names) for word in shlex.split(command)] for command in runs.commands
        ]
    except KeyError as error:
        key = str(error.args[0])
        raise SuiteError(f"{item.id} needs {ASKED[key]}: give --with {key}=PATH.") from None


def _named(item: Item, runs: RunSet | None, given: list[str]) -> dict[str, str]:
    """The paths that the user names for runs that are made. Raises SuiteError for one that they do
    not need."""
    named = dict(map(_parse_with, given))
    asked = "" if runs is None else " ".join(runs.commands)
    unused = next((key for key in named if f"{{{key}}}" not in asked), None)
    if unused is not None:
        raise SuiteError(f"{item.id} needs no --with {unused}=PATH here; leave it out.")
    return named


def _parse_with(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if name not in ASKED or not value:
        raise SuiteError(
            f"--with {text!r} is not one of {', '.join(f'{key}=PATH' for key in ASKED)}."
        )
    return name, value


def _unfinished(runs: RunSet) -> Path:
    """A file that is there while runs are made, and after an interruption: what is in their folder
    is not all of them."""
    return RUNS / f".{runs.name}.unfinished"


def _make_runs(runs: RunSet, commands: list[list[str]]) -> None:
    """Run the commands. After an interruption a sweep continues; what other commands left is
    removed first."""
    mark = _unfinished(runs)
    if mark.exists() and not all(command[0] == "sweep" for command in commands):
        print(f"{RUNS / runs.name} is unfinished: it is removed and made again", file=sys.stderr)
        shutil.rmtree(RUNS / runs.name, ignore_errors=True)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    for command in commands:
        _run(command)
    mark.unlink()


def _run(command: list[str]) -> None:
    """Run a command of the suite; its output goes to standard error."""
    program = [sys.executable, "-c", "from suite.cli.app import main; main()", *command]
    process = subprocess.Popen(program, stdout=sys.stderr)
    try:
        code = process.wait()
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, BySignal) and interrupt.number == signal.SIGTERM:
            process.terminate()  # Ctrl-C and a closed terminal reach it themselves
        process.wait()  # it ends its training and writes its records
        raise
    if code != 0:
        raise SuiteError(
            f"`suite {shlex.join(command)}` ended with exit code {code}; its message is above."
            " Rerun `suite paper make` to continue."
        )


def _totals(registry: Registry) -> Iterator[str]:
    """How many items there are of each state, and of how many the runs are here."""
    of = {state: [item for item in registry.items if item.state is state] for state in ItemState}
    here = [item for state in FROM_RUNS for item in of[state] if _places(registry.runs_of(item))]
    yield (
        f"{len(registry.items)} tables and panels; {len(here)} can be drawn from runs that are"
        f" here, {len(of[ItemState.CALCULATED])} without runs."
    )
    for state, items in of.items():
        yield f"  {len(items):>2} {state.value}: {MEANINGS[state]}"


def _state(registry: Registry, item: Item) -> str:
    runs = registry.runs_of(item)
    if item.state in (ItemState.CALCULATED, ItemState.NEEDS) or runs is None:
        return str(item.state.value)
    return (
        f"{item.state.value}, {'runs are here' if _places(runs) else f'{runs.minutes} min of runs'}"
    )


def _row(registry: Registry, item: Item) -> dict[str, object]:
    runs = registry.runs_of(item)
    return {
        **{
            name: getattr(item, name)
            for name in ("id", "paper", "number", "title", "needs", "differs")
        },
        "state": item.state,
        "figure": item.figure or item.id,
        "runs": runs and runs.name,
        "commands": runs.commands if runs else (),
        "minutes": runs.minutes if runs else 0,
        "folder": runs and runs.folder,
        "has_runs": item.state is ItemState.CALCULATED or bool(_places(runs)),
        "published_values": len(item.values),
    }
