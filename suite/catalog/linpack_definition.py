"""The LINPACK study, defined in ``rules/linpack.toml``."""

from dataclasses import dataclass

from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml

NAME = "linpack"
"""The study's name for `suite sweep --study`."""


@dataclass(frozen=True)
class LinpackDefinition:
    """Numbers of nodes, HPL's block sizes, runs of each number of nodes, and the order of the
    matrix that block sizes are tried with, as a share."""

    title: str
    nodes: tuple[int, ...]
    blocks: tuple[int, ...]
    repetitions: int
    tuning_share: float


def load_linpack() -> LinpackDefinition:
    """The study's definition; raises SuiteError for a file that is malformed."""
    return read_toml(rules_folder() / "linpack.toml", LinpackDefinition)
