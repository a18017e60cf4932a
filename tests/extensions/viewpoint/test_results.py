"""The figures of a student and its teacher, worked out by hand from a made-up record, and records
that have none."""

from dataclasses import replace
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.extensions.viewpoint.programs.labels import Judged
from suite.extensions.viewpoint.record.records import SETTING, read_recording
from suite.extensions.viewpoint.record.results import (
    FIGURES,
    as_dict,
    labels_of,
    read_results,
)
from suite.files.json_file import plain_values, read_json
from tests.extensions.viewpoint.good_folder import (
    EPOCHS,
    FRAMES,
    KEPT,
    SAMPLES,
    TRAINED_NS,
    make_viewpoint,
)

OUTSIDE = "steps outside the student's training time"
LAST_NS = TRAINED_NS + (EPOCHS * (KEPT * FRAMES // SAMPLES + 1) - 1) * 10**8 + 9 * 10**7


def test_a_track_is_kept_whole_where_it_is_sure_enough_and_fits(tmp_path: Path) -> None:
    folder = make_viewpoint(tmp_path / "good")
    recorded = read_recording(folder)
    tracks = (
        Judged(1, 1, 0.95, 1000),  # just sure
        Judged(2, 3, 0.99, 1500),  # wrong
        Judged(4, 5, 0.94, 100),  # not sure
        Judged(6, 7, 0.99, 501),  # a byte too large
        Judged(8, 8, 1.0, 500),  # fills the storage
    )
    setting = replace(recorded.setting, sure=0.95, storage_bytes=3000, frames=10)
    found = labels_of(replace(recorded, tracks=tracks, setting=setting), folder)
    assert (found.tracks, found.sure, found.kept, found.frames, found.size_bytes) == (
        *(5, 4, 3, 30),
        3000,
    )
    assert (found.noise.successes, found.noise.count) == (1, 3)


def test_the_written_figures_are_the_computed_ones(tmp_path: Path) -> None:
    folder = make_viewpoint(tmp_path / "good")
    assert read_json(folder / FIGURES) == plain_values(as_dict(read_results(folder)))


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (SETTING, '"sure": 0.95', '"sure": 2.0', "sure is 2.0"),
        (SETTING, '"sure": 0.95', '"sure": 1.0', "sure is 1.0"),
        (SETTING, '"sure": 0.95', '"sure": 0.0', "sure is 0.0"),
        (SETTING, '"frames": 10', '"frames": 1', "frames is 1"),
        (SETTING, '"tracks": 40', '"tracks": 0', "tracks is 0"),
        ("tracks.csv", "0.99,1000", "NaN,1000", "not a finite number"),
        ("tracks.csv", "0.99,1000", "1.5,1000", "not a probability"),
        ("tracks.csv", "track,", "tracks,", "expected the columns"),
        ("teacher.csv", "30,0,0,0", "30,0,0", "does not have 4 values"),
        ("teacher.csv", "30,0,0,0", "30,0,0,0,1", "does not have 4 values"),
        ("student_after.csv", "30,0,0,1", "30,0,5,1", "other pictures or views"),
        (
            "student.json",
            '"parameters": 15738',
            '"parameters": 0',
            "impossible times or",
        ),
        ("student.json", f'"start_ns": {TRAINED_NS}', f'"start_ns": {TRAINED_NS + 1}', OUTSIDE),
        (
            "student.json",
            f'"end_ns": {TRAINED_NS + 4 * 10**9}',
            f'"end_ns": {LAST_NS - 1}',
            OUTSIDE,
        ),
    ],
)
def test_an_impossible_record_names_its_file(
    name: str, old: str, new: str, said: str, tmp_path: Path
) -> None:
    folder = make_viewpoint(tmp_path / "bad")
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))
    with pytest.raises(SuiteError, match=said):
        read_results(folder)
