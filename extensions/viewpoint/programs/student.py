"""The student: ``python -m extensions.viewpoint.programs.student``. Needs NumPy and Pillow.

It learns from the stored frames with the teacher's labels, and is judged at every view before its
first step and after its last one. The harness starts it where it gets the processor only while
nothing else wants it.
"""

import csv
import os
import time
from typing import Any, Callable, Iterator, List, NamedTuple, Tuple

import numpy as np

from reference_impls.contract import ContractError, Request, monotonic_ns
from reference_impls.data.order import epoch_order
from reference_impls.data.pipelines import reader_of
from reference_impls.schedules import SCHEDULES

from .camera import as_picture
from .frames import Watcher, chunks, predictions, read_file
from .labels import Judged, kept
from .task import (
    PREDICTION_COLUMNS,
    PREDICTIONS,
    STEP_COLUMNS,
    STEPS,
    STUDENT,
    TRACKS,
    Task,
    frame_path,
    main,
    write_facts,
    write_table,
)
from .tracks import draw_scene


class Lesson(NamedTuple):
    """A stored frame and the teacher's class."""

    path: str
    label: int


def learn(request: Request, build: Callable[..., Any], task: Task) -> None:
    """Train on the kept frames, and write predictions, steps and times."""
    reader = reader_of(request.data.layout)(request)
    split = reader.evaluation()
    truths = [
        int(split.labels[picture])
        for picture in draw_scene(task.seed, task.tracks, len(split.labels)).tested
    ]
    side = as_picture(reader.evaluation_images(split, np.array([0]))[0], reader.channels_last).width
    whole = request._replace(model=task.student, seed=task.seed, trains=None)
    student = Watcher(whole, build, side)
    lessons = read_lessons(task)
    write_table(task, PREDICTIONS[1], PREDICTION_COLUMNS, predictions(student, task, truths))
    start_ns, cpu_s = monotonic_ns(), time.process_time()
    write_table(task, STEPS, STEP_COLUMNS, _train(student, request, task, lessons))
    end_ns, cpu_s = monotonic_ns(), time.process_time() - cpu_s
    write_table(task, PREDICTIONS[2], PREDICTION_COLUMNS, predictions(student, task, truths))
    write_facts(
        task, STUDENT, parameters=student.parameters, start_ns=start_ns, end_ns=end_ns, cpu_s=cpu_s
    )


def read_lessons(task: Task) -> List[Lesson]:
    """The kept frames, in the order of their tracks."""
    with open(os.path.join(task.output, TRACKS), encoding="ascii", newline="") as stream:
        rows = [
            Judged(
                int(row["truth"]),
                int(row["label"]),
                float(row["confidence"]),
                int(row["size_bytes"]),
            )
            for row in csv.DictReader(stream)
        ]
    tracks = [
        number
        for number, is_kept in enumerate(kept(rows, task.sure, task.storage_bytes))
        if is_kept
    ]
    if not tracks:
        raise ContractError(
            "the teacher was sure of no track that fits the storage; lower --sure or raise"
            " --storage."
        )
    return [
        Lesson(frame_path(task, track, frame), rows[track].label)
        for track in tracks
        for frame in range(task.frames)
    ]


def _train(
    student: Watcher, request: Request, task: Task, lessons: List[Lesson]
) -> Iterator[Tuple[object, ...]]:
    """A row per step; the mini-batch and the schedule are the teacher's."""
    settings, size = request.optimizer, request.global_batch_size
    rate, steps = SCHEDULES[settings.schedule], task.epochs * -(-len(lessons) // size)
    number = 0
    for epoch in range(1, task.epochs + 1):
        for chosen in chunks(epoch_order(task.seed, epoch, len(lessons)).tolist(), size):
            start_ns = monotonic_ns()
            batch = student.to_device(
                [read_file(lessons[place].path) for place in chosen],
                [lessons[place].label for place in chosen],
            )
            loss = student.implementation.step(
                batch, rate(settings.base_learning_rate, number, steps), 1.0
            ).loss
            yield start_ns, monotonic_ns(), len(chosen), loss
            number += 1


if __name__ == "__main__":
    main("Train a smaller model on the frames that its teacher labelled.", learn)
