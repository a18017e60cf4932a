"""Studies, each defined in ``rules/studies/*.toml``: one setting is varied, the rest is fixed."""

import enum
from dataclasses import dataclass

from suite.catalog.definitions import Definitions
from suite.errors import SuiteError


class Variable(str, enum.Enum):
    """Settings that a study can vary: fields of RunOptions, and nodes. All values except frameworks
    are integers."""

    NODES = "nodes"
    BATCH_SIZE = "batch_size"
    THREADS = "threads"
    WORKERS = "workers"
    PREFETCH = "prefetch"
    FRAMEWORK = "framework"


@dataclass(frozen=True)
class Fixed:
    """Settings of every run, unless an option overrides them; None: the workload's."""

    epochs: int | None = None
    steps: int | None = None
    batch_size: int | None = None
    threads: int | None = None
    workers: int | None = None
    prefetch: int | None = None


@dataclass(frozen=True)
class StudyDefinition:
    """One study. Its values are ``numbers``, or ``names`` for a variable that is not numeric.
    Figures exclude steps up to ``warm_up_steps``."""

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
        """The values as strings, as on the command line."""
        return self.names or tuple(map(str, self.numbers))


DEFINITIONS = Definitions("studies", StudyDefinition, "study", "studies")
load_studies = DEFINITIONS.load_all


def load_study(name: str) -> StudyDefinition:
    """The study of this name; raises SuiteError with the nearest name if there is none."""
    definition = DEFINITIONS.load(name)
    if bool(definition.numbers) == bool(definition.names):
        raise SuiteError(
            f"{DEFINITIONS.folder() / name}.toml: give the study's values in either the key"
            " `numbers` or the key `names`."
        )
    return definition
