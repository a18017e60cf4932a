"""Whatever the files of a student and its teacher hold, they are judged: findings, no exception."""

from pathlib import Path

import pytest

from suite.extensions.viewpoint.programs.task import PREDICTIONS, STEPS, STUDENT, TEACHER, TRACKS
from suite.extensions.viewpoint.record.records import SETTING
from suite.extensions.viewpoint.record.results import FIGURES
from tests.suite.compliance.hostile_records import (
    NO_RECORD,
    checked_with,
    checked_with_link,
    checked_with_value,
)
from tests.viewpoints import make_viewpoint

FILES = (FIGURES, SETTING, TRACKS, STEPS, STUDENT, TEACHER, *PREDICTIONS)
CONTENTS = {
    **NO_RECORD,
    "NaN": b'{"schema": 1, "sure": NaN}',
    "a long number": b"track,truth,label,confidence,size_bytes\n0,0,0,0." + b"9" * 4000 + b",1\n",
    "negative": b"start_ns,end_ns,samples,loss\n-1,-2,-3,-4\n",
    "a heading alone": b"view_deg,place,truth,predicted\n",
}
VALUES = {
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
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_viewpoint(tmp_path_factory.mktemp("viewpoints") / "good")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", CONTENTS)
def test_a_file_with_other_content_is_a_finding(
    name: str, content: str, good: Path, tmp_path: Path
) -> None:
    result = checked_with(good, name, CONTENTS[content], tmp_path)
    assert not result.complies and list(result.all_findings())


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in VALUES.items() for value in values]
)
def test_an_impossible_setting_is_a_finding(
    key: str, value: object, good: Path, tmp_path: Path
) -> None:
    result = checked_with_value(good, SETTING, key, value, tmp_path)
    assert not result.complies and list(result.all_findings())


def test_a_link_is_not_followed(good: Path, tmp_path: Path) -> None:
    result = checked_with_link(good, TRACKS, tmp_path)
    assert not result.complies
    assert any(
        finding.check == "record-recomputes" and "tracks.csv is missing" in finding.observed
        for _, finding in result.all_findings()
    )
