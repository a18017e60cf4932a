"""Reviews a submission: checks it, draws an epoch of each run after the runs were handed in,
replays runs and models, and writes the signed record."""

import platform
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from reference_impls.contract import Request
from reference_impls.state_file import state_name
from suite import __version__
from suite.bundle.layout import MANIFEST, RUN
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.catalog.divisions import Division
from suite.catalog.frameworks import (
    REFERENCE,
    Framework,
    is_own,
    load_framework,
    load_frameworks,
    load_implementation,
)
from suite.catalog.seeds import refuse_other_files
from suite.catalog.workloads import Workload, load_workload
from suite.compliance.rules.reviews import RECORDS
from suite.compliance.rules.trained import trained_otherwise
from suite.compliance.submissions import check_submission
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.json_file import write_json
from suite.files.names import plain_name
from suite.files.redaction import machine_redactor
from suite.files.shell_command import shell_command
from suite.files.signature import expect_key, fingerprint
from suite.files.tree import files_below
from suite.launch.environments import find_environment
from suite.machine.system import cpu_model
from suite.metrics.review_record import (
    SCHEMA,
    DrawnRuns,
    Review,
    ReviewedModel,
    ReviewedRun,
    drawn_value,
    read_review,
)
from suite.submission.declaration import NAME
from suite.submission.evidence import maker_of, sign_evidence, signature_of
from suite.submission.folder_names import RunFolder, is_withdrawn, read_folders, review_path
from suite.submission.signature import allowed_signers
from suite.verify.kept_state import HandedIn, OtherState, draw_epoch
from suite.verify.probing import build_probe
from suite.verify.replay_audit import AuditOptions, Report, audit
from suite.verify.verdict import verify_implementations

NO_PROGRAM = "give the implementation's folder with --implementation"
NO_PROBE = "the implementation cannot be verified: it is for the open division only"
SEVERAL_RANKS = "the run had several ranks, and its own program replays on one rank only"
OTHER_MODEL = (
    "the implementation computes another model than the workload's, as the open division allows"
)
NO_STATE = (
    "ask the submitter for this run's training state {}, then give the state's folder with --states"
)
NOT_ITS_STATE = (
    "no file {} in the folder given with --states is the one that this run kept; ask its submitter"
    " for that file"
)


@dataclass(frozen=True)
class ReviewOptions:
    """``organization`` reviews and signs with ``key``. ``states`` is a folder with the training
    states that were handed in, ``data`` that of the data set (None: that of `suite data prepare`).
    ``implementations`` are the folders of those outside the checkout that made runs.
    """

    organization: str
    key: Path
    states: Path | None = None
    data: Path | None = None
    implementations: tuple[Path, ...] = ()


def review_submission(
    submission: Path, options: ReviewOptions, report: Report
) -> tuple[Path, Review]:
    """Review a submission; returns the record's file and the record. Repeated with ``states``, it
    keeps what was drawn.

    Raises SuiteError for a submission that does not comply, of which nothing is drawn.
    """
    started_s = time.monotonic()
    plain_name(options.organization, "--org")
    expect_key(options.key)
    folders = _complying(submission)
    file = review_path(submission, options.organization)
    manifests = {name: sha256(each.path / MANIFEST) for name, each in folders.items()}
    earlier = _earlier(file, options.key)
    before = () if earlier is None else earlier.draws
    drawn = _drawn(before, manifests)
    values = {name: str(drawn_value(drawn, each)) for name, each in manifests.items()}
    runs = {name: _not_replayed(folder, values[name]) for name, folder in folders.items()}
    record = _begun(submission, options.organization, drawn, runs)
    if drawn != before:  # a draw stands before anything is known of the runs
        _write(file, record, options.key)
    own = {each.name: each for each in map(load_implementation, options.implementations)}
    runs = {
        name: _replayed(folder, record.runs[name], values[name], options, own, report)
        for name, folder in folders.items()
    }
    known = _known_models(earlier, record)
    unknown = [each for each in folders.values() if _model(each) not in known]
    models = known | dict(_models(unknown, own, report))
    time_s = time.monotonic() - started_s
    record = replace(record, date=_now(), runs=runs, models=models, time_s=time_s)
    _write(file, record, options.key)
    return file, record


