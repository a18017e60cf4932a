"""Builds an implementation that is not in the checkout, before it is trained or probed."""

import importlib.metadata
import shutil

from suite.catalog.commands import build_command, working_folder
from suite.catalog.frameworks import MANIFEST, Framework, requirements_file
from suite.errors import SuiteError
from suite.launch.command import run_to_end
from suite.launch.environments import Environment, as_it_is
from suite.launch.recipe import package_name

TIMEOUT_S = 1800


def build_implementation(framework: Framework, environment: Environment) -> None:
    """Run its build command; raises SuiteError naming a program that is missing, or the last line
    of what failed."""
    for needed in framework.needs:
        if shutil.which(needed.program) is None:
            raise SuiteError(
                f"{framework.title} needs the program {needed.program!r}, which this machine does"
                " not have",
                needed.install,
            )
    _refuse_missing_package(framework, environment)
    command, folder = build_command(framework, environment.interpreter), working_folder(framework)
    if not command:
        return
    by_hand = f"it by hand in {folder}: {' '.join(command)}"
    run_to_end(
        command,
        folder,
        f"Building {framework.title}",
        TIMEOUT_S,
        if_missing=f"see build in {folder}/framework.toml",
        if_slow=f"run {by_hand}",
        if_failed=f". Run {by_hand}",
    )


def _refuse_missing_package(framework: Framework, environment: Environment) -> None:
    """Raise SuiteError where an interpreter lacks a package that requirements.txt names without a
    condition."""
    path = requirements_file(framework)
    if framework.outside is None or not path.is_file():
        return
    installed = set(map(package_name, as_it_is(environment).packages)) or {
        package_name(str(each.metadata["Name"])) for each in importlib.metadata.distributions()
    }
    for line in path.read_text(encoding="utf-8").splitlines():
        name = "" if ";" in line or line.startswith(("#", "-")) else package_name(line)
        if name and name not in installed:
            raise SuiteError(
                f"{environment.interpreter} lacks the package {name!r}, which {path} names",
                f"set needs_environment = true in {MANIFEST} and run `suite env create"
                f" {framework.argument}`, or install the package for this interpreter",
            )
