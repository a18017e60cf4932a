"""Compares fresh runs with original ones: losses, accuracy and times, each confirmed, refuted or
undecided.

Times are compared in logarithms. The difference of the means has the standard error ``s * sqrt(1 /
m + 1 / n)`` for m originals and n fresh runs; ``s`` is the sample standard deviation of the fresh
runs alone, and Student's t has n - 1 degrees of freedom: that is exact where both scatter alike, it
serves a single original, and nobody widens the interval by originals that scatter. The same board
on another day may be a little faster or slower: times are refuted where the whole interval is
beyond the margin, and confirmed where all of it is within.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from suite.bundle.machines import OF_KIND, different_fields
from suite.bundle.reader import Bundle
from suite.bundle.replication_folder import AGAIN, MAX_RUNS, RECORD, fresh_runs, sealed_files
from suite.catalog.audit_tolerances import OUTSIDE, load_audit_tolerances, tolerances_name
from suite.catalog.frameworks import REFERENCE
from suite.catalog.load_limits import MAX_FOREIGN_SHARE, MAX_STOLEN_SHARE
from suite.catalog.reproduction import Reproduction, load_reproduction
from suite.errors import SuiteError
from suite.metrics.comparisons import Ratio, run_statistics, student_t_quantile
from suite.metrics.replayed_losses import AuditVerdict, ReplayedLosses, compare_losses
from suite.metrics.replication_record import (
    AccuraciesCompared,
    Comparisons,
    LossesCompared,
    MeasuredRun,
    ReplayedOriginal,
    Replication,
    ReplicationVerdict,
    TimesCompared,
    measure_for,
    read_replication,
)
from suite.metrics.sealed_record import SealedRecord

LATER, FIRST = "time_to_epoch_s", "first_epoch_s"
"""Figures of time: that of later epochs; of runs with a single epoch, that of the first."""
MAX_ADVISED = 100
CONFIRMED, REFUTED, UNDECIDED = (
    ReplicationVerdict.CONFIRMED,
    ReplicationVerdict.REFUTED,
    ReplicationVerdict.UNDECIDED,
)


def compare_runs(
    originals: Sequence[MeasuredRun],
    fresh: Sequence[MeasuredRun],
    replays: Sequence[ReplayedOriginal],
) -> Comparisons:
    """Judge the originals by the fresh runs; raises SuiteError where they are not runs of the same
    settings and seeds."""
    _refuse_others(originals, fresh)
    losses, times = _losses(originals, fresh, replays), _times(originals, fresh)
    accuracies = _accuracies(originals, fresh)
    verdict = _joint(losses.verdict, accuracies.verdict, times.verdict)
    return Comparisons(losses, accuracies, times, verdict)


def _joint(*verdicts: ReplicationVerdict) -> ReplicationVerdict:
    if REFUTED in verdicts:
        return REFUTED
    return CONFIRMED if all(verdict is CONFIRMED for verdict in verdicts) else UNDECIDED


def _refuse_others(originals: Sequence[MeasuredRun], fresh: Sequence[MeasuredRun]) -> None:
    runs = (*originals, *fresh)
    if len({run.settings_sha256 for run in runs}) > 1:
        raise SuiteError(
            "The runs have different requests: only seed, output directory, data directory, whether"
            " the data were verified, cache clearing, organization, platform and contract version"
            " may differ. Compare runs that agree in all other settings."
        )
    if not {run.seed for run in fresh} <= {run.seed for run in originals}:
        raise SuiteError("A fresh run has a seed that no original has.")
    if len({run.run_id for run in runs}) < len(runs) or len(
        {run.manifest_sha256 for run in runs}
    ) < len(runs):
        raise SuiteError("A run is listed twice.")


def needs_replay(
    originals: Sequence[MeasuredRun], fresh: Sequence[MeasuredRun]
) -> tuple[MeasuredRun, ...]:
    """The originals whose losses a fresh run of their seed does not repeat within the
    tolerances."""
    return tuple(
        original
        for original in originals
        if not all(_agrees(original, run) for run in fresh if run.seed == original.seed)
    )


def _agrees(original: MeasuredRun, fresh: MeasuredRun) -> bool:
    if (original.losses_sha256, original.steps) == (fresh.losses_sha256, fresh.steps):
        return True
    count = min(len(original.losses), len(fresh.losses))
    name = tolerances_name(original.framework)
    tolerances = load_audit_tolerances(original.workload).per_step(
        name, REFERENCE if name == OUTSIDE else name, count
    )
    losses = ReplayedLosses(
        original.losses[:count], fresh.losses[:count], None, tolerances, (None,) * count
    )
    return compare_losses(losses).verdict is AuditVerdict.AGREES


def _losses(
    originals: Sequence[MeasuredRun],
    fresh: Sequence[MeasuredRun],
    replays: Sequence[ReplayedOriginal],
) -> LossesCompared:
    digests = {(run.seed, run.losses_sha256) for run in originals}
    equal = sum((run.seed, run.losses_sha256) in digests for run in fresh)
    steps = min(len(run.losses) for run in (*originals, *fresh))
    different = needs_replay(originals, fresh)
    # version 0.2 replayed runs that need no replay now
    undecided = [*(replay.run_id for replay in replays), *(run.run_id for run in different)]
    if not undecided:
        return LossesCompared(CONFIRMED, None, steps, equal)
    verdicts = {replay.run_id: replay.verdict for replay in replays}
    contradicted = [
        run.run_id
        for run in different
        if verdicts.get(run.run_id) == AuditVerdict.CONTRADICTS.value
    ]
    if contradicted:
        return LossesCompared(
            REFUTED, f"a replay contradicts the losses of {contradicted[0]}", steps, equal
        )
    reason = (
        f"a fresh run's losses differ from those of {undecided[0]}, and no replay shows"
        " whether rounding explains that"
    )
    return LossesCompared(UNDECIDED, reason, steps, equal)


def _accuracies(
    originals: Sequence[MeasuredRun], fresh: Sequence[MeasuredRun]
) -> AccuraciesCompared:
    """A z test of two proportions, one-sided: only an original that is better than the fresh runs
    can be refuted."""
    runs, level = (*originals, *fresh), load_reproduction().accuracy_level
    shared = zip(*(run.accuracies for run in runs), strict=False)
    evaluated = [epoch for epoch, each in enumerate(shared, start=1) if None not in each]
    epoch = evaluated[-1] if evaluated else None
    if epoch is None:
        return AccuraciesCompared(
            UNDECIDED, "no epoch was evaluated in all runs", None, None, None, None
        )
    one, other = (
        math.fsum(run.accuracies[epoch - 1] or 0.0 for run in side) / len(side)
        for side in (originals, fresh)
    )
    pooled = (one * len(originals) + other * len(fresh)) / len(runs)
    samples = min(run.eval_samples for run in runs)
    error = math.sqrt(
        max(0.0, pooled * (1 - pooled)) / samples * (1 / len(originals) + 1 / len(fresh))
    )
    if one - other > _normal_quantile(1 - level) * error:
        reason = (
            f"the original's accuracy is {100 * (one - other):.2f} percentage points above the"
            f" fresh runs' accuracy, a difference of {(one - other) / error:.1f} standard errors"
        )
        return AccuraciesCompared(REFUTED, reason, epoch, one, other, error)
    return AccuraciesCompared(CONFIRMED, None, epoch, one, other, error)


def _normal_quantile(probability: float) -> float:
    from scipy.special import ndtri  # type: ignore[import-untyped]  # start-up: scipy

    return float(ndtri(probability))


def _times(originals: Sequence[MeasuredRun], fresh: Sequence[MeasuredRun]) -> TimesCompared:
    constants = load_reproduction()
    figure = (
        LATER if all(run.time_to_epoch_s is not None for run in (*originals, *fresh)) else FIRST
    )
    one, other = ([getattr(run, figure) for run in side] for side in (originals, fresh))
    differences = _differences(originals, fresh)
    is_known = None not in one and None not in other and len(other) > 1
    ratio = time_ratio(one, other, constants.level) if is_known else None
    verdict, reason = UNDECIDED, _why_incomparable(originals, fresh)
    if reason is None and ratio is None:
        reason = "a run has no finished epoch with a known time"
    elif reason is None and ratio is not None:
        verdict, reason = _judged(ratio, one, other, constants)
    excuse = _excuse(fresh, differences)
    if verdict is REFUTED and excuse is not None:
        verdict, reason = UNDECIDED, f"the original is faster, but {excuse}"
    return TimesCompared(
        verdict=verdict,
        reason=reason,
        figure=figure,
        **(dict.fromkeys(("ratio", "low", "high")) if ratio is None else vars(ratio)),
        level=constants.level,
        false_alarm=constants.false_alarm,
        same_board=_same_board(originals, fresh),
        differences=differences,
    )


def _excuse(fresh: Sequence[MeasuredRun], differences: Sequence[str]) -> str | None:
    """What else than an untrue original may explain slower fresh runs; None where nothing does."""
    if differences:
        return f"the runs differ in {' and '.join(differences)}, which may explain it"
    for run in fresh:
        if run.foreign_cpu_share is None:
            return f"the load of other programs during {run.run_id} is not known"
        if run.foreign_cpu_share > MAX_FOREIGN_SHARE:
            return (
                f"other programs took {run.foreign_cpu_share:.0%} of the machine during"
                f" {run.run_id}: repeat it on an idle machine"
            )
        if run.stolen_cpu_share is not None and run.stolen_cpu_share > MAX_STOLEN_SHARE:
            return (
                f"the hypervisor took {run.stolen_cpu_share:.0%} of the machine during"
                f" {run.run_id}: repeat it on a host with free cores"
            )
    return None


def verdict_on_times(
    originals: Sequence[float], fresh: Sequence[float], constants: Reproduction
) -> ReplicationVerdict:
    """The verdict on times of one kind of machine; two fresh runs at least, times above zero."""
    return _judged(time_ratio(originals, fresh, constants.level), originals, fresh, constants)[0]


def _judged(
    ratio: Ratio, originals: Sequence[float], fresh: Sequence[float], constants: Reproduction
) -> tuple[ReplicationVerdict, str | None]:
    """The verdict that follows from the interval, and the reason where it is undecided."""
    limit = 1 + constants.margin
    if len(fresh) < constants.min_runs:
        return UNDECIDED, f"{constants.min_runs} fresh runs are needed, there are {len(fresh)}"
    if ratio.high < 1 / limit:
        return REFUTED, None
    if ratio.low > limit:
        return (
            UNDECIDED,
            "the original is slower than the fresh runs: something slowed it, or the machine"
            " differs",
        )
    if 1 / limit <= ratio.low and ratio.high <= limit:
        return CONFIRMED, None
    return UNDECIDED, _too_wide(ratio, originals, fresh, constants)


def _too_wide(
    ratio: Ratio, originals: Sequence[float], fresh: Sequence[float], constants: Reproduction
) -> str:
    runs = advised_runs(originals, fresh, constants)
    more = (
        f"with this scatter {runs} fresh runs would decide it"
        if runs
        else f"with this scatter even {MAX_ADVISED} fresh runs would not decide it"
    )
    return (
        f"the interval, {ratio.low:.2f} to {ratio.high:.2f}, lies partly within and partly outside"
        f" the margin; {more}"
    )


def time_ratio(originals: Sequence[float], fresh: Sequence[float], level: float) -> Ratio:
    """The ratio of the originals' time to the fresh runs', geometric means, with its interval; two
    fresh runs at least, times above zero."""
    difference, scatter = _difference(originals, fresh)
    margin = (
        student_t_quantile(len(fresh) - 1, 1 - level)
        * scatter
        * math.sqrt(1 / len(originals) + 1 / len(fresh))
    )
    return Ratio(math.exp(difference), math.exp(difference - margin), math.exp(difference + margin))


def advised_runs(
    originals: Sequence[float], fresh: Sequence[float], constants: Reproduction
) -> int | None:
    """The number of fresh runs that decides, if they scatter as these do; None for more than
    MAX_ADVISED."""
    difference, scatter = _difference(originals, fresh)
    distance = abs(abs(difference) - math.log1p(constants.margin))
    for runs in range(max(constants.min_runs, len(fresh) + 1), MAX_ADVISED + 1):
        if (
            student_t_quantile(runs - 1, 1 - constants.level)
            * scatter
            * math.sqrt(1 / len(originals) + 1 / runs)
            < distance
        ):
            return runs
    return None


def _difference(originals: Sequence[float], fresh: Sequence[float]) -> tuple[float, float]:
    """The difference of the means in logarithms, and the sample standard deviation of the fresh
    runs."""
    ones, others = run_statistics(originals), run_statistics(fresh)
    return ones.log_mean - others.log_mean, math.sqrt(others.log_variance)


def _why_incomparable(originals: Sequence[MeasuredRun], fresh: Sequence[MeasuredRun]) -> str | None:
    """Why times of these machines are not compared; None for machines of one kind in one power
    mode."""
    here = asdict(fresh[0].machine)
    for run in (*fresh[1:], *originals):
        different = different_fields(asdict(run.machine), here, OF_KIND)
        if different:
            name = different[0]
            return (
                f"the machines are of different kinds: {name} is {asdict(run.machine)[name]!r} in"
                f" {run.run_id}, and {here[name]!r} in the first fresh run"
            )
    if here["board"] is None and _same_board(originals, fresh) is not True:
        return (
            "the machine does not state its model (virtual machines do not): times are compared"
            " only if the board digest shows the same machine"
        )
    return None


def _same_board(originals: Sequence[MeasuredRun], fresh: Sequence[MeasuredRun]) -> bool | None:
    digests = {run.machine.board_digest for run in (*originals, *fresh)}
    return None if None in digests else len(digests) == 1


def _differences(originals: Sequence[MeasuredRun], fresh: Sequence[MeasuredRun]) -> tuple[str, ...]:
    """What differs in software: versions, and the files of the implementation."""
    names = {
        "framework_version": "the framework's version",
        "implementation_sha256": "the implementation's files",
        "suite_version": "the suite's version",
    }
    runs = (*originals, *fresh)
    return tuple(
        words for name, words in names.items() if len({getattr(run, name) for run in runs}) > 1
    )


def _recomputed(folder: Path) -> Replication:
    """The record with the fresh runs measured again, and compared with its originals."""
    record = read_replication(folder / RECORD)
    runs = tuple(measure_for(record, Bundle(path)) for path in fresh_runs(folder)[:MAX_RUNS])
    compared = compare_runs(record.originals, runs, record.replays)
    return replace(record, runs=runs, comparisons=compared)


REPLICATION = SealedRecord(
    RECORD,
    AGAIN,
    sealed_files,
    _recomputed,
)
