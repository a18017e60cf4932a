"""The mark of a run that was made for a study: run.json has it, so that no leaderboard takes the
run for an entry."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from suite.files.schema import from_plain

MAX_SETTINGS, MAX_LENGTH = 64, 200
READ_MB_S = "read_mb_s"
Text = Annotated[str, Meta(max_length=MAX_LENGTH)]
"""The setting that limits reads from the data's disk: the storage medium is an emulated one."""
BOARD = "board"
"""The setting of a fleet: the number of the board that made the run."""


@dataclass(frozen=True)
class StudyMark:
    """The study's title, the settings that it varies with this run's values, and how many steps of
    a run are warm-up."""

    title: str
    settings: tuple[tuple[str, str], ...]
    warm_up_steps: int

    @property
    def emulated_reads(self) -> str | None:
        """The limit of reads in 10^6 bytes a second, as it was typed; None: the medium was read as
        it is."""
        return dict(self.settings).get(READ_MB_S)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.json."""
        return {
            "title": self.title,
            "settings": dict(self.settings),
            "warm_up_steps": self.warm_up_steps,
        }


def read_mark(values: Mapping[str, Any] | None) -> StudyMark | None:
    """The mark in run.json; None for a run that belongs to no study. Raises ValueError for one that
    the suite does not write."""
    if values is None:
        return None
    mark = from_plain(values, _Mark, "the mark of a study: ")
    return StudyMark(mark.title, tuple(mark.settings.items()), mark.warm_up_steps)


@dataclass(frozen=True)
class _Mark:
    """The mark as it is in the file."""

    title: Text
    settings: Annotated[Mapping[Text, Text], Meta(max_length=MAX_SETTINGS)]
    warm_up_steps: int
