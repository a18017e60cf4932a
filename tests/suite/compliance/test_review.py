"""What a reviewer still has to decide follows from fields: each kind of point appears with its
field and goes with it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.catalog.rounds import current_round
from suite.catalog.seeds import use_nonce
from suite.compliance import review as review_module
from suite.compliance.finding import Finding, Severity
from suite.compliance.paths import check_paths
from suite.compliance.review import (
    ReviewKind,
    ReviewPoint,
    SubmissionStatus,
    Withdrawal,
    review_states,
)
from suite.compliance.submissions import check_submission
from suite.files.paths import repository_root
from suite.files.signature import SignatureState
from suite.submission.declaration import Code, SystemAvailability
from suite.submission.folder_names import RunFolder
from suite.submission.launches import FINISHED
from suite.submission.objections import ObjectionState
from tests.open_round import OPEN
from tests.suite.submission.conftest import offer, submission  # noqa: F401 - fixtures

RUNS = tuple(f"lenet/pytorch/run_{number}" for number in (1, 2, 3))


def status_of(folder: Path) -> SubmissionStatus:
    (status,) = review_states(check_paths((folder,)))
    return status


def points(folder: Path, kind: ReviewKind) -> list[ReviewPoint]:
    return [point for point in status_of(folder).points if point.kind is kind]


def edit(path: Path, change: Callable[[Any], None]) -> None:
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


def test_a_good_submission_complies_and_leaves_the_evidence_that_is_optional(
    submission: Path,  # noqa: F811 - the fixture
) -> None:
    status = status_of(submission)
    assert (status.complies, status.runs, dict(status.violations), status.broken) == (
        True,
        3,
        {},
        (),
    )
    by_kind = {point.kind: point.where for point in status.points}
    assert (
        by_kind[ReviewKind.NO_AUDIT]
        == by_kind[ReviewKind.NO_WITNESS]
        == by_kind[ReviewKind.SEEDS]
        == RUNS
    )
    assert by_kind[ReviewKind.UNSIGNED] == (".",)
    assert by_kind[ReviewKind.NO_LOCK] == ("lenet/pytorch",)
    assert not {
        ReviewKind.NO_PROBE,
        ReviewKind.LAUNCHES,
        ReviewKind.OBJECTION,
        ReviewKind.FINDING,
    } & set(by_kind)


def test_a_verdict_on_the_model_that_is_missing_is_a_point(submission: Path) -> None:  # noqa: F811
    (submission / "probes/lenet-pytorch.json").unlink()
    (point,) = points(submission, ReviewKind.NO_PROBE)
    assert point.where == ("lenet/pytorch",)
    assert status_of(submission).violations == {"submission-equivalence": 1}


def test_a_signature_takes_the_point_away(submission: Path) -> None:  # noqa: F811
    (submission / "SIGNATURE").write_text("whatever it is, the rule on signatures judges it")
    assert points(submission, ReviewKind.UNSIGNED) == []
    assert "submission-signature" in status_of(submission).violations


def test_the_rounds_nonce_and_its_lock_take_their_points_away(
    submission: Path,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used = []
    for number, name in enumerate(RUNS):
        request = dict(Bundle(submission / name).run().request)
        used.append(use_nonce("drawn", OPEN, number, load_framework("pytorch"), request))
        edit(
            submission / name / "run.json",
            lambda values, use=used[-1]: values.update(nonce=vars(use)),
        )
    (point,) = points(submission, ReviewKind.SEEDS)
    assert (
        point.where,
        f"that the submitter chose (round {OPEN} has no nonce)" in point.sentence,
    ) == (RUNS, True)
    drawn = replace(current_round(), nonce="drawn")
    monkeypatch.setattr(review_module, "judging_round", lambda name: drawn)
    assert points(submission, ReviewKind.SEEDS) == []
    assert points(submission, ReviewKind.NO_LOCK) != []
    locked = replace(drawn, locked=tuple(each.entry_sha256 for each in used))
    monkeypatch.setattr(review_module, "judging_round", lambda name: locked)
    assert points(submission, ReviewKind.NO_LOCK) == []


def test_a_withdrawn_run_needs_no_further_decision(submission: Path) -> None:  # noqa: F811
    (submission / f"{RUNS[0]}.WITHDRAWN").write_text("The fan was off.\nMore text.\n")
    status = status_of(submission)
    assert status.withdrawals == (Withdrawal(RUNS[0], "The fan was off."),)
    assert (
        next(point.where for point in status.points if point.kind is ReviewKind.NO_AUDIT)
        == RUNS[1:]
    )


@pytest.mark.parametrize("where", ["lenet", "lenet/pytorch"])
def test_a_withdrawn_entry_needs_no_further_decision(where: str, submission: Path) -> None:  # noqa: F811
    (submission / where / "WITHDRAWN").write_text("Another board.")
    assert status_of(submission).withdrawals == (Withdrawal(where, "Another board."),)
    assert points(submission, ReviewKind.NO_AUDIT) == points(submission, ReviewKind.SEEDS) == []


def test_a_withdrawn_submission_has_no_points(submission: Path) -> None:  # noqa: F811
    (submission / "WITHDRAWN").write_text("\x1b[31mred")
    status = status_of(submission)
    assert (status.is_withdrawn, status.points) == (True, ())
    assert status.withdrawals == (Withdrawal(".", "\\x1b[31mred"),)


def test_a_declaration_that_cannot_be_read_is_not_judged(submission: Path) -> None:  # noqa: F811
    (submission / "declaration.json").write_text("{")
    status = status_of(submission)
    assert (status.complies, status.declaration, status.points) == (None, None, ())
    assert "declaration.json" in status.broken[0]


def test_the_reference_of_the_closed_round_has_its_points() -> None:
    status = status_of(repository_root() / "submissions/v0.1/reference")
    assert (status.complies, status.runs) == (True, 9)
    assert {ReviewKind.NO_AUDIT, ReviewKind.UNSIGNED, ReviewKind.SEEDS, ReviewKind.LAUNCHES} <= {
        point.kind for point in status.points
    }


def test_the_page_for_maintainers_explains_every_kind() -> None:
    page = (repository_root() / "docs/maintaining.md").read_text(encoding="utf-8")
    kinds = {kind.value for kind in ReviewKind} - {ReviewKind.FINDING.value}
    assert {kind for kind in kinds if f"\n| `{kind}` |" not in page} == set()


def found(rule: str, severity: Severity, file: str) -> Finding:
    return Finding(rule, rule, severity, file, None, "", "", "")


def test_findings_of_one_rule_and_severity_are_one_point_with_their_places() -> None:
    run, whole = Path("/s/lenet/jax/run_1"), Path("/s")
    warned = [(each, found("a", Severity.WARNING, "log.txt")) for each in (run, whole, run)]
    others = [(run, found("a", Severity.NOTE, "x")), (run, found("b", Severity.INVALID, "x"))]
    verdict: Any = SimpleNamespace(path=whole, all_findings=lambda: [*warned, *others])
    points = review_module._findings(verdict)
    assert [(each.severity, each.where, each.sentence.split(";")[0]) for each in points] == [
        (Severity.WARNING, ("lenet/jax/run_1/log.txt", "log.txt"), "3 warnings"),
        (Severity.NOTE, ("lenet/jax/run_1/x",), "1 note"),
    ]


def runs_of(*requests: dict[str, str], folder: Path = Path("/s")) -> tuple[Any, ...]:
    """Runs of one entry with these requests."""
    folders = [
        RunFolder(folder / f"lenet/jax/run_{number}", "lenet", "jax")
        for number in range(1, len(requests) + 1)
    ]
    return tuple(
        review_module._Run(
            each.path.relative_to(folder).as_posix(), each, SimpleNamespace(request=request)
        )  # type: ignore[arg-type]
        for each, request in zip(folders, requests, strict=True)
    )


@pytest.mark.parametrize("state", [SignatureState.UNKNOWN, SignatureState.BAD])
def test_evidence_is_missed_of_each_run_that_has_none(
    state: SignatureState, tmp_path: Path
) -> None:
    """What a review that was edited says of a run counts for nothing."""
    runs = runs_of({"division": "closed"}, {"division": "closed"}, {}, folder=tmp_path)
    first, second, third = (each.folder.path for each in runs)
    record = SimpleNamespace(
        runs={
            "lenet/jax/run_2": SimpleNamespace(epoch=3),
            runs[0].name: SimpleNamespace(epoch=None),
        },
        is_from_drawn_state=lambda run: False,
        replaced=lambda present: ["gone\n"],
    )
    verdict: Any = SimpleNamespace(
        path=tmp_path,
        submitters=frozenset({"lab", "signer"}),
        bundles=[  # own witnesses and reviews, and the signer's, are not somebody else's
            SimpleNamespace(path=first, witnessed_by="lab"),
            SimpleNamespace(path=second, witnessed_by="w"),
            SimpleNamespace(path=third, witnessed_by="signer"),
        ],
        audited_by={first: ("w", "lab"), second: ("lab",), third: ()},
        reviews=[SimpleNamespace(record=record, maker=SimpleNamespace(state=state))],
    )
    points = review_module._evidence(verdict, [each.folder for each in runs], runs)
    of_review = {
        ReviewKind.NO_STATE: ("lenet/jax/run_2",),
        ReviewKind.REPLACED: ("gone\\n",),
    }
    assert {each.kind: each.where for each in points} == {
        ReviewKind.NO_PROBE: ("lenet/jax",),
        ReviewKind.NO_AUDIT: ("lenet/jax/run_2", "lenet/jax/run_3"),
        ReviewKind.NO_WITNESS: ("lenet/jax/run_1", "lenet/jax/run_3"),
        ReviewKind.UNSIGNED: (".",),
        **(of_review if state is SignatureState.UNKNOWN else {}),
    }


@pytest.mark.parametrize("folder", ["acme", "acme.orin"])
def test_a_submitters_own_witness_is_nobody_elses_whatever_the_folders_name(
    folder: str,
    submission: Path,  # noqa: F811 - the fixture
) -> None:
    verdict = check_submission(submission.rename(submission.with_name(folder)))
    bundles = tuple(replace(each, witnessed_by="acme") for each in verdict.bundles)
    status = review_module._status(replace(verdict, bundles=bundles))
    (unwitnessed,) = (each for each in status.points if each.kind is ReviewKind.NO_WITNESS)
    assert unwitnessed.where == RUNS


def test_what_only_the_submitter_says_is_a_claim_and_unfinished_launches_are_counted() -> None:
    def entry(name: str, *ends: str) -> SimpleNamespace:
        launches = [SimpleNamespace(status=each) for each in ends]
        return SimpleNamespace(workload=name, framework="jax", launches=launches)

    ours = SimpleNamespace(name="ours", code=Code(None, None, True))
    entries = [entry("lenet", "interrupted", "failed", FINISHED, "failed"), entry("vgg", FINISHED)]
    declaration: Any = SimpleNamespace(
        availability=SystemAvailability.PREVIEW,
        code=Code("https://example.org", "1" * 40, None),
        implementations=[ours],
        entries=entries,
    )
    runs = runs_of({"division": "closed", "organization": "none"}, {"division": "open"})
    points = [
        (each.kind, each.where, each.sentence) for each in review_module._claims(declaration, runs)
    ]
    claim, first, second = ReviewKind.CLAIM, "lenet/jax/run_1", "lenet/jax/run_2"
    assert points == [
        (claim, (".",), "the system is declared as preview"),
        (claim, (".",), "code of the suite: unknown whether files were modified"),
        (claim, (".",), "code of implementation ours: no address, no commit, modified files"),
        (claim, (second,), "open runs: only the implementation's own log says what was trained"),
        (
            claim,
            (first,),
            "runs that name no organization: only the submitter says who ran them",
        ),
        (
            ReviewKind.LAUNCHES,
            ("lenet/jax",),
            "launches that did not finish: 2 failed, 1 interrupted",
        ),
    ]
    entries.clear()
    *_, last = review_module._claims(declaration, ())
    assert (last.kind, last.sentence) == (ReviewKind.LAUNCHES, "the declaration lists no launches")


def test_an_objection_asks_while_it_is_open_or_its_result_still_stands() -> None:
    states, first, second = ObjectionState, "a/b/run_1", "a/b/run_2"
    for state, run, where in (
        (states.OPEN, first, first),
        (states.OPEN, None, "."),
        (states.UPHELD, first, None),
        (states.UPHELD, second, second),
        (states.DISMISSED, second, None),
    ):
        objection: Any = SimpleNamespace(state=state, run=run, against="seed")
        points = review_module._objections({"x": objection}, [Withdrawal(first, "too hot")])
        assert [each.where for each in points] == ([(where,)] if where else [])


@pytest.mark.parametrize("withdrawn", ["a/b/run_1", "a/b", "a", "."])
def test_an_upheld_objection_is_settled_by_a_withdrawal_above_its_run(withdrawn: str) -> None:
    objections: dict[str, Any] = {
        run: SimpleNamespace(state=ObjectionState.UPHELD, run=run, against="seed")
        for run in ("a/b/run_1", "another/b/run_1")
    }
    points = list(review_module._objections(objections, [Withdrawal(withdrawn, "too hot")]))
    assert [each.where for each in points] == ([] if withdrawn == "." else [("another/b/run_1",)])
