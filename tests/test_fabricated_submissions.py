"""Submissions of which nothing was trained, made with the sources at hand: none has a mark that
somebody else did not give it, and each is answered by a sentence.

A regression set: it says nothing about forgeries that nobody thought of.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import reporter
from reporter.board.making import make_boards
from reporter.data import cache, replications, submissions
from reporter.data.shown_replications import ShownReplication
from suite import __version__
from suite.bundle.layout import WITNESS
from suite.bundle.manifest import seal
from suite.bundle.reader import Bundle
from suite.bundle.replication_folder import RECORD, run_folder
from suite.compliance import submission_rule
from suite.compliance.finding import Finding
from suite.compliance.paths import CheckResult
from suite.compliance.review import review_states
from suite.compliance.rules import witness
from suite.compliance.submissions import SubmissionVerdict, check_submissions
from suite.files.names import is_plain_name
from suite.files.signature import make_key, public_key
from suite.metrics.replication import REPLICATION, compare_runs
from suite.metrics.replication_record import SCHEMA, Replication, measure_run
from suite.submission.declaration import NAME
from suite.submission.evidence import sign_evidence
from suite.submission.folder_names import audit_path, read_folders, review_path
from suite.submission.signature import allowed_signers, sign_submission
from suite.witness.tokens import ALLOWED_SIGNERS, trust_list
from tests.builders import make_bundle
from tests.faults.edits.audit_edits import add_audit, honest_audit
from tests.faults.edits.file_edits import change_json
from tests.faults.edits.keys import signing_key
from tests.faults.edits.review_edits import honest_review
from tests.faults.edits.witness_edits import witnessed
from tests.good_submissions import good_submission, run_scenario
from tests.suite.submission.conftest import EPOCHS_TO_TARGET

MONTH_S, HOUR_S = 31 * 86_400, 3_600
SELF = "self-reported"
STATED = "time and energy stated by the submitter"
AUDITED = f"audited by lab, {STATED}"
NOBODY = (
    "runs without an audit in which another organization drew an epoch and replayed the training"
    " after it"
)
REPLACED = (
    "runs that were handed in again, or left out of the submission, after a reviewer drew epochs"
)
NOBODY_SAW = "runs whose times are not confirmed by a listed witness of another organization"
STRANGER = "list the key that made this signature"


@dataclass(frozen=True)
class Place:
    """A folder with the made-up submission, and replications, of a forger with a key of his own.

    Readers know one reviewer, lab; a forger who signs with its key has a friend there.
    """

    folder: Path

    @property
    def submission(self) -> Path:
        (file,) = self.folder.glob(f"made/submissions/*/*/{NAME}")
        return file.parent

    @property
    def replications(self) -> Path:
        return self.folder / "replications"

    @property
    def runs(self) -> list[Path]:
        return sorted(each.path for each in read_folders(self.submission)[0])

    @property
    def own_key(self) -> Path:
        key = self.folder / "own"
        if not key.exists():
            make_key(key, "own")
        return key

    def know(self, name: str, key: Path) -> None:
        with (self.folder / "allowed").open("a") as file:
            file.write(f"{name} {public_key(key)}\n")

    def declare(self, **values: object) -> None:
        change_json(self.submission / NAME, lambda declared: declared.update(values))

    def rename(self, organization: str) -> None:
        """The same submission in another organization's name."""
        self.declare(organization=organization)
        self.submission.rename(self.submission.with_name(organization))

    def review(
        self, *changes: Callable[[Any], object], by: str = "lab", key: Path | None = None
    ) -> None:
        """A review, some of its values changed before it is signed."""
        record, path = honest_review(self.submission, by), review_path(self.submission, by)
        for change in changes:
            change(record)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(record))
        sign_evidence(path, key or signing_key())

    def replicate(self, originals: int = 3, key: Path | None = None, seeds: int = 3) -> Path:
        """A replication of the first runs in lab's name, by fresh runs of the first seeds; returns
        its record."""
        folder = self.replications / "lab"
        for number in (1, 2, 3):
            seed = 1 + (number - 1) % min(originals, seeds)
            make_bundle(run_folder(folder, number), fresh_run(number, seed))
        old = tuple(measure_run(Bundle(run)) for run in self.runs[:originals])
        new = tuple(measure_run(Bundle(run_folder(folder, number))) for number in (1, 2, 3))
        found = compare_runs(old, new, ())
        REPLICATION.write(folder, Replication(SCHEMA, __version__, "lab", old, new, (), found))
        sign_evidence(folder / RECORD, key or signing_key())
        return folder / RECORD


