"""What benchmarks need beyond the suite itself. Each function returns None, or what is missing and
the command that provides it."""

from benchmarks.runner.benchmark import Need
from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.launch.environments import find_environment
from suite.launch.mpirun import find_mpirun


def framework_environment(name: str) -> Need:
    """The environment of a framework."""

    def missing() -> str | None:
        try:
            find_environment(load_framework(name))
        except SuiteError as error:
            return str(error)
        return None

    return missing


def mpirun(framework: str) -> Need:
    """An mpirun, in the framework's environment or on the PATH."""

    def missing() -> str | None:
        try:
            find_mpirun(find_environment(load_framework(framework)).interpreter)
        except SuiteError as error:
            return str(error)
        return None

    return missing
