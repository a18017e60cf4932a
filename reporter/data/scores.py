"""Scores of entries: the time, and the energy, that a training to the target takes at the epochs of
the round's reference points.

The rulebook's chapter *Runs and scoring* defines them; its numbers are in rules/scoring.toml.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from reporter.data.derived import EVALUATION_J, EVALUATION_S, FIRST_EPOCH_J
from reporter.data.entry_scores import (
    MEASURED_J,
    RANKED,
    SCORE_J,
    SCORE_S,
    EntryScores,
    Score,
    Status,
)
from reporter.data.figure_fields import kind_of_sensor
from reporter.data.frames import ACCEPTED, WITHOUT, Row, is_known
from reporter.data.missed import is_short, why_unranked, why_unsettled, with_shares
from suite.catalog.divisions import Division
from suite.catalog.frameworks import known_frameworks
from suite.catalog.reference_points import ReferencePoint, frozen_points, local_batch_size
from suite.catalog.rounds import judging_round, load_round
from suite.catalog.scoring import Scoring, load_scoring
from suite.catalog.timings import CPU, Timing, possible_timings
from suite.catalog.workloads import Workload
from suite.errors import SuiteError
from suite.metrics.comparisons import Interval, run_statistics, score_interval
from suite.metrics.costs import TrainingCost, measured_score
from suite.metrics.expected_epochs import (
    ExpectedEpochs,
    RunEpochs,
    ScoredEpochs,
    expected_epochs,
    scored_epochs,
)
from suite.metrics.loss_band import why_other

PARTS = {
    SCORE_S: ("first_epoch_s", "time_to_epoch_s", EVALUATION_S),
    SCORE_J: (FIRST_EPOCH_J, "energy_per_epoch_j", EVALUATION_J),
}
"""Of each score, the figures of a run that it is made from: the first epoch, a later epoch, an
evaluation."""
COST_FIGURES = frozenset((*(part for parts in PARTS.values() for part in parts), "energy_j"))
UNITS = {SCORE_S: "s", SCORE_J: "J", MEASURED_J: "J"}
Z_95 = 1.959964
FiguresOfRuns = Mapping[str, Mapping[str, Row]]
"""The rows of each run's figures, by the run's name and the figure's."""
Epochs = Mapping[str, Sequence[Row]]
"""The rows of each run's epochs, by its name."""

OPEN = (
    "the open division is not ranked: the score assumes as many epochs as the reference needs, and"
    " no rule checks that an open entry needs as many"
)
SEVERAL_INSTRUMENTS = "the runs' energies come from different instruments"


@dataclass(frozen=True)
class NoReference:
    """Why an entry's setting has no expected epochs, and the status that the entry has without
    them."""

    reason: str
    status: Status = Status.UNRANKED


def score_entry(
    entry: Row,
    runs: Sequence[Row],
    figures: FiguresOfRuns,
    epochs_of: Epochs = MappingProxyType({}),
) -> EntryScores:
    """The scores of an entry from its runs; ``figures`` and ``epochs_of`` are those of each run by
    name."""
    scoring, instrument = load_scoring(), _instrument(runs, figures)
    expected, spent = _expected(entry, scoring), _measured_energy(entry, runs, figures, scoring)
    missing = {MEASURED_J: spent} if isinstance(spent, str) else {}
    energy_spent = spent if isinstance(spent, Score) else None
    unscored = EntryScores(
        Status.UNRANKED,
        None,
        missing=missing,
        instrument=instrument,
        measured_energy=energy_spent,
        sessions=_sessions(runs, scoring),
        contradicted_by=_contradicted_by(runs, figures),
    )
    if isinstance(expected, NoReference):
        missing |= dict.fromkeys(PARTS, expected.reason)
        return replace(unscored, status=expected.status, reason=expected.reason, missing=missing)
    status, reason = _status(entry, runs, epochs_of, scoring)
    own = [
        RunEpochs(int(run["epochs"]), bool(run["reached"]))
        for run in (() if is_short(entry) else runs)
    ]
    epochs = scored_epochs(expected, own, scoring.epochs_level)
    scores = {name: _score(name, runs, figures, epochs, scoring) for name in PARTS}
    if instrument is None and isinstance(scores[SCORE_J], Score):
        scores[SCORE_J] = SEVERAL_INSTRUMENTS
    missing |= {name: one for name, one in scores.items() if isinstance(one, str)}
    time, energy = (one if isinstance(one, Score) else None for one in scores.values())
    if time is None and status in (*RANKED, Status.PROVISIONAL):
        status, reason = Status.UNRANKED, missing[SCORE_S]
    said = replace(unscored, status=status, reason=reason, missing=missing)
    return replace(said, epochs=epochs, expected=expected, time=time, energy=energy)


