"""Studies: which setting is varied over which values, the rest held fixed; each defined once in ``rules/studies/*.toml``."""

import enum
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.definitions import load_all, load_one
from suite.errors import SuiteError
from suite.files.paths import repository_root


class Variable(str, enum.Enum):
    """What a study may vary: fields of RunOptions, and nodes. All values but the framework are integers."""

    NODES = "nodes"
    BATCH_SIZE = "batch_size"
    THREADS = "threads"
    WORKERS = "workers"
    PREFETCH = "prefetch"
    FRAMEWORK = "framework"


@dataclass(frozen=True)
class Fixed:
    """What is the same in every run, unless the command line says otherwise; None: as the workload says."""

    epochs: int | None = None
    steps: int | None = None
    batch_size: int | None = None
    threads: int | None = None
    workers: int | None = None
    prefetch: int | None = None


@dataclass(frozen=True)
class StudyDefinition:
    """One study. Its values are ``numbers``, or ``names`` where the variable is no number; steps up to ``warm_up_steps`` count in no figure."""

    name: str
    title: str
    variable: Variable
    repetitions: int
    warm_up_steps: int
    numbers: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    fixed: Fixed = Fixed()

    @property
    def values(self) -> tuple[str, ...]:
        """As they are typed on the command line."""
        return self.names or tuple(map(str, self.numbers))


def folder(root: Path | None = None) -> Path:
    """Where the studies are defined."""
    return (root or repository_root()) / "rules" / "studies"


def load_study(name: str, root: Path | None = None) -> StudyDefinition:
    """The study of this name; raises SuiteError naming the nearest one when there is none."""
    definition = load_one(folder(root), StudyDefinition, "study", name, "studies")
    if bool(definition.numbers) == bool(definition.names):
        raise SuiteError(f"{folder(root) / name}.toml: give either numbers or names, the study's values.")
    return definition


def load_studies(root: Path | None = None) -> tuple[StudyDefinition, ...]:
    """Every study, by name."""
    return load_all(folder(root), StudyDefinition)
