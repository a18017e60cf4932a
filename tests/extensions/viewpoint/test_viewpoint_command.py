"""What `suite viewpoint` refuses, a sentence each, and both processes in every framework that has a
student."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reference_impls import contract, initial_weights
from reference_impls.state_file import Progress, state_name, write_state
from suite.bundle.layout import states_folder
from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.extensions.viewpoint.measuring import learning, teacher
from suite.extensions.viewpoint.measuring.options import (
    Options,
    refuse_few_pictures,
    refuse_options,
)
from suite.extensions.viewpoint.measuring.teacher import Teacher, open_teacher
from suite.files.paths import repository_root
from suite.machine.identify import identify
from tests.builders import Scenario, make_bundle, make_request
from tests.conftest import environment_of
from tests.faults.edits.editable_bundle import EditableBundle


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(
        tmp_path / "teacher",
        tmp_path / "out",
        "lenet5_half",
        None,
        100,
        12,
        0.95,
        10**7,
        (0, 30, 60),
        1,
        1,
        1,
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"views_deg": (0, 95)},
            (
                "95 degrees is not a view; choose angles from 0 (the front) to 75, such as --views "
                "0,30,60."
            ),
        ),
        ({"views_deg": ()}, "--views takes 1 to 16 angles; 0 were given."),
        (
            {"tracks": 0},
            "--tracks must be 1 to 100,000 and --frames 2 to 100; 0 and 12 were given.",
        ),
        (
            {"frames": 1},
            "--tracks must be 1 to 100,000 and --frames 2 to 100; 100 and 1 were given.",
        ),
    ],
)
def test_an_impossible_option_is_one_sentence(
    changed: dict[str, object], said: str, options: Options
) -> None:
    with pytest.raises(SuiteError) as caught:
        refuse_options(replace(options, **changed))  # type: ignore[arg-type]
    assert str(caught.value) == said


def test_a_folder_that_exists_is_not_written_into(options: Options) -> None:
    options.frames_folder.mkdir()
    with pytest.raises(SuiteError, match=r"out\.frames exists; choose another --output"):
        refuse_options(options)
    with pytest.raises(SuiteError, match=r"^\. exists; choose another --output"):
        refuse_options(replace(options, output=Path()))


def test_tracks_that_leave_no_picture_to_test_are_refused() -> None:
    with pytest.raises(
        SuiteError,
        match="359 pictures are needed for the test; use at most --tracks 179, which leaves 180",
    ):
        refuse_few_pictures(359, 359)
    with pytest.raises(SuiteError, match="--tracks 9000, which leaves 1000"):
        refuse_few_pictures(10_000, 10_000)


def test_records_that_cannot_be_written_are_one_sentence(options: Options, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        SuiteError, match=r"file/out cannot be created: Not a directory; choose another --output\."
    ):
        learning.write_task(replace(options, output=tmp_path / "file" / "out"), None)  # type: ignore[arg-type]


def test_a_bundle_that_kept_no_state_is_no_teacher(options: Options) -> None:
    make_bundle(options.run, Scenario())
    with pytest.raises(SuiteError, match=r"kept no training state \(.*epoch_.*npz is missing\)"):
        open_teacher(options)


def test_an_edited_bundle_is_no_teacher(options: Options) -> None:
    run = make_bundle(options.run.with_name("my teacher"), Scenario())
    (run / "output.txt").write_text("better")
    with pytest.raises(SuiteError, match=r"was changed after .* \(`suite check '.*/my teacher'`"):
        open_teacher(replace(options, run=run))


@pytest.mark.parametrize(
    ("recorded", "here"),
    [
        (
            {
                "start": {"checkpoint": "lenet-mnist", "path": "lenet-mnist.npz", "fresh": []},
                "old_task": contract.DataSet(
                    "digits", "$DATA/digits", "idx", 10, 1438, 359, True, False
                )._asdict(),
            },
            {"start": None, "old_task": None},
        ),
        (
            {"accelerator": "cuda", "precision": "tf32"},
            {"accelerator": "cpu", "precision": "float32"},
        ),
        ({"platform": "a-board-elsewhere"}, {"platform": identify().device.name}),
    ],
)
def test_a_teacher_from_elsewhere_is_built_as_it_can_be_here(
    recorded: dict[str, object],
    here: dict[str, object],
    options: Options,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle = EditableBundle(make_bundle(options.run, Scenario()))
    bundle.request.update(recorded)
    bundle.save()
    state = states_folder(options.run) / state_name(3)
    state.parent.mkdir()
    state.touch()
    data = SimpleNamespace(
        directory=tmp_path, contents=SimpleNamespace(eval_samples=10_000), is_synthetic=False
    )
    monkeypatch.setattr(teacher, "find_data_set", lambda name: data)
    monkeypatch.setattr(teacher, "open_state", lambda *given: SimpleNamespace(file=state))
    request = open_teacher(options).request
    assert {key: getattr(request, key) for key in here} == here


@contextmanager
def at_once() -> Iterator[tuple[str, Callable[[int], None]]]:
    """No cgroup: a test does not wait until the machine is idle."""
    yield "cpu.idle", lambda pid: None


@pytest.mark.proof
@pytest.mark.parametrize(
    "framework",
    [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("pytorch", "tensorflow")],
)
def test_both_processes_work_in_every_framework(
    framework: str, options: Options, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The teacher has the seed's weights: it is sure of nothing, and the first track's probability
    is known."""
    environment = environment_of(framework)
    monkeypatch.setattr(learning, "when_idle", at_once)
    (tmp_path / "request").mkdir()
    data = contract.DataSet("digits", str(digits), "idx", 10, 1438, 359, False, False)
    request = make_request(tmp_path / "request", Scenario(framework=framework))._replace(
        data=data, threads=1
    )
    chosen = replace(options, tracks=20, frames=3, sure=0.05, views_deg=(0,))
    learning.write_task(
        chosen,
        Teacher(
            request, "untrained", "0" * 64, 1, _seed_s_state(request, tmp_path / "epoch_1.npz")
        ),
    )
    processes = learning.Processes(chosen, load_framework(framework), environment)
    processes.teach()
    found = processes.learn(lambda line: None)
    assert found.energy.energy_j is not None or found.energy.reason
    first = (options.output / "tracks.csv").read_text().splitlines()[1].split(",")
    assert first[:3] == ["0", "7", "6"] and float(first[3]) == pytest.approx(0.126758, abs=1e-4)
    assert json.loads((options.output / "student.json").read_text())["parameters"] == 15_738
    assert len((options.output / "steps.csv").read_text().splitlines()) == 1 + -(
        -60 // request.global_batch_size
    )