def _sessions(runs: Sequence[Row], scoring: Scoring) -> dict[str, str] | None:
    """The session of each run, by its name; None for fewer sessions than tell their effects."""
    found = {run["run_id"]: run.get("boot") for run in runs}
    known_ones = {name: str(boot) for name, boot in found.items() if is_known(boot)}
    is_enough = len(set(known_ones.values())) >= scoring.min_sessions
    return known_ones if is_enough and len(known_ones) == len(found) else None


def _instrument(runs: Sequence[Row], figures: FiguresOfRuns) -> tuple[str, str] | None:
    """The tier and the coverage of the runs' energies, if they share them."""
    energies = [figures.get(run["run_id"], {}).get("energy_per_epoch_j") for run in runs]
    kinds = {kind_of_sensor(energy) if energy is not None else (None, None) for energy in energies}
    (tier, covers), *others = kinds
    return (str(tier), str(covers)) if not others and is_known(tier) and is_known(covers) else None


def _contradicted_by(runs: Sequence[Row], figures: FiguresOfRuns) -> str | None:
    rows = (figures.get(run["run_id"], {}).get("energy_j") or {} for run in runs)
    return next((str(name) for row in rows if is_known(name := row.get("contradicted_by"))), None)


def _measured_energy(
    entry: Row,
    runs: Sequence[Row],
    figures: FiguresOfRuns,
    scoring: Scoring,
) -> Score | str:
    """The energy to the target as measured, or why it is unknown: a run ends at the evaluation that
    reaches the target.

    Of an entry that is ranked in spite of a missed target, each run that reached it has an equal
    share of the energy of those that missed it.
    """
    if not any(run["reached"] for run in runs):
        return "no run reached a target"
    if not all(run["reached"] for run in runs) and (reason := why_unsettled(entry)):
        return reason
    energies = {run["run_id"]: figures.get(run["run_id"], {}).get("energy_j") for run in runs}
    for energy in energies.values():
        if energy is None or not is_known(energy["value"]):
            return (
                str(energy["reason"]) if energy is not None else "the run lacks the figure energy_j"
            )
    if _instrument(runs, figures) is None:
        return SEVERAL_INSTRUMENTS
    values_j = {
        name: float(energy["value"]) for name, energy in energies.items() if energy is not None
    }
    if min(values_j.values()) <= 0:
        return "a run has an energy of 0 J or less"
    by_run = with_shares(values_j, [run["run_id"] for run in runs if run["reached"]])
    sessions = _sessions([run for run in runs if run["run_id"] in by_run], scoring)
    floor = scoring.floor(sessions is not None)
    statistics = run_statistics(
        list(by_run.values()),
        fixed_variance((energies[run] for run in by_run), floor),
        _sessions_of_runs(sessions, by_run),
    )
    return Score(score_interval(statistics, scoring.level), by_run, statistics)


