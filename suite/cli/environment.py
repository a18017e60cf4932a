"""`suite env create FRAMEWORK`."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from suite.catalog.frameworks import MANIFEST, Framework, load_framework, load_implementation
from suite.cli.completion import framework_names
from suite.cli.json_output import print_json
from suite.cli.options import Json, say
from suite.errors import SuiteError
from suite.launch import environments
from suite.launch.environments import Environment, OtherVersion
from suite.launch.recipe import EnvironmentRecipe

app = typer.Typer(no_args_is_help=True)


@app.command()
def create(
    framework: Annotated[
        str,
        Argument(
            autocompletion=framework_names,
            help="Framework (`suite list frameworks`), or folder of your own implementation.",
        ),
    ],
    python: Annotated[
        Path | None,
        Option(help="Interpreter to build the environment with (default: the harness's)."),
    ] = None,
    interpreter: Annotated[
        Path | None,
        Option(help="Use this interpreter, which already has the framework; install nothing."),
    ] = None,
    force: Annotated[bool, Option("--force", help="Rebuild an existing environment.")] = False,
    dry_run: Annotated[
        bool,
        Option(
            "--dry-run",
            help=(
                "Show versions, download size and disk space (with --interpreter: packages that"
                " differ from the required ones); change nothing."
            ),
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Create the environment that runs a framework's implementations."""
    if python is not None and interpreter is not None:
        raise SuiteError(
            "--python builds an environment and --interpreter uses an existing one; choose one of"
            " them."
        )
    is_folder = "/" in framework or (Path(framework) / MANIFEST).is_file()
    chosen = load_implementation(Path(framework)) if is_folder else load_framework(framework)
    if dry_run:
        adopted = None
        if interpreter is not None:
            adopted = environments.adoptable_environment(chosen, interpreter)
        elif not chosen.needs_environment:
            adopted = environments.find_environment(chosen)
        elif python is None:
            adopted = environments.vendor_environment(chosen)
        if adopted is not None:
            is_saved = interpreter is not None or chosen.needs_environment
            _show_adoption(chosen, adopted, is_saved, json)
            return
        with suppress(SuiteError):
            found = environments.find_environment(chosen).interpreter
            say(f"{chosen.title} already runs in {found}; --force would build a new environment.")
        _show(
            environments.plan_environment(chosen, python),
            environments.environment_folder(chosen),
            json,
        )
        return
    if interpreter is not None:
        environment = environments.adopt_interpreter(chosen, interpreter)
    elif not chosen.needs_environment:
        environment = environments.find_environment(chosen)
    else:
        environment = environments.create_environment(chosen, say, python=python, force=force)
    others = _other_versions(chosen, environment)
    if json:
        print_json(
            "env-create",
            {
                "framework": chosen.name,
                "interpreter": environment.interpreter,
                "packages": environment.packages,
                "other_versions": others,
            },
        )
        return
    print(f"{chosen.title} runs in {environment.interpreter}")
    _show_versions(others)


def _other_versions(framework: Framework, environment: Environment) -> list[OtherVersion]:
    """Those of an adopted interpreter; none of one without pip, which lists no packages."""
    return environments.other_versions(framework, environment) if environment.packages else []


def _show_versions(others: list[OtherVersion]) -> None:
    for one in others:
        print(
            f"note: {one.package} there: {one.found or 'missing'}; the requirements name"
            f" {one.required}. An entry states the version with which it was trained."
        )


def _show_adoption(
    framework: Framework, environment: Environment, is_saved: bool, json: bool
) -> None:
    """What --interpreter would record, and where: the same examination as without --dry-run; or
    what a framework that needs no environment runs with."""
    others, place = (
        _other_versions(framework, environment),
        environments.environment_folder(framework),
    )
    if json:
        print_json(
            "env-plan",
            {
                "framework": framework.name,
                "path": place,
                "locked": False,
                "index": None,
                "download_bytes": 0,
                "disk_bytes": 0,
                "packages": (),
                "interpreter": environment.interpreter,
                "other_versions": others,
            },
        )
        return
    saved = f" The path of this interpreter would be saved in {place}" if is_saved else ""
    print(
        f"{framework.title} would run with {environment.interpreter}; nothing would be installed."
        f"{saved}"
    )
    _show_versions(others)


def _show(recipe: EnvironmentRecipe, place: Path, json: bool) -> None:
    """What would be installed, and where. A name and version per line; of ranges, the
    requirements."""
    if json:
        lock = recipe.lock
        print_json(
            "env-plan",
            {
                "framework": recipe.framework.name,
                "path": place,
                "locked": lock is not None,
                "index": recipe.index,
                "download_bytes": lock and lock.download_bytes,
                "disk_bytes": lock and lock.disk_bytes,
                "packages": recipe.text.splitlines(),
                "interpreter": None,
                "other_versions": (),
            },
        )
        return
    print(recipe.statement)
    print("".join(f"  {line}\n" for line in recipe.text.splitlines()), end="")
    print(
        f"pip would install this from its configured index"
        f"{f' and {recipe.index}' if recipe.index else ''}"
        f" into {place}"
    )
