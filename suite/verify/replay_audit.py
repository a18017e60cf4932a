"""Audits one bundle: replays its first steps, and those after a training state; asks a float64
replay where they differ; and makes the record."""

import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from reference_impls import contract
from reference_impls.state_file import StateFile, state_name
from suite import __version__
from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.bundle.steps import StepRecords
from suite.catalog.audit_tolerances import FLOAT64, OUTSIDE, load_audit_tolerances
from suite.catalog.frameworks import Framework
from suite.catalog.rounds import judging_round
from suite.errors import SuiteError
from suite.files.redaction import machine_redactor
from suite.machine.system import board_name, cpu_model
from suite.metrics.audit_record import (
    RATE_ERROR,
    SCHEMA,
    AuditRecord,
    Replayer,
    StateAudit,
    rate_error_found,
)
from suite.metrics.epoch_replays import EpochReplays, replay_figures, samples_of
from suite.metrics.replayed_losses import (
    MIN_DECISIVE_STEPS,
    AuditVerdict,
    LossComparison,
    ReplayedLosses,
    compare_losses,
    recorded_losses,
)
from suite.verify.audited_run import (
    DEFAULT_STEPS,
    Program,
    audited_bundle,
    data_set_of_run,
    own_program,
    refuse_other_training,
    replaying_framework,
    request_here,
    steps_to_replay,
    trained_by,
)
from suite.verify.kept_state import HandedIn, KeptState, open_state
from suite.verify.replaying import Replayed, TrainedEpoch, replay_in_float64, replay_steps
from suite.verify.rounding import round_anew

MEND = (
    "The run's own program could not replay it, so the run counts as not audited: its submitter"
    " must fix the program or submit the run again."
)
Report = Callable[[str], None]


@dataclass(frozen=True)
class AuditOptions:
    """Options of an audit; None: the default.

    ``framework`` trains the replay (default: the bundle's own if its environment exists, else the
    first one that does), for ``steps`` steps (default: 10, or all of a shorter run), on the data
    set in the folder ``data`` (default: that of `suite data prepare`). ``state`` is a training
    state that was handed in, from which the program in the folder ``implementation``, which made
    the run, trains as in the run, too.
    """

    framework: str | None = None
    steps: int | None = None
    data: Path | None = None
    state: HandedIn | None = None
    implementation: Path | None = None


def audit(path: Path, options: AuditOptions, report: Report) -> AuditRecord:
    """Audit the sealed bundle at ``path``; raises SuiteError when it cannot be replayed. ``report``
    gets a line for each replay."""
    started_s = time.monotonic()
    bundle = Bundle(path)
    audited = audited_bundle(bundle)
    original = read_request(bundle.run(), f"{path / RUN}")
    own = trained_by(original)
    kept = None if options.state is None else open_state(bundle, original, options.state)
    prepared = data_set_of_run(bundle, original, options.data)
    steps = steps_to_replay(bundle, options.steps)
    workload = judging_round(bundle.run().round).workload(original.workload)
    request = request_here(original, own, workload, prepared, steps)
    as_in_the_run = original._replace(data=request.data, start=request.start)
    program = own_program(bundle, options.implementation, as_in_the_run)
    auditor = _Auditor(request, own, replaying_framework(own, options.framework), report, program)
    losses, with_other_rate = auditor.losses(recorded_losses(bundle.steps(), steps))
    state = (
        None
        if kept is None
        else auditor.audit_state(kept, bundle.steps(), options.steps or DEFAULT_STEPS)
    )
    comparison = compare_losses(losses)
    record = AuditRecord(
        schema=SCHEMA,
        suite_version=__version__,
        bundle=audited,
        replayer=auditor.replayer(prepared.contents.verified),
        steps=steps,
        losses=losses,
        with_other_rate=with_other_rate,
        comparison=comparison,
        rate_error_found=rate_error_found(losses, with_other_rate),
        reason=_reason(comparison, auditor) or auditor.unreplayed,
        time_s=time.monotonic() - started_s,
        state=state,
    )
    if record.verdict is AuditVerdict.CONTRADICTS and auditor.has_referee:
        refuse_other_training(bundle, original)
    return record