def _status(
    entry: Row, runs: Sequence[Row], epochs_of: Epochs, scoring: Scoring
) -> tuple[Status, str | None]:
    """The status of an entry whose setting has a reference point, and why it is not confirmed."""
    if entry["state"] != ACCEPTED:
        return Status.UNRANKED, "the entry is not accepted"
    unranked = why_unranked(entry)
    if unranked is not None:
        return Status.UNRANKED, unranked
    status, reason = (
        _short_status(entry, runs, epochs_of, scoring)
        if is_short(entry)
        else (Status.CONFIRMED, None)
    )
    if status in RANKED and len(runs) < scoring.min_runs:
        return (
            Status.PROVISIONAL,
            f"the entry has {len(runs)} of the {scoring.min_runs} runs needed for a rank",
        )
    return status, reason


def _short_status(
    entry: Row, runs: Sequence[Row], epochs_of: Epochs, scoring: Scoring
) -> tuple[Status, str | None]:
    """Ranked, at the reference's epochs, where every run learns as the reference does."""
    setting = int(entry["batch_size"]), float(entry["learning_rate"]), _local(entry) or 0
    for run in runs:
        losses = _mean_losses(epochs_of.get(run["run_id"], ()))
        other = why_other(losses, str(entry["workload"]), setting, scoring.rate_tolerance)
        if other is not None:
            return Status.UNRANKED, f"the short entry's losses differ from the reference's: {other}"
    return (
        Status.SHORT,
        f"{entry['short']:g} of {entry['max_epochs']:g} epochs trained; losses match the"
        " reference's",
    )


def _mean_losses(epochs: Sequence[Row]) -> dict[int, float]:
    """The mean loss of each whole epoch, by its number."""
    whole = max((epoch["steps"] for epoch in epochs if is_known(epoch["steps"])), default=None)
    return {
        int(epoch["epoch"]): float(epoch["mean_loss"])
        for epoch in epochs
        if epoch["steps"] == whole and is_known(epoch["mean_loss"])
    }


def _workload(entry: Row) -> Workload:
    return judging_round(entry["round"]).workload(str(entry["workload"]))


def _local(entry: Row) -> int | None:
    return local_batch_size(
        _workload(entry),
        int(entry["batch_size"]),
        int(entry["ranks"]),
        str(entry["normalisation"]),
    )


def _expected(entry: Row, scoring: Scoring) -> ExpectedEpochs | NoReference:
    """The expected epochs at the entry's setting, or why there are none."""
    workload, batch_size, rate = (
        str(entry["workload"]),
        int(entry["batch_size"]),
        float(entry["learning_rate"]),
    )
    try:
        definition = _workload(entry)
        points = (
            _points(str(entry["round"]), workload)
            if entry["own_data"] and is_known(entry["round"])
            else ()
        )
        local = _local(entry)
    except SuiteError:
        return NoReference("this version of the suite does not know the workload or the round")
    if definition.why_not_ranked is not None:
        return NoReference(definition.why_not_ranked)
    if definition.is_characterisation:
        return NoReference(
            "the workload has no established target: its entries are compared without a rank",
            Status.CHARACTERISATION,
        )
    if not entry["own_data"]:
        return NoReference("reference points apply only to the workload's own data set")
    if entry["accumulation"] != 1:
        return NoReference("reference points apply only without accumulation of mini-batches")
    if _is_split_only(entry):
        return NoReference(
            "scores on an accelerator need asynchronous timing; this entry used synchronised "
            "timing, which waits for the accelerator in every step"
        )
    if entry["division"] != Division.CLOSED.value:
        return NoReference(OPEN)
    found = expected_epochs(points, batch_size, rate, local, scoring.rate_tolerance)
    setting = _setting(batch_size, rate, local)
    return found or NoReference(_why_no_reference(entry, points, setting))


def _is_split_only(entry: Row) -> bool:
    """Whether the entry could have been in asynchronous timing, in which people run, and was not.

    Only the suite's own frameworks are known to: a vendor's implementation that waits in every step
    has no other timing.
    """
    framework = known_frameworks().get(str(entry["framework"]))
    waits_in_steps = entry["ranks"] != 1 or entry["recomputation"] != WITHOUT
    if (
        framework is None
        or entry["accelerator"] == CPU
        or entry["timing"] != str(Timing.SYNCHRONISED.value)
    ):
        return False
    return Timing.ASYNCHRONOUS in possible_timings(
        str(entry["accelerator"]), waits_in_steps, framework.asynchronous_on
    )