def fresh_run(number: int, seed: int) -> Any:
    return replace(
        run_scenario(seed, EPOCHS_TO_TARGET[seed - 1]),
        name=f"lenet-pytorch-20270215T0{number}0000Z-00000{number}",
        organization="lab",
        later_s=MONTH_S + HOUR_S * number,
        step_s=0.005 + number * 2.4e-6,
    )


def reseal(run: Path) -> None:
    """Another bundle of the same run: its output says more."""
    with (run / "output.txt").open("a") as file:
        file.write("done\n")
    seal(run)


def confirmed(*values: Any) -> ShownReplication:
    return replace(ShownReplication(*values), verdict="confirmed")


@pytest.fixture(scope="module", autouse=True)
def fresh_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make the fresh runs of the replications once, so that no test pays for them."""
    for number in (1, 2, 3):
        for seed in {1, number}:
            make_bundle(tmp_path_factory.mktemp("fresh") / "run", fresh_run(number, seed))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    good_submission(tmp_path)
    for module in (submission_rule, replications):
        monkeypatch.setattr(module, "allowed_signers", lambda: tmp_path / "allowed")
    monkeypatch.setattr(witness, "trust_list", lambda: tmp_path / "witnesses")
    # the list of witnesses is part of the code that a cached verdict is of
    monkeypatch.setattr(cache, "digest_of_code", lambda: str(tmp_path))
    # made-up machines state no model, so that times alone would be undecided
    monkeypatch.setattr(replications, "ShownReplication", confirmed)
    (tmp_path / "witnesses").mkdir()
    made = Place(tmp_path)
    made.know("lab", signing_key())
    return made


def marks_and_sentences(place: Place) -> tuple[list[str], str]:
    """The marks of the accepted entries on the board, and all that checker, status and report
    say; the report checks the submissions."""
    paths = [place.folder / "made" / "submissions", place.replications]
    checked: list[SubmissionVerdict] = []

    def check(*arguments: Any) -> tuple[SubmissionVerdict, ...]:
        checked.extend(check_submissions(*arguments))
        return tuple(checked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(submissions, "check_submissions", check)
        frames = reporter.load([path for path in paths if path.exists()])
    marks = [row.provenance for board in make_boards(frames) for row in board.accepted]
    result = CheckResult((), tuple(checked), ())
    return marks, "\n".join([*sentences(result), *frames.broken["reason"]])


def sentences(result: CheckResult) -> Iterator[str]:
    for status in review_states(result):
        yield from status.broken
        yield from (f"{', '.join(point.where)}: {point.sentence}" for point in status.points)
    for verdict in result.submissions:
        yield from (said(finding) for _, finding in verdict.all_findings())


def said(finding: Finding) -> str:
    return f"{finding.rule}: {finding.expected} expected, {finding.observed} found"


def replication_of_later_bytes(place: Place) -> None:
    record = place.replicate()
    record.write_text(record.read_text() + " ")
    REPLICATION.seal(record.parent)


def unsigned_audits(place: Place) -> None:
    for run in place.runs:
        path = audit_path(place.submission, run)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(honest_audit(run)))


def signed_by_friend(place: Place) -> None:
    sign_submission(place.submission, signing_key())


def in_all(runs: list[Path], change: Callable[[Path], object]) -> None:
    for run in runs:
        change(run)


def several(*steps: Callable[[Place], object]) -> Callable[[Place], None]:
    def forge(place: Place) -> None:
        for step in steps:
            step(place)

    return forge


def know_witness(place: Place) -> None:
    line = f"lab {public_key(signing_key())}\n"
    (place.folder / "witnesses" / ALLOWED_SIGNERS).write_text(line)


def witness_all(place: Place) -> None:
    in_all(place.runs, witnessed())


def witness_of_another_run(place: Place) -> None:
    witness_all(place)
    first, second, _ = place.runs
    shutil.copy(first / WITNESS, second / WITNESS)
    seal(second)


def stolen(place: Place) -> None:
    place.review()
    place.rename("globex")


def leave_out(*names: str) -> Callable[[Any], object]:
    return lambda record: [record["runs"].pop(name) for name in names]


def copied(place: Place) -> None:
    place.review()
    original = place.submission
    copy = shutil.copytree(original, original.with_name("globex"))
    change_json(copy / NAME, lambda declared: declared.update(organization="globex"))


FIRST, SECOND, THIRD = (f"lenet/pytorch/run_{number}" for number in (1, 2, 3))


def contradicted(record: Any) -> None:
    record["runs"][FIRST]["audit"]["state"]["replayed_correct"] = 1


def contradicted_and_sealed_again(place: Place) -> None:
    place.review(contradicted)
    reseal(place.runs[0])


def audited_by_two_halves(place: Place) -> None:
    place.know("uni", place.own_key)
    place.review(leave_out(THIRD))
    place.review(leave_out(FIRST, SECOND), by="uni", key=place.own_key)


def dropped_after_draw(place: Place) -> None:
    place.review()
    shutil.rmtree(place.runs[-1])
    place.declare(entries=[])


def best_of_two(place: Place) -> None:
    place.review()
    reseal(place.runs[0])
    path = review_path(place.submission, "lab")
    before = json.loads(path.read_text())["draws"]
    place.review(lambda record: record["draws"].insert(0, before[0]))


def replication_of_other_runs(place: Place) -> None:
    place.replicate()
    reseal(place.runs[0])


def known_as(name: str) -> Callable[[Place], None]:
    """A reviewer in the list whose name reads like the submitter's."""

    def forge(place: Place) -> None:
        (place.folder / "allowed").unlink()
        place.know(name, signing_key())
        place.review(by=name)

    return forge


