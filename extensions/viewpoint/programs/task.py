"""What the two processes of `suite viewpoint` are told, the names and columns of their records, and
their command line. Standard library only.

Python 3.6 grammar. The checker reads the records again: what follows from the task's seed is in no
file.
"""

import argparse
import importlib
import json
import os
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Sequence

from reference_impls import contract

TRACKS, TRACK_COLUMNS = "tracks.csv", ("track", "truth", "label", "confidence", "size_bytes")
"""One row per track: the subject's class, the teacher's class of the last frame with its
probability, and the size of all frames as JPEG."""

PREDICTIONS, PREDICTION_COLUMNS = (
    ("teacher.csv", "student_before.csv", "student_after.csv"),
    ("view_deg", "place", "truth", "predicted"),
)
"""One row per view and tested picture, by its place in tracks.Scene.tested."""

STEPS, STEP_COLUMNS = "steps.csv", ("start_ns", "end_ns", "samples", "loss")
"""One row per mini-batch of the student's training; monotonic clock."""

TEACHER, STUDENT = "teacher.json", "student.json"
"""Facts that a process states: its model's parameters, start and end of its work; the student's CPU
time."""


class Task(NamedTuple):
    """What is to be done. The request beside it is the teacher's."""

    seed: int  # of tracks, tested pictures, the student's weights and its order of frames
    tracks: int
    frames: int  # of a track
    # the least probability of the teacher's class of the last frame that labels a track
    sure: float
    storage_bytes: int  # of all kept frames
    views_deg: List[int]  # at which accuracies are measured
    student: str  # a model of the implementation
    epochs: int  # of the student
    state: str  # the teacher's training state
    frames_folder: str
    output: str  # folder of the records


def task_from_dict(values: Dict[str, Any]) -> Task:
    """The task; raises ContractError for other keys."""
    if not isinstance(values, dict) or sorted(values) != sorted(Task._fields):
        raise contract.ContractError(
            "the keys of the task must be {}.".format(", ".join(Task._fields))
        )
    return Task(**values)


def write_table(
    task: Task, name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """A new CSV file of the records."""
    with open(os.path.join(task.output, name), "x", encoding="ascii") as stream:
        stream.write(",".join(columns) + "\n")
        stream.writelines(",".join(map(str, row)) + "\n" for row in rows)


def write_facts(task: Task, name: str, **facts: object) -> None:
    """A new JSON file of the records."""
    with open(os.path.join(task.output, name), "x", encoding="ascii") as stream:
        json.dump(facts, stream)


def frame_path(task: Task, track: int, frame: int) -> str:
    """Where a kept frame lies."""
    return os.path.join(task.frames_folder, "tracks", "{}-{}.jpg".format(track, frame))


def view_path(task: Task, view_deg: int, place: int) -> str:
    """Where a tested picture's frame lies."""
    return os.path.join(task.frames_folder, "views", "{}-{}.jpg".format(view_deg, place))


Act = Callable[[contract.Request, Callable[..., Any], Task], None]


def main(description: str, act: Act) -> None:
    """The command line of both processes: ``--implementation MODULE --request FILE --task FILE``. A
    violation of the contract is one sentence."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--implementation", required=True, help="module with the function build(request, world)"
    )
    parser.add_argument("--request", required=True, help="the teacher's request")
    parser.add_argument("--task", required=True, help="the task that the harness wrote")
    arguments = parser.parse_args()
    try:
        build = importlib.import_module(arguments.implementation).build
        with open(arguments.task, encoding="utf-8") as stream:
            task = task_from_dict(json.load(stream))
        act(contract.read_request(arguments.request), build, task)
    except contract.ContractError as error:
        contract.fail(str(error))
