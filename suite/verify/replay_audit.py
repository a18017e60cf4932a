"""Audits one bundle: replays its first steps, and those after a training state; asks a float64
replay where they differ; and makes the record."""

import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from reference_impls import contract
from reference_impls.state_file import StateFile, state_name
from suite import __version__
from suite.bundle.layout import MANIFEST, RUN, STEPS
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.bundle.steps import StepRecords
from suite.catalog.audit_tolerances import FLOAT64, OUTSIDE, load_audit_tolerances
from suite.catalog.frameworks import (
    REFERENCE,
    Framework,
    is_own,
    load_framework,
    load_frameworks,
)
from suite.catalog.workloads import Workload
from suite.compliance.checker import round_of
from suite.datasets.locate import PreparedDataSet, find, synthetic_place
from suite.errors import FileError, SuiteError
from suite.files.digest import sha256
from suite.launch import environments
from suite.launch.child_environment import usable_cores
from suite.machine.system import board_name, cpu_model
from suite.metrics.audit_record import (
    RATE_ERROR,
    SCHEMA,
    AuditedBundle,
    AuditRecord,
    Replayer,
    StateAudit,
    rate_error_found,
)
from suite.metrics.epoch_replays import EpochReplays, figures, samples_of
from suite.metrics.replayed_losses import (
    MAX_STEPS,
    AuditVerdict,
    LossComparison,
    ReplayedLosses,
    compare_losses,
    recorded_losses,
)
from suite.verify.kept_state import HandedIn, KeptState, open_state
from suite.verify.replaying import Replayed, replay, replay_in_float64
from suite.verify.rounding import round_anew

DEFAULT_STEPS = 10
"""Later steps decide nothing: rounding has by then moved the losses by as much as a lie
(docs/auditing.md)."""

Report = Callable[[str], None]


@dataclass(frozen=True)
class AuditOptions:
    """Options of an audit; None: the default.

    ``framework`` trains the replay (default: the bundle's own if its environment exists, else the
    first one that does), for ``steps`` steps (default: 10, or all of a shorter run), on the data
    set in the folder ``data`` (default: that of `suite data prepare`). ``state`` is a training
    state that was handed in.
    """

    framework: str | None = None
    steps: int | None = None
    data: Path | None = None
    state: HandedIn | None = None


def audit(path: Path, options: AuditOptions, report: Report) -> AuditRecord:
    """Audit the sealed bundle at ``path``; raises SuiteError when it cannot be replayed. ``report``
    gets a line for each replay."""
    started_s = time.monotonic()
    bundle = Bundle(path)
    audited = _audited(bundle)
    if bundle.run().resumed is not None:
        raise SuiteError(
            f"{path} is a resumed run, whose first steps do not follow from its seed; audit a run"
            " that began with its initial weights."
        )
    original = read_request(bundle.run(), f"{path / RUN}")
    own = _trained_by(original)
    kept = None if options.state is None else open_state(bundle, original, options.state)
    prepared = _data_set_of_run(original, options.data)
    steps = _steps_to_replay(bundle, options.steps)
    workload = round_of(bundle.run()).workload(original.workload)
    request = _request(original, own, workload, prepared, steps)
    auditor = _Auditor(request, own, _framework(own, options.framework), report)
    losses, with_other_rate = auditor.losses(recorded_losses(bundle.steps(), steps))
    state = (
        None
        if kept is None
        else auditor.audit_state(kept, bundle.steps(), options.steps or DEFAULT_STEPS)
    )
    comparison = compare_losses(losses)
    return AuditRecord(
        schema=SCHEMA,
        suite_version=__version__,
        bundle=audited,
        replayer=auditor.replayer(prepared.contents.verified),
        steps=steps,
        losses=losses,
        with_other_rate=with_other_rate,
        comparison=comparison,
        rate_error_found=rate_error_found(losses, with_other_rate),
        reason=_reason(comparison, auditor),
        time_s=time.monotonic() - started_s,
        state=state,
    )