def different_model(record: Any) -> None:
    record["models"] = {"lenet/pytorch": {"is_equivalent": False, "reason": None}}


def draw_dated(date: str) -> Callable[[Any], object]:
    return lambda record: record["draws"][0].update(date=date)


FABRICATED: dict[str, tuple[Callable[[Place], object], str | None, str]] = {
    "runs that nobody made, and nothing else": (lambda place: None, SELF, NOBODY),
    "notes that claim a mark": (
        lambda place: place.declare(notes="audited by the project, reproduced by lab"),
        SELF,
        NOBODY,
    ),
    "unsigned audits of all runs": (
        unsigned_audits,
        SELF,
        NOBODY,
    ),
    "the audit of one run for another": (
        lambda place: add_audit({}, number=2)(place.submission),
        None,
        "submission-audits: SHA-256 of the run's manifest: ",
    ),
    "an unsigned audit from a state that it drew for itself": (
        lambda place: add_audit({}, state=2)(place.submission),
        SELF,
        NOBODY,
    ),
    "the project's name": (lambda place: place.rename("project"), SELF, NOBODY),
    "a reviewer's name, and its own review": (
        several(lambda place: place.rename("lab"), Place.review),
        SELF,
        NOBODY,
    ),
    "a reviewed submission in another's name": (
        stolen,
        None,
        "a review of v0.3/globex expected, a review of v0.3/acme found",
    ),
    "a friend signs and reviews": (
        several(Place.review, signed_by_friend),
        SELF,
        "a signature by acme expected, one by lab found",
    ),
    "a friend signs and reproduces": (
        several(Place.replicate, signed_by_friend),
        SELF,
        "a signature by acme expected, one by lab found",
    ),
    "a friend signs and witnesses": (
        several(
            know_witness,
            witness_all,
            signed_by_friend,
            lambda place: place.know("uni", place.own_key),
            lambda place: place.review(by="uni", key=place.own_key),
        ),
        f"audited by uni, {STATED}",
        "a signature by acme expected, one by lab found",
    ),
    "its own replication in a reviewer's name": (
        lambda place: place.replicate(key=place.own_key),
        SELF,
        NOBODY,
    ),
    "a replication edited after it was signed": (
        replication_of_later_bytes,
        SELF,
        NOBODY,
    ),
    "a replication of one run of three": (lambda place: place.replicate(1), SELF, NOBODY),
    "three fresh runs of one run of three": (lambda place: place.replicate(seeds=1), SELF, NOBODY),
    "a replication of other bundles": (
        replication_of_other_runs,
        SELF,
        "record disagrees with the bundle of the replicated run",
    ),
    "its own witness": (
        witness_all,
        SELF,
        f"{FIRST}, {SECOND}, {THIRD}: {NOBODY_SAW}",
    ),
    "a witness's record of another run": (
        several(know_witness, witness_of_another_run),
        SELF,
        "a receipt that cannot be trusted: its statement is about another digest",
    ),
    "a witness that stamped late": (
        several(know_witness, lambda place: in_all(place.runs, witnessed(after_s=40.0))),
        None,
        "0 to 30 s from run_stop to the stamp expected, 40.000 s found",
    ),
    "a review of some runs": (
        lambda place: place.review(leave_out(THIRD)),
        SELF,
        f"{THIRD}: {NOBODY}",
    ),
    "two reviewers, each of some runs": (
        audited_by_two_halves,
        SELF,
        NOBODY_SAW,
    ),
    "a contradicted run sealed again": (
        contradicted_and_sealed_again,
        SELF,
        f"{FIRST}: {REPLACED}",
    ),
    "a drawn run left out": (
        dropped_after_draw,
        None,
        f"{THIRD}: {REPLACED}",
    ),
    "two hand-ins, the better one reviewed": (
        best_of_two,
        AUDITED,
        f"{FIRST}: {REPLACED}",
    ),
    "a draw older than the runs": (
        lambda place: place.review(draw_dated("2026-12-31T23:59:59Z")),
        None,
        f"a draw after {FIRST} began (clocks may differ by 24 hours) expected,"
        " a draw on 2026-12-31T23:59:59Z found",
    ),
    "another model, by the reviewer's probe": (
        lambda place: place.review(different_model),
        None,
        "the workload's model in lab's probe of lenet/pytorch expected",
    ),
    "a reviewer with the submitter's name in capitals": (known_as("Acme"), SELF, STRANGER),
    "a review of an earlier round": (
        lambda place: place.review(lambda record: record.update(submission="v0.2/acme")),
        None,
        "a review of v0.3/acme expected, a review of v0.2/acme found",
    ),
    "a reviewed submission beside its copy": (copied, None, "submission-copies: "),
    "nobody's name": (lambda place: place.rename("none"), SELF, NOBODY),
    "a name with a Cyrillic letter": (
        lambda place: place.declare(organization="\u0430cme"),
        None,
        "must be at most 60 lower-case letters",
    ),
    "a name with a space behind it": (
        lambda place: place.declare(organization="acme "),
        None,
        "must be at most 60 lower-case letters",
    ),
}


