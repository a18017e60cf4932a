"""A made-up student and its teacher that comply: 40 tracks of ten frames, twenty tested pictures at
three views."""

import json
from pathlib import Path

from suite.extensions.viewpoint.programs import task
from suite.extensions.viewpoint.record.records import SETTING, Energy, Setting
from suite.extensions.viewpoint.record.results import close
from suite.files.json_file import write_json

TRACKS, FRAMES, TESTED, EPOCHS, SAMPLES = 40, 10, 20, 2, 16
KEPT = 25
VIEWS = (0, 30, 60)
START_NS = 100 * 10**9
TRAINED_NS = 110 * 10**9

SETTING_VALUES = Setting(
    schema=1,
    workload="lenet",
    framework="pytorch",
    framework_version="2.13.0",
    teacher_run="lenet-pytorch-20270115T080000Z-000001",
    teacher_manifest="0" * 64,
    teacher_epoch=3,
    teacher="lenet5",
    student="lenet5_half",
    seed=1,
    tracks=TRACKS,
    frames=FRAMES,
    sure=0.95,
    storage_bytes=KEPT * 1000 + 999,
    views_deg=VIEWS,
    epochs=EPOCHS,
    threads=1,
    cores=2,
    idle="cpu.idle",
    foreign_cores=0.25,
    waiting=0.1,
    energy=Energy(None, None, None, None, "no power meter was read"),
)


def make_viewpoint(path: Path) -> Path:
    """Write the records. Every fourth track is unsure, the first one is wrong, and of the 30 sure
    ones of 1,000 bytes each 25 fit.

    The teacher errs at 60 degrees in half of the pictures, the student before in all but every
    tenth, after in the first picture of every view.
    """
    path.mkdir(parents=True)
    write_json(path / SETTING, SETTING_VALUES)
    _table(
        path,
        task.TRACKS,
        task.TRACK_COLUMNS,
        [
            (n, n % 10, 1 if n == 0 else n % 10, 0.5 if n % 4 == 1 else 0.99, 1000)
            for n in range(TRACKS)
        ],
    )
    predicted = (
        lambda view, n: n % 10 if view < 60 or n % 2 else 0.5,
        lambda view, n: 0,
        lambda view, n: 1 if n == 0 else n % 10,
    )
    for name, guess in zip(task.PREDICTIONS, predicted, strict=True):
        rows = [
            (view, place, place % 10, int(guess(view, place)))
            for view in VIEWS
            for place in range(TESTED)
        ]
        _table(path, name, task.PREDICTION_COLUMNS, rows)
    left = KEPT * FRAMES % SAMPLES
    sizes = EPOCHS * [*[SAMPLES] * (KEPT * FRAMES // SAMPLES), left]
    rows = [
        (TRAINED_NS + n * 10**8, TRAINED_NS + n * 10**8 + 9 * 10**7, size, 1.0 / (n + 1))
        for n, size in enumerate(sizes)
    ]
    _table(path, task.STEPS, task.STEP_COLUMNS, rows)
    facts = {
        "parameters": 61706,
        "pictures": TRACKS + TESTED,
        "start_ns": START_NS,
        "end_ns": START_NS + 5 * 10**9,
    }
    (path / task.TEACHER).write_text(json.dumps(facts))
    facts = {
        "parameters": 15738,
        "start_ns": TRAINED_NS,
        "end_ns": TRAINED_NS + 4 * 10**9,
        "cpu_s": 3.0,
    }
    (path / task.STUDENT).write_text(json.dumps(facts))
    close(path)
    return path


def _table(path: Path, name: str, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    (path / name).write_text("".join(",".join(map(str, row)) + "\n" for row in [columns, *rows]))