class _Auditor:
    """The replays of one request, made when they are needed."""

    def __init__(
        self, request: contract.Request, own: Framework | None, other: Framework, report: Report
    ) -> None:
        self._request, self._own, self._other, self._report = request, own, other, report
        self._version: str | None = None
        self._tolerances = load_audit_tolerances(request.workload)

    @property
    def has_referee(self) -> bool:
        """Both frameworks compute in float32, so that a float64 replay decides between them."""
        return all(one is None or one.serves_closed for one in (self._own, self._other))

    def losses(
        self, recorded: tuple[float, ...]
    ) -> tuple[ReplayedLosses, tuple[float, ...] | None]:
        """Both sides' losses; and where they agree, those at a wrong learning rate."""
        float64, plain = None, None
        if self._request.parallel.ranks > 1 and self.has_referee:
            float64, by_shares = self._in_float64(self._request)
            plain = None if by_shares else self._plain(self._request).losses
        else:
            plain = self._plain(self._request).losses
        losses = self._with_referee(self._request, recorded, plain, float64)
        if plain is None or compare_losses(losses).verdict is not AuditVerdict.AGREES:
            return losses, None
        rate = self._request.optimizer.base_learning_rate * (1 - RATE_ERROR)
        optimizer = self._request.optimizer._replace(base_learning_rate=rate)
        return losses, self._plain(self._request._replace(optimizer=optimizer)).losses

    def audit_state(self, kept: KeptState, steps: StepRecords, count: int) -> StateAudit:
        """The evaluation of a training state, the first ``count`` steps after it, one by one, and
        the whole epoch after it or its beginning, as far as the run has them."""
        window = kept.steps_after(steps, max(count, self._tolerances.window_steps))
        request = self._request._replace(steps=kept.step + window)
        whole = recorded_losses(steps, window, kept.step)
        found = self._plain(request, kept.epoch, kept.file)
        losses = self._with_referee(
            request._replace(steps=kept.step + len(whole[:count])),
            whole[:count],
            found.losses[:count],
            None,
            kept,
        )
        audited = kept.audited(losses, found.correct, None)
        if not whole or audited.verdict is AuditVerdict.CONTRADICTS:
            return audited
        return kept.audited(
            losses, found.correct, self._epoch_after(kept, steps, whole, request, found)
        )

    def _epoch_after(
        self,
        kept: KeptState,
        steps: StepRecords,
        recorded: tuple[float, ...],
        request: contract.Request,
        first: Replayed,
    ) -> EpochReplays:
        """The steps of an epoch against replays, of which the first began with the state as it
        is."""
        replays, epoch = [first], kept.epoch + 1
        # the state's own evaluation was repeated; that at the end is always made
        request = request._replace(eval_every_epochs=request.epochs + 1)
        with tempfile.TemporaryDirectory(prefix="audit-") as folder:
            for seed in range(1, self._tolerances.replays):
                moved = Path(folder) / state_name(kept.epoch)
                round_anew(StateFile(str(kept.file)), seed, moved)
                replays.append(self._plain(request, kept.epoch, moved))
        recorded_figures, replayed = figures(
            (recorded, kept.correct.get(epoch)),
            [(each.losses, each.correct.get(epoch)) for each in replays],
        )
        size, data = request.global_batch_size, request.data
        return EpochReplays(
            len(recorded),
            samples_of(steps, len(recorded), kept.step),
            min(len(recorded) * size, data.train_samples),
            data.eval_samples,
            recorded_figures,
            replayed,
        )

    def _with_referee(
        self,
        request: contract.Request,
        recorded: tuple[float, ...],
        plain: tuple[float, ...] | None,
        float64: tuple[float, ...] | None,
        start: KeptState | None = None,
    ) -> ReplayedLosses:
        """What is compared: with the float64 replay where the plain one does not agree."""
        own = OUTSIDE if self._own is None else self._own.name
        tolerances, wide = (
            self._tolerances.of(own, partner, len(recorded))
            for partner in (self._other.name, FLOAT64)
        )
        if not self.has_referee and None not in tolerances:
            float64 = plain  # the test framework computes in float64
        losses = ReplayedLosses(recorded, plain, float64, tolerances, wide)
        if (
            recorded
            and float64 is None
            and self.has_referee
            and compare_losses(losses).verdict is not AuditVerdict.AGREES
        ):
            losses = replace(losses, float64=self._in_float64(request, start)[0])
        return losses

    def replayer(self, data_verified: bool) -> Replayer:
        """What replayed."""
        return Replayer(
            self._other.name,
            self._version,
            self._request.threads,
            platform.machine(),
            cpu_model(),
            board_name(),
            data_verified,
        )

    def _plain(
        self, request: contract.Request, epoch: int = 0, start: Path | None = None
    ) -> Replayed:
        after = f", from the state after epoch {epoch}" if epoch else ""
        self._report(
            f"up to step {request.steps} in {self._other.title}, learning rate"
            f" {request.optimizer.base_learning_rate:g}{after}"
        )
        found = replay(request, self._other, start)
        self._version = found.framework_version
        return found

    def _in_float64(
        self, request: contract.Request, start: KeptState | None = None
    ) -> tuple[tuple[float, ...], bool]:
        self._report(f"{request.steps} steps in {self._other.title}, float64")
        return replay_in_float64(request, self._other, None if start is None else start.file)


