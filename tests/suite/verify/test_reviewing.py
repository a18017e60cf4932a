"""A review draws once for what was handed in, signs, and earns a mark for others only."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.bundle.manifest import seal
from suite.catalog.frameworks import load_implementation
from suite.compliance import submission_rule
from suite.compliance.paths import check_paths
from suite.compliance.review import ReviewKind
from suite.compliance.review import review_states as points_of
from suite.compliance.submissions import check_submission
from suite.errors import SuiteError
from suite.files.signature import make_key, public_key, sign_message
from suite.metrics.replayed_losses import AuditVerdict
from suite.metrics.review_record import ReviewedRun, read_review
from suite.submission import evidence
from suite.submission.evidence import signature_of
from suite.submission.folder_names import RunFolder, review_path
from suite.verify import reviewing
from suite.verify.kept_state import OtherState
from suite.verify.replay_audit import AuditOptions, Report
from suite.verify.reviewing import ReviewOptions, review_submission
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.keys import signing_key
from tests.faults.edits.review_edits import add_review, edit_signed_review
from tests.good_submissions import good_submission

DIFFERENT = {"is_equivalent": False, "reason": None}


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    return good_submission(tmp_path)


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ReviewOptions:
    """A known reviewer, whose machine can replay nothing."""

    def cannot(*arguments: object) -> None:
        raise SuiteError("no environment (/home/jane/.cache is empty)")

    for name in ("audit", "verify_implementations"):
        monkeypatch.setattr(reviewing, name, cannot)
    allowed = tmp_path / "allowed"
    lines = (f"{name} {public_key(signing_key())}\n" for name in ("lab", "acme"))
    allowed.write_text(next(lines))
    for module in (submission_rule, reviewing):
        monkeypatch.setattr(module, "allowed_signers", lambda: allowed)
    return ReviewOptions("lab", signing_key())


def with_notes(run: Path) -> None:
    """Another bundle of the same run: its output says more."""
    with (run / "output.txt").open("a") as file:
        file.write("done\n")
    seal(run)


def test_a_review_that_could_not_be_signed_is_repeated_and_keeps_its_draw(
    submission: Path, options: ReviewOptions, tmp_path: Path
) -> None:
    first = review_submission(submission, options, str)[1]
    (tmp_path / "no_agent").write_text(public_key(signing_key()))
    with pytest.raises(SuiteError, match="could not sign"):
        review_submission(submission, replace(options, key=tmp_path / "no_agent"), str)
    assert review_submission(submission, options, str)[1].draws == first.draws


def test_a_call_that_draws_nothing_and_is_interrupted_leaves_the_record(
    submission: Path, options: ReviewOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    file, _ = review_submission(submission, options, str)
    before = file.read_bytes()
    monkeypatch.setattr(reviewing, "audit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        review_submission(submission, options, str)
    assert file.read_bytes() == before


def test_a_state_that_was_handed_in_as_a_link_is_not_opened(
    submission: Path, options: ReviewOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[AuditOptions] = []

    def remember(bundle: Path, options: AuditOptions, report: Report) -> None:
        asked.append(options)
        raise SuiteError("no environment")

    monkeypatch.setattr(reviewing, "audit", remember)
    (tmp_path / "states").mkdir()
    (tmp_path / "states/epoch_1.npz").write_bytes(b"")
    for epoch in range(2, 31):
        (tmp_path / f"states/epoch_{epoch}.npz").symlink_to("/dev/zero")
    review_submission(submission, replace(options, states=tmp_path / "states"), str)
    assert len(asked) >= 3
    files = {each.state.file.name for each in asked if each.state is not None}
    assert files <= {"epoch_1.npz"}


@pytest.mark.parametrize(
    ("of_runs", "reason"),
    [
        (("run_1", "run_2"), "its program was changed"),
        (("run_2",), "no file epoch_1.npz in the folder given with --states is the one that this"),
        ((), "ask the submitter for this run's training state epoch_1.npz"),
    ],
)
def test_states_of_other_runs_do_not_hide_why_that_of_this_run_was_not_replayed(
    of_runs: Sequence[str],
    reason: str,
    options: ReviewOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They drew the same epoch."""

    def audited(bundle: Path, options: AuditOptions, report: Report) -> None:
        if options.state is not None and options.state.file.parent.name == bundle.name:
            raise SuiteError("its program was changed")
        if options.state is not None:
            raise OtherState("this is not the state that the run logged")

    monkeypatch.setattr(reviewing, "audit", audited)
    (tmp_path / "states").mkdir()
    for name in of_runs:
        (tmp_path / "states" / name).mkdir()
        (tmp_path / "states" / name / "epoch_1.npz").write_bytes(b"")
    folder: Any = SimpleNamespace(path=tmp_path / "lenet/pytorch/run_1", framework="pytorch")
    given, drawn = replace(options, states=tmp_path / "states"), ReviewedRun("0" * 64, 1, None, "")
    found = reviewing._replayed(folder, drawn, "value", given, {}, str)
    assert str(found.reason).startswith(reason)