@pytest.mark.parametrize("name", FABRICATED)
def test_a_fabricated_submission_has_no_mark_that_nobody_gave_it(name: str, place: Place) -> None:
    forge, mark, sentence = FABRICATED[name]
    forge(place)
    marks, answer = marks_and_sentences(place)
    assert (set(marks), sentence in answer) == ({mark} - {None}, True), answer


@pytest.mark.parametrize(
    ("add", "mark"),
    [
        (Place.review, AUDITED),
        (Place.replicate, "reproduced by lab, energy stated by the submitter"),
    ],
    ids=["review", "replication"],
)
def test_the_same_records_by_others_earn_their_marks(
    add: Callable[[Place], object], mark: str, place: Place
) -> None:
    add(place)
    assert marks_and_sentences(place)[0] == [mark]


@pytest.mark.parametrize("listed", [allowed_signers(), trust_list() / ALLOWED_SIGNERS])
def test_nobody_has_two_names(listed: Path) -> None:
    """ssh-keygen takes the first name of a key, so that a submitter could be his own auditor."""
    lines = [line for line in listed.read_text().splitlines() if line and line[0] != "#"]
    keys = [word for line in lines for word in line.split() if word.startswith("AAAA")]
    assert len(keys) == len(lines) == len(set(keys))
    assert all(is_plain_name(line.split()[0]) for line in lines)
