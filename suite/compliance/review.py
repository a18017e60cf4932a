"""What a reviewer of submissions still has to decide: derived from verdicts, declarations, records
and objections, never from their prose."""

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from suite.bundle.layout import NO_ORGANIZATION, WITHDRAWN, is_withdrawal
from suite.bundle.reader import Bundle, RunRecord
from suite.catalog.divisions import Division
from suite.catalog.rounds import Round, judging_round
from suite.catalog.seeds import NonceKind, nonce_kind, read_nonce_use
from suite.compliance.finding import Severity, printable
from suite.compliance.paths import CheckResult
from suite.compliance.rules.reviews import manifest_of
from suite.compliance.submissions import SubmissionVerdict
from suite.errors import SuiteError
from suite.files.counted import counted
from suite.files.signature import SignatureState
from suite.metrics.review_record import Review
from suite.submission.declaration import Code, Declaration, SystemAvailability, read_declaration
from suite.submission.folder_names import (
    SIGNATURE,
    RunFolder,
    is_withdrawn,
    probe_path,
    read_folders,
    withdrawal_beside,
)
from suite.submission.launches import FINISHED
from suite.submission.objections import FOLDER, Objection, ObjectionState, read_objections

MAX_REASON_LENGTH = 200
_SEEDS = {
    NonceKind.NONE: "the submitter chose the seed",
    NonceKind.SELF_CHOSEN: "the seed follows from a nonce that the submitter chose",
}


class ReviewKind(str, enum.Enum):
    """Why a person has to decide."""

    FINDING = "finding"
    NO_PROBE = "no-probe"
    NO_AUDIT = "no-audit"
    NO_STATE = "no-state"
    REPLACED = "replaced"
    NO_WITNESS = "no-witness"
    UNSIGNED = "unsigned"
    SEEDS = "seeds"
    NO_LOCK = "no-lock"
    LAUNCHES = "launches"
    CLAIM = "claim"
    OBJECTION = "objection"


@dataclass(frozen=True)
class ReviewPoint:
    """One thing to decide: where (folders and files of the submission), a sentence, and the rule
    and severity of findings."""

    kind: ReviewKind
    where: tuple[str, ...]
    sentence: str
    rule: str | None = None
    severity: Severity | None = None


@dataclass(frozen=True)
class Withdrawal:
    """A withdrawn result: its folder (``.`` for the whole submission), and the first line of the
    reason."""

    where: str
    reason: str


@dataclass(frozen=True)
class SubmissionStatus:
    """The state of one submission.

    ``complies`` is None where something could not be judged; ``broken`` says what. ``round`` and
    ``declaration`` are None where the declaration cannot be read. ``violations`` counts the
    findings of each rule that make it invalid. ``objections`` are by the names of their files.
    """

    path: Path
    round: Round | None
    declaration: Declaration | None
    runs: int
    complies: bool | None
    violations: Mapping[str, int]
    points: tuple[ReviewPoint, ...]
    objections: Mapping[str, Objection]
    withdrawals: tuple[Withdrawal, ...]
    broken: tuple[str, ...]

    @property
    def is_withdrawn(self) -> bool:
        """The whole submission is withdrawn."""
        return any(withdrawal.where == "." for withdrawal in self.withdrawals)


@dataclass(frozen=True)
class _Run:
    """A run that was not withdrawn: its folder, the folder's name in the submission, and its
    record."""

    name: str
    folder: RunFolder
    record: RunRecord

    @property
    def is_closed(self) -> bool:
        return self.record.request.get("division") == Division.CLOSED.value

    @property
    def entry(self) -> str:
        return f"{self.folder.workload}/{self.folder.framework}"


def review_states(result: CheckResult) -> tuple[SubmissionStatus, ...]:
    """The state of every submission that was checked."""
    return tuple(_status(verdict) for verdict in result.submissions)


def _status(verdict: SubmissionVerdict) -> SubmissionStatus:
    path = verdict.path
    declaration = _declaration(path)
    judged_by = None if declaration is None else judging_round(declaration.round)
    objections = read_objections(path)
    folders = read_folders(path)[0]
    withdrawals = tuple(_withdrawals(path, folders))
    points: tuple[ReviewPoint, ...] = ()
    if (
        declaration is not None
        and judged_by is not None
        and not any(each.where == "." for each in withdrawals)
    ):
        runs = tuple(_runs(path, folders))
        points = (
            *_findings(verdict),
            *_evidence(verdict, folders, runs),
            *_seeds(judged_by, runs),
            *_claims(declaration, runs),
            *_objections(objections.by_file, withdrawals),
        )
    return SubmissionStatus(
        path,
        judged_by,
        declaration,
        len(verdict.bundles),
        None if verdict.broken else verdict.complies,
        Counter(finding.rule for _, finding in verdict.all_findings() if finding.is_invalid),
        points,
        objections.by_file,
        withdrawals,
        (*verdict.broken, *objections.unreadable),
    )


