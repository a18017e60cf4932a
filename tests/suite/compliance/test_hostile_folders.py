"""Whatever the files of an experiment with training beside inference, or of a student and its
teacher, hold, they are judged: findings, no exception."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from suite.bundle.manifest import seal
from suite.compliance.paths import check_paths
from suite.extensions.concurrent.record.layout import FIGURES, MEASUREMENT
from suite.extensions.viewpoint.programs.task import PREDICTIONS, STEPS, STUDENT, TEACHER, TRACKS
from suite.extensions.viewpoint.record.records import SETTING
from suite.extensions.viewpoint.record.results import FIGURES as VIEWPOINT_FIGURES
from tests.builders import make_experiment
from tests.faults.edits.file_edits import change_json
from tests.viewpoints import make_viewpoint


@dataclass(frozen=True)
class Folder:
    """Files of a good folder, other values of its setting, contents that are like its own files,
    and one of its tables."""

    files: Sequence[str]
    setting: str
    values: Mapping[str, Sequence[object]]
    contents: Sequence[bytes]
    table: str


FOLDERS = {
    make_experiment: Folder(
        (
            FIGURES,
            f"beside-b4/{MEASUREMENT}",
            f"training-alone/{MEASUREMENT}",
            "beside-b4/batches.csv",
            "beside-b4/noticed.csv",
            "beside-b4/training/step_times.csv",
        ),
        f"beside-b4/{MEASUREMENT}",
        {
            "rate_per_s": (0.0, -1.0, 1e300, 1e-300),
            "duration_s": (0.0, -1.0, 1e300, 1e-9),
            "batch": (0, -4, 10**30),
            "start_ns": (-1, 10**30),
            "window_ns": (0, 10**30),
            "seed": (-1, 10**30),
            "kind": ("trace", "x" * 10_000, ""),
            "deadline_s": (-1.0, 1e300),
            "schedule": ("", "sequential"),
            "trains": (None,),
            "infers": (None,),
        },
        (
            b'{"schema": 1, "rate_per_s": NaN}',
            b"batch,first,images,asked_ns,sent_ns,start_ns,end_ns\n"
            + b"9" * 400
            + b",0,1,0,0,0,0\n",
            b"noticed_ns\n-5\n",
            b"start_ns,end_ns,samples\n1.5,2.5,16\n",
        ),
        "beside-b4/batches.csv",
    ),
    make_viewpoint: Folder(
        (VIEWPOINT_FIGURES, SETTING, TRACKS, STEPS, STUDENT, TEACHER, *PREDICTIONS),
        SETTING,
        {
            "tracks": (0, -1, 10**30),
            "frames": (1, 10**30),
            "sure": (0.0, 1.0, 10**400),
            "storage_bytes": (0, -1, 10**30),
            "views_deg": ([], [95], [-5], ["30"], [30] * 17),
            "epochs": (0, 10**30),
            "seed": (-1, 10**30),
            "cores": (0, "two"),
            "energy": (None, {}, {"energy_j": "much"}),
            "foreign_cores": (1e400,),
        },
        (
            b'{"schema": 1, "sure": NaN}',
            b"track,truth,label,confidence,size_bytes\n0,0,0,0." + b"9" * 4000 + b",1\n",
            b"start_ns,end_ns,samples,loss\n-1,-2,-3,-4\n",
            b"view_deg,place,truth,predicted\n",
        ),
        TRACKS,
    ),
}
NO_RECORDS = (b"", bytes(range(256)), b"[1, 2]", b"{}", b"[" * 3000)
"""Contents that are no record of any kind."""


@pytest.fixture(scope="module")
def _good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("folders")
    return {make.__name__: make(folder / make.__name__) for make in FOLDERS}


@pytest.fixture
def copy_of(_good: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A fresh copy of a good folder, by the name of its builder."""
    return lambda name: Path(shutil.copytree(_good[name], tmp_path / "x"))


@pytest.mark.parametrize(
    ("maker", "name", "content"),
    [
        pytest.param(make.__name__, name, content, id=f"{name}-{number}")
        for make, of in FOLDERS.items()
        for name in of.files
        for number, content in enumerate((*NO_RECORDS, *of.contents))
    ],
)
def test_a_file_with_other_content_is_a_finding(
    maker: str, name: str, content: bytes, copy_of: Callable[[str], Path]
) -> None:
    folder = copy_of(maker)
    (folder / name).write_bytes(content)
    assert_judged(folder)


@pytest.mark.parametrize(
    ("maker", "setting", "key", "value"),
    [
        (make.__name__, of.setting, key, value)
        for make, of in FOLDERS.items()
        for key, values in of.values.items()
        for value in values
    ],
)
def test_an_impossible_setting_is_a_finding(
    maker: str, setting: str, key: str, value: object, copy_of: Callable[[str], Path]
) -> None:
    folder = copy_of(maker)
    change_json(folder / setting, lambda content: content.update({key: value}))
    assert_judged(folder)


def assert_judged(folder: Path) -> None:
    seal(folder)
    result = check_paths([folder])
    assert not result.complies and list(result.all_findings())


@pytest.mark.parametrize(
    ("maker", "name"), [(make.__name__, of.table) for make, of in FOLDERS.items()]
)
def test_a_link_is_not_followed(
    maker: str, name: str, copy_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder, elsewhere = copy_of(maker), tmp_path / "elsewhere.csv"
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)
    result = check_paths([folder])
    assert not result.complies
    assert any(
        finding.check == "record-recomputes" and f"{Path(name).name} is missing" in finding.observed
        for _, finding in result.all_findings()
    )
