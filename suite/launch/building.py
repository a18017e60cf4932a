"""Builds an implementation that is not in the checkout, before it is trained or probed."""

import shutil
import subprocess

from suite.catalog.commands import build_command, working_folder
from suite.catalog.frameworks import Framework
from suite.errors import SuiteError
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
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise SuiteError(
            f"{command[0]} cannot be started in {folder} ({error.strerror}); see build in"
            f" {folder}/framework.toml."
        ) from error
    except subprocess.TimeoutExpired:
        raise SuiteError(
            f"Building {framework.title} did not finish within {TIMEOUT_S} s; run it by hand in"
            f" {folder}: {' '.join(command)}"
        ) from None
    if done.returncode != 0:
        last = (
            done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["no output"]
        )[-1][:300]
        raise SuiteError(
            f"Building {framework.title} ended with {done.returncode}: {last}. Run it by hand in"
            f" {folder}: {' '.join(command)}"
        )
