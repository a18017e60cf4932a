"""Both processes on handwritten digits, with a small NumPy model: records, frames within the limit,
and failures of one sentence."""

import csv
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reference_impls import contract
from reference_impls.communication import World
from reference_impls.contract import Batch
from reference_impls.data.mnist import MnistReader
from reference_impls.data.pipelines import open_pipeline
from reference_impls.loop import Built
from reference_impls.state_file import Progress, write_state
from suite.extensions.viewpoint.programs import task as names
from suite.extensions.viewpoint.programs.labels import Judged, kept
from suite.extensions.viewpoint.programs.student import learn
from suite.extensions.viewpoint.programs.task import Task
from suite.extensions.viewpoint.programs.teacher import teach
from tests.builders import Scenario, make_request
from tests.extensions.viewpoint.softmax import Softmax, build

Make = Callable[..., Task]


@pytest.fixture(scope="module")
def request_of_teacher(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> contract.Request:
    data = contract.DataSet("digits", str(digits), "idx", 10, 1438, 359, False, False)
    request = make_request(tmp_path_factory.mktemp("request"), Scenario())
    return request._replace(
        model="large",
        data=data,
        global_batch_size=16,
        optimizer=request.optimizer._replace(schedule="constant"),
    )


@pytest.fixture(scope="module")
def state(request_of_teacher: contract.Request, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The teacher, trained for three epochs on pictures from the front."""
    model, reader = Softmax(1, 10), MnistReader(request_of_teacher)
    split, normalise = reader.training(), open_pipeline(request_of_teacher).normalisation(False)
    for _ in range(3):
        for chosen in np.array_split(np.arange(1438), 90):
            images = normalise(reader.evaluation_images(split, chosen))
            model.step(model.to_device(Batch(images, split.labels[chosen])), 0.01, 1.0)
    path = tmp_path_factory.mktemp("state") / "epoch_3.npz"
    write_state(str(path), model.training_state(), Progress(3, 270))
    return path


@pytest.fixture
def make(state: Path, tmp_path: Path) -> Make:
    def with_values(**values: object) -> Task:
        (tmp_path / "out").mkdir()
        plain = Task(
            1,
            100,
            4,
            0.5,
            10**7,
            [0, 60],
            "small",
            2,
            str(state),
            str(tmp_path / "frames"),
            str(tmp_path / "out"),
        )
        return plain._replace(**values)

    return with_values


def rows(task: Task, name: str) -> list[dict[str, str]]:
    with (Path(task.output) / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def accuracy(task: Task, name: str, view: int) -> float:
    own = [
        row["truth"] == row["predicted"] for row in rows(task, name) if row["view_deg"] == str(view)
    ]
    return sum(own) / len(own)


def test_the_student_learns_the_view_that_its_teacher_does_not_know(
    make: Make, request_of_teacher: contract.Request
) -> None:
    task = make(tracks=250, epochs=5)
    teach(request_of_teacher, build, task)
    learn(request_of_teacher, build, task)
    before, after = (accuracy(task, name, 60) for name in names.PREDICTIONS[1:])
    assert accuracy(task, names.PREDICTIONS[0], 0) > 0.8
    assert after > before + 0.3
    assert after > accuracy(task, names.PREDICTIONS[0], 60)


def test_the_student_of_a_teacher_that_adapted_a_part_of_itself_trains_as_a_whole(
    make: Make, request_of_teacher: contract.Request
) -> None:
    built: list[tuple[str, contract.Trains | None]] = []

    @wraps(build)
    def noting(request: contract.Request, world: World) -> Built:
        built.append((request.model, request.trains))
        return build(request, world)

    part, task = contract.Trains(["fc3.*"], contract.FROZEN), make(tracks=20, epochs=1)
    teach(request_of_teacher._replace(trains=part), noting, task)
    learn(request_of_teacher._replace(trains=part), noting, task)
    assert built == [("large", part), ("small", None), ("small", None)]


@pytest.mark.proof
def test_what_is_stored_is_what_the_records_say(
    make: Make, request_of_teacher: contract.Request
) -> None:
    task = make()
    teach(request_of_teacher, build, task)
    judged = [
        Judged(int(r["truth"]), int(r["label"]), float(r["confidence"]), int(r["size_bytes"]))
        for r in rows(task, names.TRACKS)
    ]
    chosen = [
        number
        for number, is_kept in enumerate(kept(judged, task.sure, task.storage_bytes))
        if is_kept
    ]
    stored = sorted((Path(task.frames_folder) / "tracks").iterdir())
    assert 0 < len(chosen) < len(judged) == task.tracks
    assert {path.name for path in stored} == {
        f"{number}-{frame}.jpg" for number in chosen for frame in range(task.frames)
    }
    assert sum(path.stat().st_size for path in stored) == sum(
        judged[number].size_bytes for number in chosen
    )
    with Image.open(stored[0]) as frame:
        assert frame.size == (224, 224)


@pytest.mark.proof
def test_the_storage_s_limit_is_kept(make: Make, request_of_teacher: contract.Request) -> None:
    task = make(storage_bytes=50_000)
    teach(request_of_teacher, build, task)
    stored = sum(path.stat().st_size for path in (Path(task.frames_folder) / "tracks").iterdir())
    assert 40_000 < stored <= 50_000


@pytest.mark.proof
def test_the_same_task_gives_the_same_records(
    make: Make, request_of_teacher: contract.Request, tmp_path: Path
) -> None:
    first = make()
    second = first._replace(
        output=str(tmp_path / "again"), frames_folder=str(tmp_path / "again-frames")
    )
    (tmp_path / "again").mkdir()
    for task in (first, second):
        teach(request_of_teacher, build, task)
        learn(request_of_teacher, build, task)
    for name in (names.TRACKS, *names.PREDICTIONS):
        assert rows(first, name) == rows(second, name)
    assert [row["loss"] for row in rows(first, names.STEPS)] == [
        row["loss"] for row in rows(second, names.STEPS)
    ]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"student": "large"},
            (
                "the student large has 7,850 parameters, but must have fewer than its teacher"
                " large, which has 7,850; choose --student small"
            ),
        ),
        ({"student": "none"}, "there is no model none in pytorch; choose --student small"),
        (
            {"student": "odd"},
            (
                "the student odd cannot process the pictures that its teacher large was trained on;"
                " choose --student small"
            ),
        ),
    ],
)
def test_a_student_that_cannot_be_is_one_sentence(
    values: dict[str, object], said: str, make: Make, request_of_teacher: contract.Request
) -> None:
    task = make(**values)
    with pytest.raises(contract.ContractError, match=said):
        teach(request_of_teacher, build, task)
    assert list(Path(task.output).iterdir()) == [] and not Path(task.frames_folder).exists()


def test_the_smallest_model_has_no_student(
    make: Make, request_of_teacher: contract.Request
) -> None:
    with pytest.raises(
        contract.ContractError,
        match="pytorch has no smaller model for the teacher's pictures; choose another",
    ):
        teach(request_of_teacher._replace(model="odd"), build, make())


@pytest.mark.proof
def test_a_teacher_that_is_sure_of_nothing_has_no_student(
    make: Make, request_of_teacher: contract.Request
) -> None:
    task = make(sure=1.0 - 1e-12)
    teach(request_of_teacher, build, task)
    with pytest.raises(contract.ContractError, match="sure of no track"):
        learn(request_of_teacher, build, task)


def test_a_task_with_another_key_is_refused() -> None:
    with pytest.raises(contract.ContractError, match="the keys of the task must be"):
        names.task_from_dict({"seed": 1})


def test_storage_keeps_whole_tracks_in_their_order() -> None:
    """Of 100 bytes: 60, then 50 does not fit, then 40 does; an unsure one takes nothing."""
    tracks = [
        Judged(1, 1, 0.99, 60),
        Judged(1, 1, 0.94, 1),
        Judged(1, 1, 0.99, 50),
        Judged(1, 1, 0.95, 40),
        Judged(1, 1, 1.0, 1),
    ]
    assert kept(tracks, 0.95, 100) == [True, False, False, True, False]
