"""`suite audit` end to end: with the test framework, and with each real one."""

import json
import shutil
from pathlib import Path

import pytest

from suite.bundle import layout
from suite.bundle.data_record import DATA, DataRecord, write_data_record
from suite.bundle.layout import MANIFEST, RUN
from suite.bundle.reader import Bundle
from suite.catalog.data_sets import load_data_set
from suite.datasets.digest_lists import digest_of_list, lines_of
from suite.datasets.layouts import DataSetContents, table_pictures
from suite.datasets.locate import PreparedDataSet
from suite.errors import SuiteError
from suite.files.digest import file_digest
from suite.verify import audited_run
from suite.verify.audited_run import audited_bundle
from tests.conftest import Run, environment_of
from tests.faults.edits.editable_bundle import EditableBundle

STEPS = 6


@pytest.fixture(scope="module")
def fake_run(suite: Run, digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed run of the test framework on digits."""
    return trained(suite, "fake", tmp_path_factory.mktemp("audited") / "run")


def trained(suite: Run, framework: str, path: Path) -> Path:
    command = (
        f"--division open --device auto --workload lenet --framework {framework} --data digits"
        " --steps 8"
    )
    suite.done(f"run {command} --output {path}")
    return path


def edited(run: Path, path: Path, factor: float = 1.0, **request: object) -> Path:
    """A copy with losses scaled from the third step on and another request, sealed again."""
    bundle = EditableBundle(Path(shutil.copytree(run, path)))
    bundle.steps.loc[bundle.steps.index[2:], "loss"] *= factor
    bundle.request.update(request)
    bundle.save()
    return path


def test_a_genuine_run_agrees(suite: Run, fake_run: Path, tmp_path: Path) -> None:
    answer = suite.done(f"audit {fake_run} --output {tmp_path}/audit.json")
    assert "agrees, 8 steps" in answer.stdout
    record = json.loads((tmp_path / "audit.json").read_text())
    assert record["losses"]["recorded"] == record["losses"]["plain"]
    assert record["comparison"]["verdict"] == "agrees"
    assert 0 < record["rate_error_found"] < 0.05


@pytest.mark.parametrize(
    "changes",
    [
        {"factor": 1.02},
        {"seed": 7},
        {"global_batch_size": 15},
        {"optimizer": {"base_learning_rate": 0.02}},
        {"optimizer": {"momentum": 0.5}},
    ],
    ids=str,
)
def test_a_lie_is_contradicted(
    suite: Run, fake_run: Path, tmp_path: Path, changes: dict[str, object]
) -> None:
    if "optimizer" in changes:
        own = json.loads((fake_run / RUN).read_text())["request"]["optimizer"]
        changes = {"optimizer": {**own, **changes["optimizer"]}}  # type: ignore[dict-item]
    answer = suite.refused(
        f"audit {edited(fake_run, tmp_path / 'forged', **changes)} --json", code=1
    )  # type: ignore[arg-type]
    found = json.loads(answer.stdout)["comparison"]
    assert found["verdict"] == "contradicts"
    assert found["step"]["difference"] > found["step"]["tolerance"]


def test_records_that_are_not_those_that_were_sealed_are_refused(
    suite: Run, fake_run: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(fake_run, tmp_path / "run"))
    (run / RUN).write_text((run / RUN).read_text() + " ")
    answer = suite.refused(f"audit {run}")
    assert "does not match MANIFEST.sha256" in answer.stderr
    shutil.copyfile(fake_run / RUN, run / RUN)
    with (run / layout.STEPS).open("ab") as stream:
        stream.write(b" ")
    with pytest.raises(SuiteError, match=f"{layout.STEPS}.*does not match"):
        audited_bundle(Bundle(run))
    (run / MANIFEST).unlink()
    assert "is not sealed" in suite.typed(f"audit {run}").stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--steps 0", "--steps must be from 1"),
        ("--framework caffe", "There is no framework 'caffe'"),
        ("--data /none", "is not a folder"),
    ],
)
def test_what_cannot_be_replayed_is_one_sentence(
    suite: Run, fake_run: Path, options: str, sentence: str
) -> None:
    answer = suite.refused(f"audit {fake_run} {options}")
    assert sentence in answer.stderr


def test_a_run_in_another_precision_cannot_be_told(
    suite: Run, fake_run: Path, tmp_path: Path
) -> None:
    answer = suite.refused(
        f"audit {edited(fake_run, tmp_path / 'mixed', framework='pytorch', precision='bf16-mixed')}"
    )
    assert (
        "The run computed in bf16-mixed" in answer.stderr
        and "so the run cannot be audited" in answer.stderr
    )


def test_a_data_set_of_another_size_is_named(suite: Run, fake_run: Path, tmp_path: Path) -> None:
    data = {**json.loads((fake_run / RUN).read_text())["request"]["data"], "train_samples": 100}
    answer = suite.refused(f"audit {edited(fake_run, tmp_path / 'run', data=data)}")
    assert "the run used 100 samples of 10 classes" in answer.stderr


@pytest.mark.parametrize("has_digests", [True, False])
def test_a_data_set_of_another_content_is_named(
    has_digests: bool, suite: Run, fake_run: Path, digits: Path, tmp_path: Path
) -> None:
    """A bundle without digests says at least that the published data set was read."""
    data = Path(shutil.copytree(digits, tmp_path / "data"))
    run = Path(shutil.copytree(fake_run, tmp_path / "run"))
    labels = data / "train-labels-idx1-ubyte"
    header, values = labels.read_bytes()[:8], labels.read_bytes()[8:]
    labels.write_bytes(header + values[::-1])
    if not has_digests:
        (run / DATA).unlink()
    answer = suite.refused(f"audit {run} --data {data}")
    named = labels if has_digests else data
    assert f"{named} differs from what the run trained on" in answer.stderr


def test_a_replay_reads_the_tables_and_pictures_that_the_run_read(tmp_path: Path) -> None:
    definition = load_data_set("photographs")
    tables = [tmp_path / table.name for table in definition.tables]
    for table in tables:
        table.write_text("image_id,class\na,0\n")
    picture = tmp_path / "images" / "a.jpg"
    picture.parent.mkdir()
    picture.write_text("pixels")
    files = tuple(file_digest(tmp_path, table.name) for table in tables)
    pictures = digest_of_list(lines_of(table_pictures(definition, tmp_path)))
    write_data_record(tmp_path, DataRecord(definition.name, 0, files, 1, pictures))
    contents = DataSetContents(203, 1, 1, verified=False)
    place = PreparedDataSet(definition, tmp_path, contents, is_synthetic=False)
    assert audited_run._different(Bundle(tmp_path), False, place) is None
    for changed, named in ((picture, tmp_path), (tables[1], tables[1])):
        changed.write_text(f"{changed.read_text()}b,1\n")
        assert audited_run._different(Bundle(tmp_path), False, place) == named


@pytest.mark.proof
def test_a_framework_replays_its_own_run_and_finds_a_lie(
    framework: str, suite: Run, digits: Path, tmp_path: Path
) -> None:
    suite.done(f"env create {framework} --interpreter {environment_of(framework).interpreter}")
    run = trained(suite, framework, tmp_path / "run")
    suite.done(f"audit {run} --steps {STEPS}")
    forged = suite.refused(
        f"audit {edited(run, tmp_path / 'forged', 1.01)} --steps {STEPS} --json", code=1
    )
    record = json.loads(forged.stdout)
    assert record["comparison"]["step"]["step"] == 3
    assert record["losses"]["float64"] == pytest.approx(record["losses"]["plain"], abs=1e-5)
