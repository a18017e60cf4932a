"""`suite env create FRAMEWORK`."""

import json as json_format
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Make the frameworks' environments.")


@app.callback()
def _group() -> None:
    """Make the frameworks' environments."""


@app.command()
def create(
    framework: Annotated[str, typer.Argument(help="pytorch, tensorflow, chainer, … (`suite list frameworks`)")],
    python: Annotated[Path | None, typer.Option(help="Build the environment on this interpreter instead of the harness's own.")] = None,
    interpreter: Annotated[Path | None, typer.Option(help="Install nothing: use this interpreter, which has the framework already.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Make it again although it is there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Create the environment that runs a framework's implementations."""
    from suite.catalog.frameworks import load_framework
    from suite.errors import SuiteError
    from suite.launch import environments

    if python is not None and interpreter is not None:
        raise SuiteError("--python builds an environment and --interpreter uses one that is there; give one of them.")
    chosen = load_framework(framework)
    if interpreter is not None:
        environment = environments.adopt(chosen, interpreter)
    elif not chosen.needs_environment:
        environment = environments.find(chosen)
    else:
        environment = environments.create(chosen, lambda line: print(line, file=sys.stderr), python=python, force=force)
    if json:
        print(json_format.dumps({"framework": chosen.name, "interpreter": str(environment.interpreter), "packages": environment.packages}, indent=1))
    else:
        print(f"{chosen.title} runs in {environment.interpreter}")
