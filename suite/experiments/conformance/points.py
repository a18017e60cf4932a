"""Tests an implementation on generated data: builds it, trains it as `suite run` does, and reports
every point of the contract by name."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from reference_impls import contract
from reference_impls.state_file import StateFile, state_name
from reference_impls.training_state import digests
from suite.bundle import layout
from suite.bundle.log import Log, read_log
from suite.bundle.reader import Bundle
from suite.catalog.commands import train_command, working_folder
from suite.catalog.divisions import Division
from suite.catalog.frameworks import (
    MANIFEST,
    REFERENCE,
    Capability,
    Framework,
    load_framework,
    load_implementation,
)
from suite.catalog.workloads import load_workload
from suite.compliance.checker import check_bundle
from suite.compliance.registry import find_rule
from suite.datasets.prepare import generate_data_set
from suite.errors import SuiteError
from suite.execution.request import RunOptions, RunRequest
from suite.execution.resolve import resolve_options
from suite.experiments.one_run import run_one
from suite.files.counted import counted
from suite.launch.building import build_implementation
from suite.launch.child_environment import child_environment
from suite.launch.environments import Environment, find_environment
from suite.launch.first_records import write_first_records
from suite.launch.process import exit_report, output_lines
from suite.verify.probing import build_probe
from suite.verify.replaying import recorded_losses, replay_steps
from suite.verify.verdict import verify_implementations

SAMPLES, BATCH, EPOCHS, LIMIT = 640, 32, 2, 7
TIMEOUT_S = 600
SAME_LOSS = 1e-4
"""Two runs of one seed may sum in another order."""

SAME_STEPS = 1e-3
"""Two implementations round differently, in each of LIMIT steps."""

RULES = (
    "bundle-readable",
    "log-chain",
    "log-form",
    "log-agrees",
    "events-in-order",
    "log-clock",
    "clocks-agree",
    "initialisation-time",
    "time-accounted",
    "uncounted-time",
    "steps-complete",
    "steps-in-time",
    "ends-as-asked",
    "accuracy-counts",
    "losses-computed",
    "state-digests",
    "closed-trained",
    "arithmetic-as-requested",
    "memory-fits",
    "system-agrees",
)
"""Rules of a bundle that judge what an implementation wrote."""


@dataclass(frozen=True)
class ContractPoint:
    """A point of the contract: what it demands, and whether it is kept (None: not tested), with
    what was observed."""

    name: str
    demands: str
    passed: bool | None
    observed: str


Report = Callable[[ContractPoint], None]


@dataclass(frozen=True)
class Trained:
    """What a training left: the losses of its steps, its log, and why it failed; empty: it ended
    with exit code 0 and readable records. ``exit_code``: None where it did not end by itself."""

    losses: list[float] = field(default_factory=list)
    log: Log | None = None
    failure: str = ""
    exit_code: int | None = 0

    @property
    def described(self) -> str:
        """The number of its steps, and why it failed."""
        return "; ".join(filter(None, (f"{len(self.losses)} steps", self.failure)))

    @property
    def is_refusal(self) -> bool:
        """It ended with an error before its first step; neither a signal nor exit code 0 is a
        refusal."""
        return (self.exit_code or 0) > 0 and not self.losses

    @property
    def beginning(self) -> str:
        """Its first loss, or why there is none."""
        return repr(self.losses[0]) if self.losses else self.described


def check_conformance(
    folder: Path, workload: str, report: Report, output: Path | None = None
) -> tuple[ContractPoint, ...]:
    """Test every point; ``report`` gets each at once. A point that others need ends the test where
    it fails. ``output`` is a folder that keeps what the trainings write; None: nothing is kept."""
    points = []
    kept = tempfile.TemporaryDirectory(prefix="conformance-") if output is None else None
    with kept or nullcontext(str(output)) as scratch:
        for point in _points(folder, workload, Path(scratch)):
            report(point)
            points.append(point)
    return tuple(points)


def _points(folder: Path, workload: str, scratch: Path) -> Iterator[ContractPoint]:
    point = partial(
        ContractPoint,
        "manifest",
        "framework.toml names the commands, and the implementation's environment exists",
    )
    try:
        framework = load_implementation(folder)
        environment = find_environment(framework)
        yield point(True, framework.title)
        point = partial(
            ContractPoint,
            "build",
            "the programs that the implementation needs are installed, and it is built",
        )
        build_implementation(framework, environment)
        yield point(True, " ".join(framework.build) or "nothing to build")
    except SuiteError as error:
        yield point(False, str(error))
        return
    request = _request(folder, workload, scratch)
    demands = f"training for {EPOCHS} epochs on {SAMPLES} generated samples ends with exit code 0"
    try:
        result = run_one(request, allow_invalid=True)
    except SuiteError as error:
        yield ContractPoint("training", demands, False, str(error))
        return
    yield ContractPoint("training", demands, True, result.status)
    yield from _judged(result.path)
    yield from _repeated(framework, environment, request, scratch, Bundle(result.path))
    yield _states(framework, partial(_train, framework, environment), request.training, scratch)
    yield _probe(framework, environment, workload)


def _request(folder: Path, workload: str, scratch: Path) -> RunRequest:
    data = generate_data_set(load_workload(workload).data, SAMPLES, 1, scratch)
    options = RunOptions(
        Division.CLOSED,
        "generic",
        workload,
        REFERENCE,
        data=str(data.directory),
        epochs=EPOCHS,
        batch_size=BATCH,
        implementation=str(folder),
    )
    return resolve_options(options, scratch / "run")


def _judged(path: Path) -> Iterator[ContractPoint]:
    """The rules that judge what the implementation wrote, each with all of its checks."""
    findings = check_bundle(path).findings
    is_read = all(each.rule != "bundle-readable" for each in findings)
    for rule in map(find_rule, RULES):
        found = next((each for each in findings if each.rule == rule.id), None)
        observed = (
            ""
            if found is None
            else f"{found.file}: expected {found.expected}; observed {found.observed}"
        )
        # of a file that cannot be read, other rules say nothing
        passed = False if found is not None else True if is_read else None
        yield ContractPoint(rule.id, rule.sentence, passed, observed)


def _repeated(
    framework: Framework,
    environment: Environment,
    request: RunRequest,
    scratch: Path,
    bundle: Bundle,
) -> Iterator[ContractPoint]:
    """Short runs beside the first one: of a limit of steps, of the same and of another seed, and of
    a request that nobody can follow."""
    same = partial(ContractPoint, "same-seed", "the same seed gives the same first loss")
    try:
        first = float(bundle.steps().loss[0])
    except (SuiteError, IndexError):
        yield same(False, "the training left no step records of a finished epoch that can be read")
        return
    training = request.training._replace(steps=LIMIT)
    train = partial(_train, framework, environment)
    limited = train(training, scratch / "limit")
    yield _limit(limited)
    yield _like_reference(training, limited)
    yield same(
        bool(limited.losses) and abs(limited.losses[0] - first) <= SAME_LOSS * abs(first),
        f"{limited.beginning} and {first!r}",
    )
    other = train(training._replace(seed=request.training.seed + 1), scratch / "seed")
    yield ContractPoint(
        "other-seed",
        "another seed gives another first loss",
        bool(other.losses) and abs(other.losses[0] - first) > SAME_LOSS * abs(first),
        f"{other.beginning} and {first!r}",
    )
    refused = train(training._replace(model="no-such-model"), scratch / "model")
    yield _refusal(refused)


def _refusal(refused: Trained) -> ContractPoint:
    """Of a request for an unknown model."""
    return ContractPoint(
        "refusal",
        "for an unknown model the program ends with a nonzero exit code, before any step",
        refused.is_refusal,
        f"exit code {refused.exit_code}, {counted(len(refused.losses), 'step')}",
    )


def _limit(limited: Trained) -> ContractPoint:
    """Of a training whose limit of steps cuts its first epoch short."""
    has_stopped = limited.log is not None and limited.log.first("run_stop") is not None
    evaluations = [] if limited.log is None else limited.log.all("eval_accuracy")
    return ContractPoint(
        "step-limit",
        f"a request with steps = {LIMIT} trains {LIMIT} steps, does not evaluate the unfinished"
        " epoch, and ends with run_stop",
        len(limited.losses) == LIMIT and has_stopped and not evaluations and not limited.failure,
        f"{limited.described}, {counted(len(evaluations), 'evaluation')},"
        f" {'run_stop' if has_stopped else 'no run_stop'}",
    )


def _states(
    framework: Framework,
    train: Callable[..., Trained],
    training: contract.Request,
    scratch: Path,
) -> ContractPoint:
    point = partial(
        ContractPoint,
        "training-states",
        "--keep-states keeps the states whose digests are logged; --start-state continues from a"
        " state saved at the end of an epoch, and refuses one saved in the middle of an epoch",
    )
    if not framework.keeps_states:
        return point(
            None, f"the capabilities in {MANIFEST} do not name {Capability.STATES.value!r}"
        )
    folder = scratch / "states"
    folder.mkdir()
    whole = train(training, scratch / "kept", "--keep-states", str(folder))
    if whole.failure:
        return point(False, f"with --keep-states: {whole.failure}")
    logged = None if whole.log is None else whole.log.value("state_digests")
    try:
        kept = StateFile(str(folder / state_name(1)))
        if digests(kept.of_rank(0)) != logged:
            return point(False, f"{state_name(1)} does not have the logged digests {logged}")
    except contract.ContractError as error:
        return point(False, str(error))
    on = train(training, scratch / "on", "--start-state", str(folder / state_name(1)))
    if on.failure:
        return point(False, f"with --start-state: {on.failure}")
    train(training._replace(steps=LIMIT), scratch / "cut", "--keep-states", str(folder))
    within = train(training, scratch / "within", "--start-state", str(folder / state_name(1)))
    if not within.is_refusal:
        return point(
            False, f"a state saved in the middle of an epoch was not refused: {within.described}"
        )
    found, expected = on.losses, whole.losses[kept.progress.step :]
    is_same = len(found) == len(expected) > 0 and all(map(_is_near, found, expected))
    return point(is_same, f"first losses: {found[:2]} from the state, {expected[:2]} without it")


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= SAME_STEPS * abs(other)


def _like_reference(training: contract.Request, trained: Trained) -> ContractPoint:
    """The same steps in the reference: weights, order, normalisation and schedule are those of the
    seed and the request."""
    point = partial(
        ContractPoint,
        "first-steps",
        "the first losses match the reference's: weights, order and images follow from the seed",
    )
    try:
        expected = replay_steps(training, load_framework(REFERENCE)).losses
    except SuiteError as error:
        return point(None, f"the reference is not installed: {error.problem}")
    if not trained.losses:
        return point(False, trained.described)
    errors = [
        abs(one - other) / abs(other) for one, other in zip(trained.losses, expected, strict=False)
    ]
    largest = float(np.max(errors))  # NaN where one of them is
    is_alike = len(trained.losses) == len(expected) and largest <= SAME_STEPS
    return point(is_alike, f"largest difference {largest:.1e} over {len(errors)} steps")


def _train(
    framework: Framework,
    environment: Environment,
    training: contract.Request,
    folder: Path,
    *arguments: str,
) -> Trained:
    """Train without the harness's meters; the program's output is in the folder, as a run's is."""
    folder.mkdir()
    path = write_first_records(training._replace(output_directory=str(folder)))
    program, output = train_command(framework, environment.interpreter), folder / layout.OUTPUT
    try:
        with output.open("wb") as stream:
            done = subprocess.run(
                [*program, "--request", str(path), *arguments],
                cwd=working_folder(framework),
                env=child_environment(training.threads),
                stdout=stream,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT_S,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return Trained(failure=f"it did not finish within {TIMEOUT_S} s", exit_code=None)
    except OSError as error:
        return Trained(failure=f"it cannot be started: {error.strerror}", exit_code=None)
    failure = ""
    if done.returncode:
        failure = f"it {exit_report(done.returncode, output_lines(output), 1).reason}"
    try:
        losses = recorded_losses(folder / contract.steps_name(0))
        return Trained(losses, read_log(folder / contract.log_name(0)), failure, done.returncode)
    except (OSError, ValueError, KeyError, TypeError) as error:
        failure = failure or f"its records cannot be read: {error}"
        return Trained(failure=failure, exit_code=done.returncode)


def _probe(framework: Framework, environment: Environment, workload: str) -> ContractPoint:
    point = partial(
        ContractPoint,
        "probe",
        f"the implementation computes the workload's model (`suite verify-model {workload}`)",
    )
    try:
        reference = build_probe(
            load_framework(REFERENCE), find_environment(load_framework(REFERENCE))
        )
    except SuiteError as error:
        return point(None, f"the reference is not installed: {error.problem}")
    try:
        verdict = verify_implementations(
            load_workload(workload),
            reference,
            [build_probe(framework, environment)],
            lambda line: None,
        )
    except SuiteError as error:
        return point(False, str(error))
    missed = [
        f"{one.quantity} in {precision}" + (f" ({one.problem} {one.worst})" if one.problem else "")
        for precision, one in verdict.subjects[0].differences
        if not one.passed
    ]
    return point(
        verdict.passed,
        (
            f"missed: {', '.join(missed)}"
            if missed
            else f"{len(verdict.subjects[0].differences)} quantities"
        ),
    )