@functools.cache  # asked for every entry; their digests take long
def _points(of_round: str, workload: str) -> tuple[ReferencePoint, ...]:
    return frozen_points(load_round(of_round), workload)


def _setting(batch_size: int, rate: float, local: int | None) -> str:
    return f"batch size {batch_size}, rate {rate:g}" + (
        f", normalised over {local}" if local is not None else ""
    )


def _why_no_reference(entry: Row, points: Sequence[ReferencePoint], setting: str) -> str:
    if not points:
        return (
            f"round {entry['round']} has no reference point of this workload"
            if is_known(entry["round"])
            else "the run names no round"
        )
    settings = "; ".join(
        _setting(point.batch_size, point.base_learning_rate, point.local_batch_size)
        for point in points
    )
    return f"round {entry['round']} has no reference point at {setting}, only at {settings}"


def _cost(name: str, figures: Mapping[str, Row], epochs: ScoredEpochs) -> TrainingCost | str:
    """A run's cost, or why it is unknown."""
    rows = [figures.get(part) for part in PARTS[name]]
    for part, row in zip(PARTS[name], rows, strict=True):
        if row is None or not is_known(row["value"]):
            return str(row["reason"]) if row is not None else f"the run lacks the figure {part}"
    cost = TrainingCost(*(float(row["value"]) for row in rows if row is not None))
    value = min(cost.total(epochs.epochs), cost.total(epochs.reference))
    return (
        cost
        if 0 < value < math.inf
        else f"the run's figures give a score of {value:.3g} {UNITS[name]}, not a positive number"
    )


def _score(
    name: str,
    runs: Sequence[Row],
    figures: FiguresOfRuns,
    epochs: ScoredEpochs,
    scoring: Scoring,
) -> Score | str:
    """A score of an entry, or why it is unknown."""
    costs = dict[str, TrainingCost]()
    for run in runs:
        cost = _cost(name, figures.get(run["run_id"], {}), epochs)
        if isinstance(cost, str):
            return cost
        costs[run["run_id"]] = cost
    sessions = _sessions(runs, scoring)
    energies = () if name == SCORE_S else (figures[run].get("energy_j") for run in costs)
    statistics = measured_score(
        list(costs.values()),
        epochs,
        fixed_variance(energies, scoring.floor(sessions is not None)),
        _sessions_of_runs(sessions, costs),
    )
    values = {run: cost.total(epochs.epochs) for run, cost in costs.items()}
    return Score(score_interval(statistics, scoring.level), values, statistics)


def _sessions_of_runs(sessions: Mapping[str, str] | None, runs: Iterable[str]) -> list[str] | None:
    return None if sessions is None else [sessions[run] for run in runs]


def fixed_variance(energies: Iterable[Row | None], floor: float) -> float:
    """The variance that runs share: the floor; of energies also that of the instrument, whose
    interval is the run's widest."""
    halves = [_relative_half_width(energy) for energy in energies]
    return floor**2 + (max(halves, default=0.0) / Z_95) ** 2


def _relative_half_width(energy: Row | None) -> float:
    """Of a 95 % interval; infinite without one: nothing differs significantly by such an energy."""
    if (
        energy is None
        or not is_known(energy["value"])
        or not is_known(energy["high"])
        or not energy["value"]
    ):
        return math.inf
    return float((energy["high"] - energy["value"]) / abs(energy["value"]))


def time_interval(times_s: Sequence[float], scoring: Scoring) -> Interval | None:
    """The 95 % interval of the times to target, epochs included; None for fewer than two runs."""
    return (
        score_interval(run_statistics(times_s, scoring.session_floor**2), scoring.level)
        if len(times_s) > 1 and min(times_s) > 0
        else None
    )
