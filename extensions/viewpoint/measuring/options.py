"""What a person chooses of `suite viewpoint`, and what cannot be chosen."""

from dataclasses import dataclass
from pathlib import Path

from suite.errors import SuiteError
from suite.extensions.viewpoint.programs.tracks import MAX_TESTED, MAX_VIEW_DEG, tested_pictures
from suite.extensions.viewpoint.record.records import MAX_FRAMES, MAX_TRACKS, MAX_VIEWS


@dataclass(frozen=True)
class Options:
    """``run`` is the teacher's bundle; ``framework`` None: the one that trained it. Other values
    are those of the task."""

    run: Path
    output: Path
    student: str
    framework: str | None
    tracks: int
    frames: int
    sure: float
    storage_bytes: int
    views_deg: tuple[int, ...]
    epochs: int
    seed: int
    threads: int

    @property
    def frames_folder(self) -> Path:
        """The folder of the frames, beside the records: they are large, and follow from the data
        set and the setting."""
        return self.output.parent / f"{self.output.name}.frames"


def refuse_options(options: Options) -> None:
    """Raise SuiteError for values that nothing can be done with, and for folders that exist."""
    unknown = [view for view in options.views_deg if not 0 <= view <= MAX_VIEW_DEG]
    if unknown:
        raise SuiteError(
            f"{unknown[0]} degrees is not a view; choose angles from 0 (the front) to "
            f"{MAX_VIEW_DEG}, such as --views 0,30,60."
        )
    if not 1 <= len(options.views_deg) <= MAX_VIEWS:
        raise SuiteError(
            f"--views takes 1 to {MAX_VIEWS} angles; {len(options.views_deg)} were given."
        )
    if not (1 <= options.tracks <= MAX_TRACKS and 2 <= options.frames <= MAX_FRAMES):
        raise SuiteError(
            f"--tracks must be 1 to {MAX_TRACKS:,} and --frames 2 to {MAX_FRAMES};"
            f" {options.tracks} and {options.frames} were given."
        )
    if not 0 < options.sure < 1:
        raise SuiteError(
            f"--sure {options.sure:g} is not between 0 and 1; choose a probability such as 0.95."
        )
    for folder in (options.output, options.frames_folder):
        if folder.exists():
            raise SuiteError(f"{folder} exists; choose another --output.")


def refuse_few_pictures(tracks: int, pictures: int) -> None:
    """Raise SuiteError where the tracks leave no picture to test."""
    if tested_pictures(tracks, pictures) < 1:
        most = max(pictures - MAX_TESTED, pictures // 2)
        raise SuiteError(
            f"Some of the evaluation set's {pictures} pictures are needed for the test; use at most"
            f" --tracks {most}, which leaves {pictures - most} for the test."
        )