@pytest.mark.parametrize(
    ("ranks", "program", "reason"),
    [(1, Path("program"), None), (2, None, reviewing.SEVERAL_RANKS)],
)
def test_a_state_of_several_ranks_is_replayed_without_the_run_s_own_program(
    ranks: int,
    program: Path | None,
    reason: str | None,
    good_bundle_of: Callable[[int], Path],
    options: ReviewOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[AuditOptions] = []

    def audited(bundle: Path, options: AuditOptions, report: Report) -> Any:
        asked.append(options)
        return SimpleNamespace(reason=None)

    monkeypatch.setattr(reviewing, "audit", audited)
    (tmp_path / "states").mkdir()
    (tmp_path / "states" / "epoch_1.npz").write_bytes(b"")
    folder = RunFolder(good_bundle_of(ranks), "lenet", "theirs")
    given, drawn = replace(options, states=tmp_path / "states"), ReviewedRun("0" * 64, 1, None, "")
    own: Any = {"theirs": SimpleNamespace(outside="program")}
    found = reviewing._replayed(folder, drawn, "value", given, own, str)
    (one,) = asked
    assert one.state is not None and (one.implementation, found.reason) == (program, reason)


def test_a_review_names_no_folder_of_its_machine(submission: Path, options: ReviewOptions) -> None:
    record = review_submission(submission, options, str)[1]
    reasons = {each.reason for each in (*record.runs.values(), *record.models.values())}
    assert reasons == {"no environment ($HOME/.cache is empty)"}


def test_a_review_that_contradicts_is_repeated(submission: Path, options: ReviewOptions) -> None:
    add_review({"run.audit.state.replayed_correct": 1})(submission)
    review_submission(submission, options, str)
    assert check_submission(submission).complies


def marks(submission: Path) -> set[tuple[str, ...]]:
    return set(check_submission(submission).audited_by.values())


def test_a_run_is_drawn_once_and_again_when_it_is_another(
    submission: Path, options: ReviewOptions
) -> None:
    first = review_submission(submission, options, str)[1]
    assert first.verdict is AuditVerdict.CANNOT_TELL
    (submission / "lenet/pytorch/run_3.WITHDRAWN").write_text("too hot\n")
    with_notes(submission / "lenet/pytorch/run_2")
    second = review_submission(submission, options, str)[1]
    assert second.draws[:-1] == first.draws
    assert list(second.draws[-1].manifests) == ["lenet/pytorch/run_2"]
    (status,) = points_of(check_paths([submission]))
    points = {point.kind: point.where for point in status.points}
    assert points[ReviewKind.REPLACED] == ("lenet/pytorch/run_2",)
    assert points[ReviewKind.NO_STATE] == tuple(second.runs)


def test_nothing_is_drawn_of_what_does_not_comply(submission: Path, options: ReviewOptions) -> None:
    submission = submission.rename(submission.with_name("of acme"))
    (submission / "system.json").write_text("{}")
    with pytest.raises(SuiteError, match=r"so no epoch was drawn .* `suite check '.*/of acme'`"):
        review_submission(submission, options, str)
    assert not (submission / "reviews").exists()


def forged(change: Callable[[Path, Path], object]) -> Callable[[Path], None]:
    """A change of a submission with a review in it, by somebody who has every file and program and
    a key of his own, but not the reviewer's."""

    def forge(submission: Path) -> None:
        add_review({})(submission)
        change(submission, review_path(submission, "lab"))

    return forge


def moved(name: str) -> Callable[[Path, Path], None]:
    def change(submission: Path, record: Path) -> None:
        for file in (record, signature_of(record)):
            file.rename(file.with_name(file.name.replace("lab", name)))

    return change


def in_record(old: str, new: str) -> Callable[[Path, Path], object]:
    return lambda submission, record: record.write_text(record.read_text().replace(old, new))


def by_own_key(name: str, namespace: str = evidence.NAMESPACE) -> Callable[[Path, Path], None]:
    """A review in the name of ``name``, signed with another key than the reviewer's."""

    def change(submission: Path, record: Path) -> None:
        own = submission.parent / "own"
        make_key(own, name)
        in_record('"lab"', f'"{name}"')(submission, record)
        signature_of(record).write_text(sign_message(record.read_bytes(), own, namespace))
        moved(name)(submission, record)

    return change


def linked(submission: Path, record: Path) -> None:
    kept = record.rename(submission.parent / "kept.json")
    record.symlink_to(kept)


def beside(submission: Path, record: Path) -> None:
    by_own_key("lab")(submission, record)
    (submission / "ALLOWED_SIGNERS").write_text(f"lab {public_key(submission.parent / 'own')}\n")


STATE = "run.audit.state"
OVERFLOWING = {"mean_loss": 1.7e308, "apart_loss": 0.0, "correct": None}
FABRICATED: dict[str, Callable[[Path], object]] = {
    "its own key in a reviewer's name": forged(by_own_key("lab")),
    "its own key in the project's name": forged(by_own_key("project")),
    "its own key in the submitter's name": forged(by_own_key("acme")),
    "its own key in an unknown name": forged(by_own_key("globex")),
    "its own list of signers": forged(beside),
    "a known key in another's name": add_review({}, "acme"),
    "no signature": forged(lambda place, record: signature_of(record).unlink()),
    "an empty signature": forged(lambda place, record: signature_of(record).write_text("")),
    "a signature for something else": forged(
        lambda place, record: signature_of(record).write_text(
            sign_message(record.read_bytes(), signing_key(), "edge-training-submission")
        )
    ),
    "a review of other bundles": forged(
        lambda place, record: with_notes(place / "lenet/pytorch/run_1")
    ),
    "a review of another submission's name": forged(moved("project")),
    "a review elsewhere": forged(linked),
    "a verdict changed": forged(in_record("agrees", "Agrees")),
    "a run's name changed": forged(in_record("run_2", "run_1")),
    "another value": forged(in_record('"value": "', '"value": "0')),
    "first steps only": add_review({STATE: None}),
    "a state that nobody drew": add_review({f"{STATE}.value": None}),
    "ten steps after the state": add_review({f"{STATE}.epoch_after": None}),
    "one replay": add_review({f"{STATE}.epoch_after.replayed": []}),
    "more steps than memory": add_review({f"{STATE}.epoch_after.steps": 2**62}),
    "losses that overflow": add_review({f"{STATE}.epoch_after.replayed": 5 * [OVERFLOWING]}),
    "an epoch that learned less": add_review({f"{STATE}.epoch_after.recorded.mean_loss": 9.0}),
}


@pytest.mark.parametrize("name", FABRICATED)
def test_a_fabricated_review_earns_no_mark(
    submission: Path, options: ReviewOptions, name: str
) -> None:
    FABRICATED[name](submission)
    assert check_submission(submission).audited_by[submission / "lenet/pytorch/run_1"] == ()


def test_an_unsigned_review_is_none_of_an_earlier_call(
    submission: Path, options: ReviewOptions
) -> None:
    """The submitter may have chosen its value, which draws the epochs."""
    FABRICATED["no signature"](submission)
    (chosen,) = read_review(review_path(submission, "lab")).draws
    (drawn,) = review_submission(submission, options, str)[1].draws
    assert drawn.value != chosen.value


@pytest.mark.parametrize("fabricate", [edit_signed_review(), forged(by_own_key("lab"))])
def test_a_review_that_this_key_did_not_sign_is_not_repeated(
    fabricate: Callable[[Path], object], submission: Path, options: ReviewOptions
) -> None:
    fabricate(submission)
    with pytest.raises(SuiteError, match="was changed after it was signed, or was not signed with"):
        review_submission(submission, options, str)


@pytest.mark.parametrize(
    ("models", "mark"),
    [({}, ("lab",)), ({"lenet/pytorch": DIFFERENT}, ()), ({"lenet/jax": DIFFERENT}, ("lab",))],
    ids=["no probe", "another model", "another entry's"],
)
def test_a_drawn_state_replayed_by_a_known_key_is_what_earns_the_mark(
    submission: Path, options: ReviewOptions, models: dict[str, object], mark: tuple[str]
) -> None:
    add_review({"record.models": models})(submission)
    assert check_submission(submission).audited_by[submission / "lenet/pytorch/run_1"] == mark


@pytest.mark.parametrize(
    ("division", "model_trained", "is_equivalent"),
    [("closed", "mine", False), ("open", "mine", None), ("open", "lenet5", False)],
)
def test_an_open_entry_may_have_another_model_than_the_workload_s_if_it_says_so(
    division: str,
    model_trained: str,
    is_equivalent: bool | None,
    good_bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle = EditableBundle(good_bundle)
    bundle.request["division"] = division
    bundle.event("model_trained")["value"] = model_trained
    bundle.save()
    probed = SimpleNamespace(passed=False)
    for name in ("find_environment", "build_probe", "verify_implementations"):
        monkeypatch.setattr(reviewing, name, lambda *of: probed)
    folder = RunFolder(good_bundle, "lenet", "pytorch")
    ((_, model),) = reviewing._models([folder], {}, str)
    assert model.is_equivalent is is_equivalent


def test_a_program_of_other_files_than_made_the_runs_is_not_probed(
    good_bundle: Path, tmp_path: Path
) -> None:
    manifest = tmp_path / "program" / "framework.toml"
    manifest.parent.mkdir()
    manifest.write_text('name = "theirs"\ntitle = "Theirs"\ntrain = ["{python}", "train.py"]\n')
    folder = RunFolder(good_bundle, "lenet", "theirs")
    own = {"theirs": load_implementation(manifest.parent)}
    ((_, model),) = reviewing._models([folder], own, str)
    assert model.is_equivalent is None and "differ from those that made" in str(model.reason)


def test_a_review_by_the_submitter_is_no_mark(
    submission: Path, options: ReviewOptions, tmp_path: Path
) -> None:
    (tmp_path / "allowed").write_text(f"acme {public_key(signing_key())}\n")
    add_review({}, "acme")(submission)
    assert check_submission(submission).complies and marks(submission) == {()}


@pytest.mark.parametrize(
    "withdrawn", ["lenet/pytorch/run_1.WITHDRAWN", "lenet/pytorch/WITHDRAWN", "WITHDRAWN"]
)
def test_a_contradicting_replay_by_a_known_key_refuses_the_submission(
    withdrawn: str, submission: Path, options: ReviewOptions
) -> None:
    add_review({"run.audit.state.replayed_correct": 1})(submission)
    (finding,) = [
        each for each in check_submission(submission).findings if each.rule == "submission-reviews"
    ]
    assert "a replay that contradicts the run" in finding.observed
    (submission / withdrawn).write_text("the replay is right\n")
    assert check_submission(submission).complies


def test_of_a_withdrawn_entry_nothing_is_drawn(submission: Path, options: ReviewOptions) -> None:
    (submission / "lenet/pytorch/WITHDRAWN").write_text("too hot\n")
    with pytest.raises(SuiteError, match="there is nothing to review"):
        review_submission(submission, options, str)


def test_a_reviewed_run_without_a_manifest_is_a_finding_and_has_no_mark(
    submission: Path, options: ReviewOptions
) -> None:
    add_review({})(submission)
    run = submission / "lenet/pytorch/run_1"
    (run / "MANIFEST.sha256").unlink()
    verdict = check_submission(submission)
    assert not verdict.complies and verdict.audited_by[run] == ()
