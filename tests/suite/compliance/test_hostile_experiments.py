"""Whatever the files of an experiment with training beside inference hold, it is judged: findings,
no exception."""

from pathlib import Path

import pytest

from suite.extensions.concurrent.record.layout import FIGURES, MEASUREMENT
from tests.builders import make_experiment
from tests.suite.compliance.hostile_records import (
    NO_RECORD,
    checked_with,
    checked_with_link,
    checked_with_value,
)

FILES = (
    FIGURES,
    f"beside-b4/{MEASUREMENT}",
    f"training-alone/{MEASUREMENT}",
    "beside-b4/batches.csv",
    "beside-b4/noticed.csv",
    "beside-b4/training/step_times.csv",
)
CONTENTS = {
    **NO_RECORD,
    "NaN": b'{"schema": 1, "rate_per_s": NaN}',
    "a long number": (
        b"batch,first,images,asked_ns,sent_ns,start_ns,end_ns\n" + b"9" * 400 + b",0,1,0,0,0,0\n"
    ),
    "negative": b"noticed_ns\n-5\n",
    "fractions": b"start_ns,end_ns,samples\n1.5,2.5,16\n",
}
SETTINGS = {
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
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_experiment(tmp_path_factory.mktemp("experiments") / "good")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", CONTENTS)
def test_a_file_with_other_content_is_a_finding(
    name: str, content: str, good: Path, tmp_path: Path
) -> None:
    result = checked_with(good, name, CONTENTS[content], tmp_path)
    assert not result.complies and list(result.all_findings())


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in SETTINGS.items() for value in values]
)
def test_an_impossible_setting_is_a_finding(
    key: str, value: object, good: Path, tmp_path: Path
) -> None:
    result = checked_with_value(good, f"beside-b4/{MEASUREMENT}", key, value, tmp_path)
    assert not result.complies and list(result.all_findings())


def test_a_link_in_an_experiment_is_not_followed(good: Path, tmp_path: Path) -> None:
    result = checked_with_link(good, "beside-b4/batches.csv", tmp_path)
    assert not result.complies
    assert any(
        finding.check == "record-recomputes" and "batches.csv is missing" in finding.observed
        for _, finding in result.all_findings()
    )
