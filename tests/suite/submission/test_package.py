"""Packaging runs of implementations outside the checkout: the folder's files must be those that
trained."""

from dataclasses import replace
from pathlib import Path

import pytest

from suite.bundle.attached import BEFORE
from suite.bundle.layout import MANIFEST
from suite.bundle.manifest import file_digests
from suite.bundle.study_mark import StudyMark
from suite.errors import SuiteError
from suite.submission.declaration import Code, read_declaration
from suite.submission.folder_names import is_withdrawn, read_folders
from suite.submission.package import PackagedImplementation, PackageRequest, package_runs
from tests.faults.edits.attached_edits import attached
from tests.faults.edits.editable_bundle import EditableBundle
from tests.suite.submission.conftest import make_runs

FILES, OTHERS = "a" * 64, "b" * 64


def runs_by(folder: Path, *digests: str) -> list[Path]:
    """Bundles of the implementation with these digests of its files."""
    paths = make_runs(folder, len(digests))
    for path, digest in zip(paths, digests, strict=True):
        bundle = EditableBundle(path)
        bundle.run["implementation"]["sha256"] = digest
        bundle.save()
    return paths


def test_the_declaration_has_the_implementation(offer: PackageRequest, tmp_path: Path) -> None:
    given = PackagedImplementation("pytorch", tmp_path, FILES)
    folder = package_runs(
        runs_by(tmp_path / "runs", FILES, FILES),
        replace(offer, implementations=(given,)),
        tmp_path / "submissions",
    )
    (declared,) = read_declaration(folder).implementations
    assert (declared.name, declared.sha256, declared.language) == ("pytorch", FILES, "Python")


@pytest.mark.parametrize("train", [[], ["build/train"]], ids=["in the checkout", "elsewhere"])
def test_without_its_folder_the_code_of_an_implementation_elsewhere_is_unknown(
    train: list[str], offer: PackageRequest, tmp_path: Path
) -> None:
    paths = make_runs(tmp_path / "runs", 1)
    bundle = EditableBundle(paths[0])
    bundle.run["implementation"]["train"] = train
    bundle.save()
    folder = package_runs(paths, offer, tmp_path / "submissions")
    declared = read_declaration(folder)
    (code,) = (each.code for each in declared.implementations)
    assert code == (Code(None, None, None) if train else declared.code)


@pytest.mark.parametrize(
    ("digests", "given", "words"),
    [
        ((FILES, FILES), ("pytorch", OTHERS), "was not trained by the files"),
        ((FILES, OTHERS), None, "submit each version separately"),
        ((FILES, FILES), ("lenet-c", FILES), "None of these runs was made by"),
    ],
)
def test_other_files_are_refused(
    digests: tuple[str, ...],
    given: tuple[str, str] | None,
    words: str,
    offer: PackageRequest,
    tmp_path: Path,
) -> None:
    implementations = (
        () if given is None else (PackagedImplementation(given[0], tmp_path, given[1]),)
    )
    with pytest.raises(SuiteError, match=words):
        package_runs(
            runs_by(tmp_path / "runs", *digests),
            replace(offer, implementations=implementations),
            tmp_path / "submissions",
        )
    assert not (tmp_path / "submissions").exists()


def test_ctrl_c_leaves_no_part_of_a_submission(
    offer: PackageRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at the question for the passphrase of a key, when all but the signature is there."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("suite.submission.package.sign_submission", interrupted)
    signed = replace(offer, sign_with=tmp_path / "key")
    with pytest.raises(KeyboardInterrupt):
        package_runs(make_runs(tmp_path / "runs"), signed, tmp_path / "submissions")
    assert not list(tmp_path.glob("submissions/*/*"))


def test_a_run_that_a_trace_was_attached_to_is_packaged_whole(
    offer: PackageRequest, tmp_path: Path
) -> None:
    paths = make_runs(tmp_path / "runs", 1)
    attached()(paths[0])
    folder = package_runs(paths, offer, tmp_path / "submissions")
    (run,), misplaced = read_folders(folder)
    assert file_digests(run.path) == file_digests(paths[0]) and misplaced == ()


@pytest.mark.parametrize("place", ["run2/WITHDRAWN", "run2.WITHDRAWN"])
def test_a_withdrawn_run_is_packaged_withdrawn(
    place: str, offer: PackageRequest, tmp_path: Path
) -> None:
    paths = make_runs(tmp_path / "runs")
    (tmp_path / "runs" / place).write_text("The fan failed.\n")
    folder = package_runs(paths, offer, tmp_path / "submissions")
    withdrawal = folder / "lenet/pytorch/run_2.WITHDRAWN"
    assert list(folder.rglob("*WITHDRAWN")) == [withdrawal]
    assert withdrawal.read_text() == "The fan failed.\n"


def test_the_runs_of_a_withdrawn_entry_are_packaged_withdrawn(
    submission: Path, offer: PackageRequest, tmp_path: Path
) -> None:
    (submission / "lenet/WITHDRAWN").write_text("The fan failed.\n")
    paths = sorted(submission.glob("lenet/pytorch/run_*"))
    folder = package_runs(paths, offer, tmp_path / "again")
    assert all(is_withdrawn(each.path, folder) for each in read_folders(folder)[0])


@pytest.mark.parametrize("name", ["../name", "/etc/hostname"])
def test_a_manifest_names_no_file_outside_of_its_bundle(
    name: str, offer: PackageRequest, tmp_path: Path
) -> None:
    paths = make_runs(tmp_path / "runs", 1)
    (tmp_path / "runs" / "name").write_text("no record")
    with (paths[0] / MANIFEST).open("a") as manifest:
        manifest.write(f"{FILES}  {name}\n")
    with pytest.raises(SuiteError, match="is outside the bundle"):
        package_runs(paths, offer, tmp_path / "submissions")


def test_a_folder_in_a_bundle_that_is_a_link_holds_none_of_its_files(
    offer: PackageRequest, tmp_path: Path
) -> None:
    paths = make_runs(tmp_path / "runs", 1)
    attached()(paths[0])
    before = paths[0] / BEFORE
    before.rename(tmp_path / "elsewhere")
    before.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SuiteError, match="is a link"):
        package_runs(paths, offer, tmp_path / "submissions")


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            {"study": StudyMark("Batches", (("batch_size", "16"),), 5).to_dict()},
            "run2 was made for a study",
        ),
        ({"status": "interrupted"}, "run2 did not finish"),
        ({"status": "failed"}, "run2 did not finish"),
    ],
)
def test_a_run_of_a_study_or_one_that_did_not_finish_is_not_packaged(
    record: dict[str, object], words: str, offer: PackageRequest, tmp_path: Path
) -> None:
    paths = make_runs(tmp_path / "runs", 3)
    bundle = EditableBundle(paths[1])
    bundle.run |= record
    bundle.save()
    with pytest.raises(SuiteError, match=words):
        package_runs(paths, offer, tmp_path / "submissions")
    assert not (tmp_path / "submissions").exists()


def test_notes_that_a_declaration_cannot_hold_are_refused_before_anything_is_written(
    offer: PackageRequest, tmp_path: Path
) -> None:
    paths, longest = make_runs(tmp_path / "runs", 1), replace(offer, notes=4000 * "x")
    with pytest.raises(SuiteError, match="--notes is refused: expected a string of length <= 4000"):
        package_runs(paths, replace(longest, notes=4001 * "x"), tmp_path / "submissions")
    assert not (tmp_path / "submissions").exists()
    assert package_runs(paths, longest, tmp_path / "submissions").is_dir()