def _begun(
    submission: Path,
    organization: str,
    drawn: tuple[DrawnRuns, ...],
    runs: Mapping[str, ReviewedRun],
) -> Review:
    """The record on this machine before anything was replayed."""
    return Review(
        schema=SCHEMA,
        suite_version=__version__,
        organization=organization,
        date=_now(),
        architecture=platform.machine(),
        cpu_model=cpu_model(),
        submission="/".join(submission.resolve().parts[-2:]),
        draws=drawn,
        runs=runs,
        models={},
        time_s=0.0,
    )


def _complying(submission: Path) -> dict[str, RunFolder]:
    """The folders of the runs that were not withdrawn, by name.

    What is wrong with a review keeps nobody from reviewing: it is mended by reviewing again."""
    if not (submission / NAME).is_file():
        raise SuiteError(
            f"{submission} holds no submission (no {NAME}); give the folder of one organization."
        )
    verdict = check_submission(submission)
    broken = [*verdict.broken] + [
        f"{finding.rule}: {finding.expected} expected, {finding.observed} found"
        for _, finding in verdict.all_findings()
        if finding.is_invalid and finding.rule != RECORDS
    ]
    if broken:
        raise SuiteError(
            f"{submission} does not comply, so no epoch was drawn for the review"
            f" ({broken[0][:300]}); run `{shell_command('suite check', submission)}`, and review"
            " the submission when it complies."
        )
    runs = {
        folder.path.relative_to(submission).as_posix(): folder
        for folder in read_folders(submission)[0]
        if not is_withdrawn(folder.path, submission)
    }
    if not runs:
        raise SuiteError(f"Every run of {submission} is withdrawn; there is nothing to review.")
    return runs


def _earlier(file: Path, key: Path) -> Review | None:
    """The record of earlier calls with this key; what it did not sign may be the submitter's."""
    if not (file.exists() and signature_of(file).exists()):
        return None
    if maker_of(file, allowed_signers()).key != fingerprint(key):
        raise SuiteError(
            f"{file} was changed after it was signed, or was not signed with {key}; restore it, or"
            " remove it if it is not yours."
        )
    return read_review(file)


def _known_models(earlier: Review | None, record: Review) -> dict[str, ReviewedModel]:
    """The models that an earlier call with the same suite on the same machine found equivalent, for
    the same runs."""
    same = ("suite_version", "architecture", "cpu_model")
    if earlier is None or any(getattr(earlier, name) != getattr(record, name) for name in same):
        return {}
    before = {name: run.manifest_sha256 for name, run in earlier.runs.items()}
    changed = {
        name.rpartition("/")[0]
        for name, run in record.runs.items()
        if before.get(name) != run.manifest_sha256
    }
    known = earlier.models.items()
    return {name: each for name, each in known if each.is_equivalent and name not in changed}


