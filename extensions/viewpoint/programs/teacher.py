"""The teacher and its camera: ``python -m extensions.viewpoint.programs.teacher``. Needs NumPy and
Pillow.

Every subject's frames are made one after the other. The teacher judges the last one; where it is
sure, all frames of the track are stored and get its class. Then the tested pictures are stored as
frames at every view, and the teacher judges them.
"""

import os
from typing import Any, Callable, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np
from PIL import Image

from reference_impls.contract import Request, monotonic_ns
from reference_impls.data.pipelines import reader_of
from reference_impls.state_file import StateFile

from .camera import as_picture, encoded, view
from .frames import CHUNK, Watcher, chunks, predictions
from .labels import Judged, Storage
from .students import refuse_student
from .task import (
    PREDICTION_COLUMNS,
    PREDICTIONS,
    TEACHER,
    TRACK_COLUMNS,
    TRACKS,
    Task,
    frame_path,
    main,
    view_path,
    write_facts,
    write_table,
)
from .tracks import Scene, Track, draw_scene, seen_from


class Pictures:
    """The evaluation set's pictures, by number."""

    def __init__(self, request: Request) -> None:
        self._reader = reader_of(request.data.layout)(request)
        self._split = self._reader.evaluation()
        self.labels = [int(label) for label in self._split.labels]

    def read(self, numbers: Sequence[int]) -> List[Image.Image]:
        """Pictures without augmentation."""
        return [
            as_picture(pixels, self._reader.channels_last)
            for pixels in self._reader.evaluation_images(self._split, np.array(numbers))
        ]


def teach(request: Request, build: Callable[..., Any], task: Task) -> None:
    """Write the kept tracks, their labels, and the teacher's predictions."""
    start_ns, pictures = monotonic_ns(), Pictures(request)
    scene = draw_scene(task.seed, task.tracks, len(pictures.labels))
    front = pictures.read([0])[0]
    teacher = Watcher(request, build, front.width)
    refuse_student(request, build, task.student, teacher, encoded(view(front, 0.0, 0.0)))
    teacher.implementation.restore(StateFile(task.state).of_rank(0))
    for name in ("tracks", "views"):
        os.makedirs(os.path.join(task.frames_folder, name))
    write_table(task, TRACKS, TRACK_COLUMNS, _label_tracks(teacher, task, scene.tracks, pictures))
    _store_views(task, scene, pictures)
    truths = [pictures.labels[picture] for picture in scene.tested]
    write_table(task, PREDICTIONS[0], PREDICTION_COLUMNS, predictions(teacher, task, truths))
    write_facts(
        task,
        TEACHER,
        parameters=teacher.parameters,
        pictures=len(pictures.labels),
        start_ns=start_ns,
        end_ns=monotonic_ns(),
    )


class Film(NamedTuple):
    """A track's frames as JPEG."""

    number: int
    track: Track
    frames: List[bytes]


def _label_tracks(
    teacher: Watcher, task: Task, tracks: Sequence[Track], pictures: Pictures
) -> Iterator[Tuple[object, ...]]:
    storage = Storage(task.sure, task.storage_bytes)
    for numbered in chunks(list(enumerate(tracks)), CHUNK):
        films = [
            _film(number, track, picture, task.frames)
            for (number, track), picture in zip(numbered, _pictures_of(numbered, pictures))
        ]
        for film, (label, confidence) in zip(
            films, teacher.judge([film.frames[-1] for film in films])
        ):
            judged = Judged(
                pictures.labels[film.track.picture], label, confidence, sum(map(len, film.frames))
            )
            if storage.keeps(judged):
                for frame, jpeg in enumerate(film.frames):
                    _write(frame_path(task, film.number, frame), jpeg)
            yield (film.number, *judged)


def _pictures_of(numbered: Sequence[Tuple[int, Track]], pictures: Pictures) -> List[Image.Image]:
    return pictures.read([track.picture for _, track in numbered])


def _film(number: int, track: Track, picture: Image.Image, frames: int) -> Film:
    return Film(
        number,
        track,
        [encoded(view(picture, yaw_deg, track.roll_deg)) for yaw_deg in track.yaws_deg(frames)],
    )


def _store_views(task: Task, scene: Scene, pictures: Pictures) -> None:
    for places in chunks(list(enumerate(scene.tested)), CHUNK):
        for (place, _), picture in zip(places, pictures.read([number for _, number in places])):
            for view_deg in task.views_deg:
                _write(
                    view_path(task, view_deg, place),
                    encoded(view(picture, seen_from(view_deg, place), 0.0)),
                )


def _write(path: str, content: bytes) -> None:
    with open(path, "xb") as stream:
        stream.write(content)


if __name__ == "__main__":
    main("Let a trained model label the frames of subjects that pass a camera.", teach)