class _Auditor:
    """The replays of one request, made when they are needed."""

    def __init__(
        self,
        request: contract.Request,
        own: Framework | None,
        other: Framework,
        report: Report,
        program: Program | None,
    ) -> None:
        self._request, self._own, self._other, self._report = request, own, other, report
        self._program = program
        self.unreplayed: str | None = None
        """How the run's own program ended before it had trained the drawn epoch."""
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
        float64, by_shares = None, False
        if self._request.parallel.ranks > 1 and self.has_referee:
            float64, by_shares = self._in_float64(self._request)
        plain = None if by_shares else self._plain(self._request).losses
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
        audited = kept.audited(losses, found.correct)
        if not whole or audited.verdict is AuditVerdict.CONTRADICTS:
            return audited
        after = self._epoch_after(kept, steps, whole, request, found)
        return kept.audited(losses, found.correct, *after)

    def _epoch_after(
        self,
        kept: KeptState,
        steps: StepRecords,
        recorded: tuple[float, ...],
        request: contract.Request,
        first: Replayed,
    ) -> Iterator[EpochReplays]:
        """The steps of an epoch against replays, of which the first began with the state as it is;
        then those of the run's own program against the same replays, where it is here."""
        replays, epoch = [first], kept.epoch + 1
        # the state's own evaluation was repeated; that at the end is always made
        request = request._replace(eval_every_epochs=request.epochs + 1)
        with tempfile.TemporaryDirectory(prefix="audit-") as folder:
            for seed in range(1, self._tolerances.replays):
                moved = Path(folder) / state_name(kept.epoch)
                round_anew(StateFile(str(kept.file)), seed, moved)
                replays.append(self._plain(request, kept.epoch, moved))
        size, data, window = request.global_batch_size, request.data, len(recorded)
        samples = samples_of(steps, window, kept.step)
        sides = [TrainedEpoch(recorded, samples, kept.correct.get(epoch))]
        if self._program is not None:
            self._report(
                f"training epoch {epoch} with the run's own program, from the state after epoch"
                f" {kept.epoch}"
            )
            try:
                sides.append(self._program(kept.file, epoch, window))
            except SuiteError as error:  # the other replays stand
                self.unreplayed = machine_redactor().text(f"{error} {MEND}")[:1000]
        for side in sides:
            own, replayed = replay_figures(
                (side.losses, side.correct),
                [(each.losses[: len(side.losses)], each.correct.get(epoch)) for each in replays],
            )
            expected = min(window * size, data.train_samples)
            yield EpochReplays(window, side.samples, expected, data.eval_samples, own, replayed)

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
            self._tolerances.per_step(own, partner, len(recorded))
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
            f"training up to step {request.steps} in {self._other.title}, learning rate"
            f" {request.optimizer.base_learning_rate:g}{after}"
        )
        found = replay_steps(request, self._other, start)
        self._version = found.framework_version
        return found

    def _in_float64(
        self, request: contract.Request, start: KeptState | None = None
    ) -> tuple[tuple[float, ...], bool]:
        self._report(f"{request.steps} steps in {self._other.title}, float64")
        return replay_in_float64(request, self._other, None if start is None else start.file)


def _reason(comparison: LossComparison, auditor: _Auditor) -> str | None:
    """Why the audit cannot tell; None where it can."""
    if comparison.verdict is not AuditVerdict.CANNOT_TELL:
        return None
    if not auditor.has_referee:
        return (
            "no tolerance was measured for this pair of implementations, and a float64 replay can"
            " decide only if both compute in float32"
        )
    return (
        f"fewer than {MIN_DECISIVE_STEPS} of the compared steps can decide: too few were compared,"
        " or rounding alone changes their losses too much"
    )
