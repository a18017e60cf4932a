"""The commands of an implementation: with which program, in which folder, it is built, trained and
probed."""

from pathlib import Path

from suite.catalog.frameworks import Framework
from suite.errors import SuiteError
from suite.files.paths import repository_root

PYTHON, DTYPE = "{python}", "{dtype}"
"""In a command: the environment's interpreter, and the precision that a probe is asked for (float64
or float32)."""


def train_command(framework: Framework, interpreter: Path) -> list[str]:
    """The program that trains, without its arguments."""
    return _filled(framework.train, interpreter) or [str(interpreter), "-m", framework.module]


def probe_command(framework: Framework, interpreter: Path, dtype: str) -> list[str]:
    """The program that is probed, without its arguments; raises SuiteError for an implementation
    without a probe."""
    if framework.outside is None:
        return [str(interpreter), "-m", f"{framework.module}.probe"]
    words = tuple(word.replace(DTYPE, dtype) for word in declared_probe(framework))
    return _filled(words, interpreter)


def declared_probe(framework: Framework) -> tuple[str, ...]:
    """The probe of an implementation outside the checkout as its manifest has it, which names no
    path of this machine; raises SuiteError where it has none."""
    if not framework.probe:
        raise SuiteError(
            f"{framework.title} has no probe; write the probe's command into framework.toml as"
            ' probe = ["…"].'
        )
    return framework.probe


def build_command(framework: Framework, interpreter: Path) -> list[str]:
    """The command that builds the implementation; empty where there is nothing to build."""
    return _filled(framework.build, interpreter)


def working_folder(framework: Framework) -> Path:
    """The folder in which its commands are started."""
    return repository_root() if framework.outside is None else Path(framework.outside)


def _filled(command: tuple[str, ...], interpreter: Path) -> list[str]:
    return [word.replace(PYTHON, str(interpreter)) for word in command]