def _drawn(before: tuple[DrawnRuns, ...], manifests: Mapping[str, str]) -> tuple[DrawnRuns, ...]:
    """The draws, with a new one for manifests that none of them lists."""
    new = {name: each for name, each in manifests.items() if drawn_value(before, each) is None}
    return (*before, DrawnRuns(_now(), secrets.token_hex(16), new)) if new else before


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _write(file: Path, record: Review, key: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        signed = Path(folder) / file.name
        write_json(signed, record)
        sign_evidence(signed, key)  # if that fails, the former record and its signature stay
        for each in (signed, signature_of(signed)):
            each.replace(file.with_name(each.name))


def _not_replayed(folder: RunFolder, value: str) -> ReviewedRun:
    manifest = sha256(folder.path / MANIFEST)
    try:
        epoch = draw_epoch(folder.path, value).epoch
    except SuiteError as error:
        return ReviewedRun(manifest, None, None, _published(error))
    return ReviewedRun(manifest, epoch, None, "it was not replayed yet")


def _published(error: SuiteError) -> str:
    return machine_redactor().text(str(error))[:1000]


def _replayed(
    folder: RunFolder,
    run: ReviewedRun,
    value: str,
    options: ReviewOptions,
    own: Mapping[str, Framework],
    report: Report,
) -> ReviewedRun:
    """The run with its audit from the drawn state if that was handed in, else of the first steps.

    An implementation outside the checkout, ``own`` by name, trains from the state, too."""
    drawn = "nothing drawn" if run.epoch is None else f"drawn epoch {run.epoch}"
    report(f"{'/'.join(folder.path.parts[-3:])}, {drawn}")
    handed_in: list[HandedIn] = []
    if options.states is not None and run.epoch is not None:
        # each run's state has the same name, and the log's digests tell whose it is
        found_below = files_below(options.states, state_name(run.epoch))
        handed_in = [HandedIn(state, run.epoch, value) for state in found_below]
    missing = NOT_ITS_STATE if handed_in else NO_STATE
    reason = run.reason if run.epoch is None else missing.format(state_name(run.epoch))
    place, left_out = _own_program(folder, own)
    for state in (*handed_in, None):
        audited = AuditOptions(None, None, options.data, state, None if state is None else place)
        try:
            found = audit(folder.path, audited, report)
        except OtherState:
            continue  # of another run, perhaps, that drew the same epoch
        except SuiteError as error:
            reason = _published(error)
        else:
            if state is not None:
                reason = left_out or found.reason
            return replace(run, audit=found, reason=reason)
    return replace(run, reason=reason)


def _own_program(folder: RunFolder, own: Mapping[str, Framework]) -> tuple[Path | None, str | None]:
    """The folder of the program outside the checkout that trains from the run's state, or why none
    does; neither for the checkout's."""
    if is_own(folder.framework):
        return None, None
    if folder.framework not in own:
        return None, NO_PROGRAM
    if _request(folder).parallel.ranks > 1:
        return None, SEVERAL_RANKS
    return Path(str(own[folder.framework].outside)), None


def _model(folder: RunFolder) -> str:
    return "/".join(folder.trained)


def _request(folder: RunFolder) -> Request:
    return read_request(Bundle(folder.path).run(), f"{folder.path / RUN}")


def _models(
    folders: Iterable[RunFolder], own: Mapping[str, Framework], report: Report
) -> Iterator[tuple[str, ReviewedModel]]:
    """The probe of every implementation that trained: the checkout's, and ``own`` by name."""
    served = {each.name: each for each in load_frameworks() if each.serves_closed} | dict(own)
    for place, runs in groupby(sorted(folders, key=_model), _model):
        workload, _, name = place.partition("/")
        if name not in served:
            reason = NO_PROBE if is_own(name) else NO_PROGRAM
            yield place, ReviewedModel(None, reason)
            continue
        try:
            model = _probed(load_workload(workload), served[name], tuple(runs), report)
        except SuiteError as error:
            model = ReviewedModel(None, _published(error))
        yield place, model


def _probed(
    workload: Workload, framework: Framework, runs: Sequence[RunFolder], report: Report
) -> ReviewedModel:
    """The probe of the implementation that made the runs. Open runs may have another model, if they
    say so."""
    for run in runs if framework.outside is not None else ():
        refuse_other_files(framework, Bundle(run.path).run().implementation, run.path)
    reference = load_framework(REFERENCE)
    verdict = verify_implementations(
        workload,
        build_probe(reference, find_environment(reference)),
        [build_probe(framework, find_environment(framework))],
        report,
    )
    if not verdict.passed and all(_says_other_model(run, workload) for run in runs):
        return ReviewedModel(None, OTHER_MODEL)
    return ReviewedModel(verdict.passed, None)


def _says_other_model(run: RunFolder, workload: Workload) -> bool:
    """Whether an open run was asked for, or logged, another training than the workload's."""
    request, log = _request(run), Bundle(run.path).log()
    is_other = request.model != workload.model or any(trained_otherwise(log, request))
    return request.division == Division.OPEN.value and is_other