def _declaration(path: Path) -> Declaration | None:
    try:
        return read_declaration(path)
    except SuiteError:
        return None  # the verdict says so


def _runs(path: Path, folders: Iterable[RunFolder]) -> Iterator[_Run]:
    for folder in folders:
        if is_withdrawn(folder.path, path):
            continue
        try:
            record = Bundle(folder.path).run()
        except SuiteError:
            continue  # the verdict says so
        yield _Run(folder.path.relative_to(path).as_posix(), folder, record)


def _withdrawals(path: Path, folders: Iterable[RunFolder]) -> Iterator[Withdrawal]:
    files = {path / WITHDRAWN: path}
    for folder in folders:
        files |= {
            each / WITHDRAWN: each
            for each in (folder.path.parent.parent, folder.path.parent, folder.path)
        }
        files[withdrawal_beside(folder.path)] = folder.path
    for file, withdrawn in sorted(files.items()):
        if is_withdrawal(file):
            reason = file.read_text(encoding="utf-8").strip().splitlines()[0]
            yield Withdrawal(
                withdrawn.relative_to(path).as_posix(), printable(reason[:MAX_REASON_LENGTH])
            )


def _findings(verdict: SubmissionVerdict) -> Iterator[ReviewPoint]:
    """One point for each rule with warnings or notes."""
    by_rule: dict[tuple[str, Severity], list[str]] = {}
    for folder, finding in verdict.all_findings():
        if not finding.is_invalid:
            place = folder.relative_to(verdict.path).as_posix()
            where = f"{place}/{finding.file}".removeprefix("./")
            by_rule.setdefault((finding.rule, finding.severity), []).append(where)
    for (rule, severity), places in by_rule.items():
        sentence = (
            f"{counted(len(places), severity.value)}; `suite check` prints what was expected and"
            " observed"
        )
        yield ReviewPoint(
            ReviewKind.FINDING, tuple(dict.fromkeys(places)), sentence, rule, severity
        )


def _evidence(
    verdict: SubmissionVerdict, folders: Iterable[RunFolder], runs: tuple[_Run, ...]
) -> Iterator[ReviewPoint]:
    """Optional evidence that is not there."""
    unproved = dict.fromkeys(
        run.entry
        for run in runs
        if run.is_closed and not probe_path(verdict.path, *run.folder.trained).is_file()
    )
    witnessed = {
        each.path
        for each in verdict.bundles
        if each.witnessed_by is not None and each.witnessed_by not in verdict.submitters
    }
    reviews = [
        each.record
        for each in verdict.reviews
        if each.record is not None and each.maker.state is not SignatureState.BAD
    ]
    waiting = {name for review in reviews for name in _waiting(review)}
    reviewed = folders if reviews else ()
    present = {digest for run in reviewed if (digest := manifest_of(run.path))}
    replaced = {name for review in reviews for name in review.replaced(present)}
    missing = (
        (ReviewKind.NO_PROBE, unproved, "closed entries without a verdict of `suite verify-model`"),
        (
            ReviewKind.NO_AUDIT,
            [
                run.name
                for run in runs
                if verdict.submitters.issuperset(verdict.audited_by.get(run.folder.path, ()))
            ],
            "runs without an audit in which another organization drew an epoch and replayed the"
            " training after it",
        ),
        (
            ReviewKind.NO_STATE,
            [run.name for run in runs if run.name in waiting],
            "runs whose training state after the drawn epoch was not handed in, or not replayed",
        ),
        (
            ReviewKind.REPLACED,
            sorted(map(printable, replaced)),
            "runs that were handed in again, or left out of the submission, after a reviewer drew"
            " epochs",
        ),
        (
            ReviewKind.NO_WITNESS,
            [run.name for run in runs if run.folder.path not in witnessed],
            "runs whose times are not confirmed by a listed witness of another organization",
        ),
    )
    yield from (
        ReviewPoint(kind, tuple(names), sentence) for kind, names, sentence in missing if names
    )
    if not (verdict.path / SIGNATURE).is_file():
        yield ReviewPoint(ReviewKind.UNSIGNED, (".",), "the submission is not signed")


