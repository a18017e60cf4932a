"""Builds an implementation that is not in the checkout, before it is trained or probed."""

import shutil

from suite.catalog.commands import build_command, working_folder
from suite.catalog.frameworks import Framework
from suite.errors import SuiteError
from suite.launch.command import run_to_end
from suite.launch.environments import Environment

TIMEOUT_S = 1800


def build(framework: Framework, environment: Environment) -> None:
    """Run its build command; raises SuiteError naming a program that is missing, or the last line
    of what failed."""
    for needed in framework.needs:
        if shutil.which(needed.program) is None:
            raise SuiteError(
                f"{framework.title} needs the program {needed.program!r}, which this machine does"
                " not have",
                needed.install,
            )
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