def _audited(bundle: Bundle) -> AuditedBundle:
    """The bundle's identity; raises SuiteError where run.json or the step records are not those
    that the manifest seals."""
    bundle.expect_sealed("audit a run that `suite run` finished")
    lines = set(bundle.manifest())
    for name in (RUN, STEPS):
        if f"{sha256(bundle.file(name))}  {name}" not in lines:
            raise FileError(
                bundle.path / name,
                f"is not the file that {MANIFEST} seals; `suite check` says more",
            )
    run = bundle.run()
    request = read_request(run, f"{bundle.path / RUN}")
    return AuditedBundle(
        run_id=str(run.run_id),
        manifest_sha256=sha256(bundle.file(MANIFEST)),
        workload=request.workload,
        framework=request.framework,
        division=request.division,
        seed=request.seed,
        global_batch_size=request.global_batch_size,
        base_learning_rate=float(request.optimizer.base_learning_rate),
        ranks=request.parallel.ranks,
    )


def _trained_by(request: contract.Request) -> Framework | None:
    """The framework of the run, None for an implementation outside the checkout; raises SuiteError
    where no tolerance was measured."""
    if request.accumulation > 1:
        raise SuiteError(
            f"The run updated its parameters after every {request.accumulation} mini-batches, a"
            " replay after each: an audit cannot tell."
        )
    framework = load_framework(request.framework) if is_own(request.framework) else None
    is_measured = framework is None or framework.serves_closed
    if is_measured and request.precision != contract.FLOAT32:
        raise SuiteError(
            f"The run computed in {request.precision}. How far its losses may be from others' was"
            " measured for float32 only: an audit cannot tell."
        )
    return framework


def _framework(own: Framework | None, chosen: str | None) -> Framework:
    """The framework of the replay."""
    if chosen is not None:
        return load_framework(chosen)
    first = own or load_framework(REFERENCE)
    candidates = [first, *(one for one in load_frameworks() if one.serves_closed)]
    for candidate in candidates if first.serves_closed else (first,):
        try:
            environments.find(candidate)
        except SuiteError:
            continue
        return candidate
    raise SuiteError(
        "There is no environment of a framework", f"create it with `suite env create {first.name}`"
    )


def _data_set_of_run(request: contract.Request, directory: Path | None) -> PreparedDataSet:
    """The run's data set on this machine; raises SuiteError when it has another size than the
    request says."""
    name = request.data.name
    prepared = find(
        name, directory or (synthetic_place(name) if request.data.synthetic is True else None)
    )
    found, asked = prepared.contents, request.data
    if (found.classes, found.train_samples) != (asked.classes, asked.train_samples):
        raise SuiteError(
            f"The data set {name!r} in {prepared.directory} has {found.train_samples} training"
            f" samples of {found.classes} classes, the run's had {asked.train_samples} of"
            f" {asked.classes}; give the run's data set with --data DIR."
        )
    return prepared


def _steps_to_replay(bundle: Bundle, chosen: int | None) -> int:
    """The number of steps to replay: those asked for, at most as many as the run has."""
    if chosen is not None and not 1 <= chosen <= MAX_STEPS:
        raise SuiteError(f"--steps must be from 1 to {MAX_STEPS}, not {chosen}.")
    recorded = len(set(bundle.steps().step.tolist()))
    if recorded == 0:
        raise SuiteError(f"{bundle.path} has no step records; there is nothing to compare.")
    return min(chosen or DEFAULT_STEPS, recorded)


def _request(
    original: contract.Request,
    own: Framework | None,
    workload: Workload,
    prepared: PreparedDataSet,
    steps: int,
) -> contract.Request:
    """The run's request, on this machine's data set and processor, ending after ``steps`` steps."""
    data = original.data._replace(
        directory=str(prepared.directory), layout=prepared.definition.layout
    )
    if original.global_batch_size > data.train_samples:
        raise SuiteError(
            f"The run's mini-batches of {original.global_batch_size} samples are larger than its"
            " data set; `suite check` says more."
        )
    return original._replace(
        data=data,
        steps=steps,
        loading=contract.Loading(0, 1),
        drop_cache_every_epoch=False,
        accelerator="cpu",
        threads=workload.threads or usable_cores(),
        start=_start(original, workload),
        old_task=None,
        # requests of earlier versions do not name that of a variant
        precision=contract.FLOAT32 if own is None else own.precisions[0].value,
    )


def _start(original: contract.Request, workload: Workload) -> contract.Start | None:
    """Where the run began, with this machine's file of the checkpoint."""
    if original.start is None:
        return None
    if workload.start is None or workload.start.checkpoint != original.start.checkpoint:
        raise SuiteError(
            f"The run began with the checkpoint {original.start.checkpoint!r}, which is not that of"
            f" the workload {workload.name!r}; `suite check` says more."
        )
    return original.start._replace(path=str(workload.start.path))


def _reason(comparison: LossComparison, auditor: _Auditor) -> str | None:
    """Why the audit cannot tell; None where it can."""
    if comparison.verdict is not AuditVerdict.CANNOT_TELL:
        return None
    if not auditor.has_referee:
        return (
            "no tolerance was measured for this pair of implementations, and there is no float64"
            " replay for the open division's own arithmetic"
        )
    return "rounding alone moves the losses of this run as far from its first steps on"