def _waiting(review: Review) -> Iterator[str]:
    """Runs of which the reviewer drew an epoch and replayed no state."""
    for name, run in review.runs.items():
        if run.epoch is not None and not review.is_from_drawn_state(run):
            yield name


def _seeds(judged_by: Round, runs: Iterable[_Run]) -> Iterator[ReviewPoint]:
    """Closed runs whose seeds somebody may have chosen, and closed entries that were not locked
    before the nonce was given out."""
    closed = [run for run in runs if run.is_closed]
    of_round = "" if judged_by.nonce is not None else f" (round {judged_by.name} has no nonce)"
    for kind, sentence in _SEEDS.items():
        names = tuple(
            run.name for run in closed if nonce_kind(run.record.nonce, judged_by.nonce) is kind
        )
        if names:
            yield ReviewPoint(ReviewKind.SEEDS, names, sentence + of_round)
    unlocked = tuple(
        dict.fromkeys(run.entry for run in closed if _lock(run) not in judged_by.locked)
    )
    if unlocked:
        yield ReviewPoint(
            ReviewKind.NO_LOCK,
            unlocked,
            f"closed entries whose digest is not locked in rules/rounds/{judged_by.name}.toml",
        )


def _lock(run: _Run) -> str | None:
    used = None if run.record.nonce is None else read_nonce_use(run.record.nonce)
    return None if used is None else used.entry_sha256


def _claims(declaration: Declaration, runs: Iterable[_Run]) -> Iterator[ReviewPoint]:
    """What the submitter states and no record shows."""
    if declaration.availability is not SystemAvailability.RESEARCH:
        yield ReviewPoint(
            ReviewKind.CLAIM, (".",), f"the system is declared as {declaration.availability.value}"
        )
    codes = {
        "the suite": declaration.code,
        **{f"implementation {each.name}": each.code for each in declaration.implementations},
    }
    for name, code in codes.items():
        unsure = _unsure(code)
        if unsure:
            yield ReviewPoint(ReviewKind.CLAIM, (".",), f"code of {name}: {', '.join(unsure)}")
    runs = tuple(runs)
    claims = {
        "open runs: only the implementation's own log says what was trained": [
            run.name for run in runs if not run.is_closed
        ],
        "runs that name no organization: only the submitter says who ran them": [
            run.name for run in runs if run.record.request.get("organization") == NO_ORGANIZATION
        ],
    }
    for sentence, names in claims.items():
        if names:
            yield ReviewPoint(ReviewKind.CLAIM, tuple(names), sentence)
    for entry in declaration.entries:
        ends = Counter(launch.status for launch in entry.launches if launch.status != FINISHED)
        if ends:
            counts = ", ".join(f"{count} {status}" for status, count in sorted(ends.items()))
            yield ReviewPoint(
                ReviewKind.LAUNCHES,
                (f"{entry.workload}/{entry.framework}",),
                f"launches that did not finish: {counts}",
            )
    if not declaration.entries:
        yield ReviewPoint(ReviewKind.LAUNCHES, (".",), "the declaration lists no launches")


def _unsure(code: Code) -> list[str]:
    """Why the code cannot simply be fetched."""
    reasons = (
        (code.address is None, "no address"),
        (code.commit is None, "no commit"),
        (code.modified is True, "modified files"),
        (code.modified is None, "unknown whether files were modified"),
    )
    return [reason for holds, reason in reasons if holds]


def _objections(
    objections: Mapping[str, Objection], withdrawals: Iterable[Withdrawal]
) -> Iterator[ReviewPoint]:
    """Open objections, and upheld ones whose result is not withdrawn."""
    withdrawn = [withdrawal.where for withdrawal in withdrawals]
    for name, objection in objections.items():
        where = objection.run or "."
        state = {
            ObjectionState.OPEN: f"is open: against {objection.against}",
            ObjectionState.UPHELD: "was upheld, but the result is not withdrawn",
        }.get(objection.state)
        stands = not any(PurePosixPath(where).is_relative_to(each) for each in withdrawn)
        if objection.state is ObjectionState.OPEN or (state and stands):
            sentence = f"{FOLDER}/…/{printable(name)} {state}"
            yield ReviewPoint(ReviewKind.OBJECTION, (where,), sentence)
