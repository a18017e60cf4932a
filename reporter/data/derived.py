"""Figures computed from other figures of the same run or from its counters; summaries do not hold
them."""

import math
from collections.abc import Sequence

from reporter.data.frames import FIGURES, Row, is_known
from reporter.data.text import one_line
from suite.bundle.layout import COUNTERS, STEPS
from suite.bundle.reader import Bundle
from suite.bundle.study_mark import StudyMark
from suite.errors import SuiteError
from suite.metrics.study import TOO_SHORT, run_times
from suite.metrics.summary import LOG, NOT_SPLIT

EVALUATION_S, FIRST_EPOCH_J, EVALUATION_J = (
    "evaluation_s",
    "first_epoch_energy_j",
    "evaluation_energy_j",
)

NOT_EVALUATED = "no epoch or no evaluation was finished"
OUTSIDE_EPOCHS = "(the run's total minus the sum of its epochs) / epochs to the last evaluation"
QUOTIENTS = (
    ("fetch_stall_share", "fetch_stall_s", "time_to_epoch_s", "ratio"),
    ("mean_power_w", "energy_per_epoch_j", "time_to_epoch_s", "W"),
    ("instructions_per_cpu_s", "instructions", "cpu_time_s", "1/s"),
)
PER_THOUSAND = (
    ("time_per_1000_samples_s", "time_to_epoch_s"),
    ("energy_per_1000_samples_j", "energy_per_epoch_j"),
    ("fetch_stall_per_1000_samples_s", "fetch_stall_s"),
)
"""Figures of an epoch over its thousands of training samples: epochs of data sets of different
sizes compare by them."""
COUNTED = (
    "l1d_access",
    "l1d_refill",
    "l1d_loads",
    "l1d_load_misses",
    "branches",
    "branch_mispredicts",
)
"""Events of counters.json whose counts a summary holds only as ratios."""
UNKNOWN = dict.fromkeys(("value", "spread", "low", "high"))


def counted_figures(run_id: str, counters: Row) -> list[Row]:
    """The counts of COUNTED over the training region; unknown with the bundle's reason. Raises
    KeyError, TypeError or ValueError if malformed."""
    events = counters["phases"].get("run", {}).get("events", {})
    rows = []
    for name in COUNTED:
        event = events.get(name, {})
        value, reason = event.get("count"), event.get("reason")
        row = _figure(run_id, name, "events", COUNTERS, 1.0)
        if value is None:
            rows.append({**row, "reason": one_line(reason or "the bundle gives no reason")})
        else:
            rows.append({**row, "value": float(value)})
    return rows


def _figure(run_id: str, name: str, unit: str, source: str, count: float) -> Row:
    """A row of the frame ``figures`` without a value."""
    named = {"run_id": run_id, "figure": name, "unit": unit, "source": source, "count": count}
    return {**dict.fromkeys(FIGURES), **named}


def study_figures(run_id: str, bundle: Bundle, mark: StudyMark | None) -> list[Row]:
    """The mean step of a run of a sweep after the warm-up, ``step_s``: sweeps are often shorter
    than an epoch. None of other runs."""
    if mark is None:
        return []
    row = _figure(run_id, "step_s", "s", STEPS, 0.0)
    try:
        times = run_times(bundle, mark.warm_up_steps)
    except SuiteError:
        return [{**row, "reason": TOO_SHORT}]
    if math.isnan(times.step_s):
        return [{**row, "reason": NOT_SPLIT}]
    return [
        {
            **row,
            "value": times.step_s,
            "count": float(times.counted_steps),
            "method": f"after {mark.warm_up_steps} warm-up steps",
        }
    ]


def cost_figures(
    run_id: str, trained_s: float | None, epochs: Sequence[Row], energy: Row | None
) -> list[Row]:
    """What a score is made from besides the epochs' figures: the time and energy of an evaluation,
    and the energy of the first epoch.

    An evaluation has the run's share that is in no epoch, over the number of epochs that were
    evaluated; one that was cut short was not. ``trained_s`` is the time from run_start to the last
    evaluation, ``energy`` the figure of the run's energy.
    """
    places = [place for place, epoch in enumerate(epochs, 1) if is_known(epoch["eval_accuracy"])]
    evaluated = epochs[: max(places, default=0)]
    time = _figure(run_id, EVALUATION_S, "s", LOG, float(len(evaluated)))
    if not evaluated or trained_s is None:
        time["reason"] = NOT_EVALUATED
    else:
        in_epochs_s = math.fsum(epoch["end_to_end_s"] for epoch in evaluated)
        time["value"], time["method"] = (trained_s - in_epochs_s) / len(evaluated), OUTSIDE_EPOCHS
    return [time, *(_energies(epochs, len(evaluated), energy) if energy is not None else ())]


def _energies(epochs: Sequence[Row], evaluated: int, energy: Row) -> list[Row]:
    energies = [epoch["energy_j"] for epoch in epochs]
    row = {**energy, **UNKNOWN, "count": float(evaluated)}
    first, around = {**row, "figure": FIRST_EPOCH_J, "count": 1.0}, {**row, "figure": EVALUATION_J}
    if is_known(energy["value"]) and evaluated and all(map(is_known, energies)):
        first["value"], around["value"] = (
            energies[0],
            (energy["value"] - math.fsum(energies)) / evaluated,
        )
        around["method"] = OUTSIDE_EPOCHS
    else:
        first["reason"] = around["reason"] = energy["reason"] or (
            "an epoch has no energy: it contains fewer than two readings"
            if evaluated
            else NOT_EVALUATED
        )
    return [first, around]


def derived_figures(figures: Sequence[Row]) -> list[Row]:
    """The quotients of a run's figures; unknown, with the reason, if either figure is."""
    by_name = {row["figure"]: row for row in figures}
    found = []
    for name, above, below, unit in QUOTIENTS:
        if above in by_name and below in by_name and name not in by_name:
            found.append(_quotient(name, by_name[above], by_name[below], unit))
    return found


def per_thousand_figures(figures: Sequence[Row], samples: int) -> list[Row]:
    """Time, energy and fetch stall of 1,000 training samples, of an epoch with ``samples``; unknown
    as those of the epoch are."""
    by_name = {row["figure"]: row for row in figures}
    return [
        {
            **by_name[of_epoch],
            "figure": name,
            "method": f"{of_epoch} x 1000 / {samples} samples",
            **{
                key: by_name[of_epoch][key] * 1000 / samples
                for key in ("value", "spread", "low", "high")
                if is_known(by_name[of_epoch][key])
            },
        }
        for name, of_epoch in PER_THOUSAND
        if of_epoch in by_name
    ]


def _quotient(name: str, above: Row, below: Row, unit: str) -> Row:
    row = {
        **above,
        **UNKNOWN,
        "figure": name,
        "unit": unit,
        "reason": above["reason"] or below["reason"],
        "method": (
            f"{above['figure']} / {below['figure']}"
            + (f"; {above['method']}" if above["method"] else "")
        ),
    }
    if not is_known(above["value"]) or not is_known(below["value"]):
        return row
    if above["count"] != below["count"]:
        of_means = f"a mean of {above['count']:g} values, {below['figure']} of {below['count']:g}"
        return {**row, "reason": f"{above['figure']} is {of_means}"}
    if below["value"] == 0:
        return {**row, "reason": f"{below['figure']} is 0"}
    return {**row, "value": above["value"] / below["value"], "reason": None}