def test_what_a_process_refuses_is_said_and_leaves_no_folder(
    options: Options, digits: Path, tmp_path: Path
) -> None:
    """The fake framework reads its own data."""
    (tmp_path / "request").mkdir()
    data = contract.DataSet("digits", str(digits), "idx", 10, 1438, 359, False, False)
    request = make_request(tmp_path / "request", Scenario(framework="fake"))._replace(
        data=data, threads=1
    )
    learning.write_task(
        options, Teacher(request, "untrained", "0" * 64, 1, tmp_path / "epoch_1.npz")
    )
    framework = load_framework("fake")
    with pytest.raises(SuiteError) as caught:
        learning.Processes(options, framework, environment_of("fake")).teach()
    assert (
        str(caught.value)
        == "The framework fake has its own data pipeline and cannot read frames; choose another"
        " --framework."
    )
    assert not options.output.exists() and not options.frames_folder.exists()


def _seed_s_state(request: contract.Request, path: Path) -> Path:
    shapes = json.loads((repository_root() / "tests/reference_impls/parameters.json").read_text())[
        "lenet5"
    ]
    weights = initial_weights.make(
        request.initial_weights,
        {name: tuple(shape) for name, shape in shapes.items()},
        request.seed,
    )
    state = {f"parameter/{name}": value for name, value in weights.items()}
    write_state(
        str(path),
        {**state, **{f"velocity/{name}": np.zeros_like(value) for name, value in weights.items()}},
        Progress(1, 1),
    )
    return path
