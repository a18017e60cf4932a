"""Runs to entries: runs that differ only in seed and time are repetitions of one entry."""

import hashlib
import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from reference_impls.contract import EQUAL, FLOAT32, LOCAL, WAITING
from reporter.data.entry_scores import MEASURED_J, SCORE_S, EntryScores
from reporter.data.figure_fields import kind_of_sensor
from reporter.data.frames import (
    ALIKE,
    BARE,
    ENTRIES,
    IDENTITY,
    ISOLATION,
    NODE_MACHINES,
    SETTINGS,
    WITHOUT,
    Row,
    grouped,
    is_known,
)
from reporter.data.machine_names import machine_name, short_title
from reporter.data.missed import TIME_TO_TARGET, missed_runs, times_with_shares, why_unranked
from reporter.data.scores import (
    COST_FIGURES,
    PARTS,
    SEVERAL_INSTRUMENTS,
    UNITS,
    score_entry,
    time_interval,
)
from reporter.data.shown_replications import AND
from reporter.data.words import submitter_title
from suite.bundle.layout import READINGS, STEPS
from suite.catalog.divisions import Division
from suite.catalog.request_defaults import PREFETCH
from suite.catalog.scoring import load_scoring

TRAINED, CODE = ("model_trained", "parameters", "optimizer_used", "precision"), "implementation"
"""Columns that tell what an implementation trains, and the one with the digest of its files."""

PRECISION, STRICT = "precision", FLOAT32
"""Column of the arithmetic's precision, and the value of a closed run that names none."""

USUAL: Mapping[str, tuple[object, str]] = {
    "normalisation": (LOCAL, "{}"),
    ISOLATION: (BARE, "isolation {}"),
    "recomputation": (WITHOUT, "{}"),
    "shares": (EQUAL, "shares by {}"),
    "accumulation": (1, "accumulation {}"),
    "timing": (WAITING, "timing {}"),
    "prefetch": (PREFETCH, "prefetch {}"),
    "resumed": (0, "resumed after {}"),
    "short": (0, "short, {}"),
    NODE_MACHINES: (ALIKE, "other nodes {}"),
}
"""Columns of which the usual value is no part of an entry's id, and how another one is written
there."""

DECLARED = ("planned_runs", "launches", "launches_accepted")
COUNTED = ("runs", "reached", *DECLARED)
"""Columns of an entry that are not those of its first run."""

SHARED = (
    "nonce_kind",
    "is_nominated",
    "audited_in",
    "witnessed_by",
    "signed_by",
    "board",
    "code_is_public",
)
"""Columns in which the runs of an entry may differ."""


def entry_id(run: Row) -> str:
    """An id that does not depend on where or when the site is built: ten hexadecimal digits of the
    identity's SHA-256.

    What was trained is the same for all closed entries of a workload but for their precision. Where
    the code is not known, it is no part of the id; a closed entry's float32, local normalisation,
    equal shares, no recomputation, an update after every mini-batch, synchronised timing, the usual
    prefetching, no isolation, a run that was not resumed and nodes that are alike are none either,
    so that entries from before there were others keep their ids.
    """
    left_out = ("other_settings", *TRAINED, CODE, *USUAL)
    identity = [run[name] for name in IDENTITY if name not in left_out] + [run["state"]]
    identity += [
        form.format(run[name]) for name, (usual, form) in USUAL.items() if run[name] != usual
    ]
    if run["division"] == Division.OPEN.value:
        identity += [run[name] for name in TRAINED]
    elif run[PRECISION] != STRICT:
        identity.append(run[PRECISION])
    if is_known(run[CODE]):
        identity.append(run[CODE])
    if run.get(SETTINGS):
        identity.append(sorted(run[SETTINGS].items()))
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:10]


def make_entries(runs: Sequence[Row]) -> list[Row]:
    """One row per entry, sorted by identity."""
    entries = [_entry(members) for members in grouped(runs, _entry_id).values()]
    return sorted(entries, key=lambda entry: [str(entry[name]) for name in (*IDENTITY, "state")])


def _entry_id(run: Row) -> str:
    return str(run["entry_id"])


def _entry(members: Sequence[Row]) -> Row:
    shared = {name: members[0][name] for name in ENTRIES if name not in COUNTED}
    reached = (
        None
        if members[0]["reached"] is None
        else sum(bool(member["reached"]) for member in members)
    )
    evidence = {name: _shared(members, name) for name in SHARED}
    evidence["audited_by"] = _auditors(members)
    return {**shared, **_declared(members), **evidence, "runs": len(members), "reached": reached}


def _declared(members: Sequence[Row]) -> Row:
    """What the submissions of the runs declare, together: an organization may submit two boards of
    one kind, whose runs are one entry. None where one of them does not declare it. Launches need
    to be accepted in submissions whose unfinished ones outnumber their planned runs."""
    of_each = {PurePath(str(member.get("path"))).parent: member for member in members}.values()
    found = {name: [each.get(name) for each in of_each] for name in DECLARED}
    accepted = [
        each.get("launches_accepted")
        for each in of_each
        if (each.get("launches") or 0) > 2 * (each.get("planned_runs") or 0)
    ]
    found["launches_accepted"] = accepted or found["launches_accepted"]
    return {
        name: (
            None if None in values else all(values) if name == "launches_accepted" else sum(values)
        )
        for name, values in found.items()
    }


def _auditors(members: Sequence[Row]) -> str | None:
    """Who audited every run."""
    of_runs = [set(str(each["audited_by"] or "").split(AND)) for each in members]
    return AND.join(sorted(set.intersection(*of_runs))) or None


def make_scores(
    entries: Iterable[Row], runs: Iterable[Row], figures: Iterable[Row], epochs: Iterable[Row] = ()
) -> dict[str, EntryScores]:
    """The scores of every entry, by entry id; without ``epochs`` no short entry is ranked."""
    of_runs: dict[str, dict[str, Row]] = {}
    for figure in figures:
        if figure["figure"] in COST_FIGURES:
            of_runs.setdefault(figure["run_id"], {})[figure["figure"]] = figure
    epochs_of = grouped(epochs, lambda epoch: str(epoch["run_id"]))
    members = grouped(runs, _entry_id)
    return {
        entry["entry_id"]: score_entry(entry, members[entry["entry_id"]], of_runs, epochs_of)
        for entry in entries
    }


def make_score_figures(scores: Mapping[str, EntryScores]) -> Iterator[Row]:
    """A row of entry_figures for each score of each entry, and for its measured energy, known or
    not."""
    for entry, of_entry in scores.items():
        for name in (*PARTS, MEASURED_J):
            yield _score_figure(entry, name, of_entry)


def _score_figure(entry: str, name: str, scores: EntryScores) -> Row:
    score = scores.score(name)
    row = {
        "entry_id": entry,
        "figure": name,
        "unit": UNITS[name],
        "runs": 0,
        "source": STEPS if name == SCORE_S else READINGS,
    }
    if score is None:
        return {**row, "reason": scores.missing[name]}
    values = list(score.by_run.values())
    row |= {
        "value": score.interval.value,
        "runs": len(values),
        "low": min(values),
        "high": max(values),
        "interval_low": score.interval.low,
        "interval_high": score.interval.high,
    }
    if len(values) > 1:
        row |= {"spread": statistics.stdev(values), "spread_over": "runs"}
    return row


def make_entry_figures(runs: Sequence[Row], figures: Iterable[Row]) -> list[Row]:
    """Every figure of every entry: the mean over its runs. It is unknown unless every run has it,
    so that failed runs are not left out of a mean, and an energy or a power also where the runs'
    instruments differ in tier or coverage.

    The time to target of an entry that is ranked in spite of a missed target is the expected one
    (reporter.data.missed).
    """
    entry_of = {run["run_id"]: run["entry_id"] for run in runs}
    settled = {
        entry["entry_id"]
        for entry in make_entries(runs)
        if missed_runs(entry) and why_unranked(entry) is None
    }
    runs_of = grouped(runs, _entry_id)
    groups = grouped(figures, lambda row: (entry_of[row["run_id"]], str(row["figure"])))
    return [
        (
            _expected(entry, members, runs_of[entry])
            if name == TIME_TO_TARGET and entry in settled
            else _combine(entry, name, members)
        )
        for (entry, name), members in groups.items()
    ]


def _expected(entry: str, members: Sequence[Row], runs: Sequence[Row]) -> Row:
    """The expected time to target of an entry with runs that missed it; unknown as any other figure
    where their time is unknown."""
    times_s = times_with_shares(
        runs,
        {
            member["run_id"]: float(member["value"])
            for member in members
            if is_known(member["value"])
        },
    )
    if times_s is not None:
        members = [{**members[0], "value": time_s} for time_s in times_s]
    return _combine(entry, TIME_TO_TARGET, members)


def _combine(entry: str, name: str, members: Sequence[Row]) -> Row:
    values = [float(member["value"]) for member in members if is_known(member["value"])]
    first, missing = members[0], [member for member in members if not is_known(member["value"])]
    row: Row = {
        **dict.fromkeys(("value", "spread", "spread_over", "low", "high", "reason")),
        "entry_id": entry,
        "figure": name,
        "unit": first["unit"],
        "runs": len(values),
        "source": first["source"],
        **{each: _shared(members, each) for each in ("covers", "tier")},
        "attached": max(filter(is_known, (each["attached"] for each in members)), default=None),
    }
    if missing:
        of = f"{len(missing)} of {len(members)} runs: " if values else ""
        return {**row, "reason": f"{of}{missing[0]['reason'] or 'no reason given'}"}
    if len(set(map(kind_of_sensor, members))) > 1:
        return {**row, "reason": SEVERAL_INSTRUMENTS}
    mean = math.fsum(values) / len(values)
    row |= {"value": mean, "low": min(values), "high": max(values)}
    if name == TIME_TO_TARGET and (around := time_interval(values, load_scoring())):
        row |= {"interval_low": around.low, "interval_high": around.high}
    if len(values) > 1:
        squares = math.fsum((value - mean) ** 2 for value in values)
        return {**row, "spread": math.sqrt(squares / (len(values) - 1)), "spread_over": "runs"}
    return {
        **row,
        "spread": first["spread"],
        "spread_over": "the run's values" if is_known(first["spread"]) else None,
    }


def _shared(members: Sequence[Row], column: str) -> str | None:
    first = members[0][column]
    return first if all(member[column] == first for member in members[1:]) else None


def make_labels(entries: Sequence[Row]) -> dict[str, str]:
    """A short label per entry: framework, machine, and the properties in which it differs from
    entries that share both."""
    groups = grouped(entries, lambda entry: (entry["framework"], machine_name(entry)))
    labels = {}
    for alike in groups.values():
        differing = [
            name for name in _LABEL_PROPERTIES if len({str(entry[name]) for entry in alike}) > 1
        ]
        for entry in alike:
            names = str(entry["implementation_name"]), short_title(entry)
            words = (describe_property(name, entry[name]) for name in differing)
            labels[str(entry["entry_id"])] = " · ".join((*names, *words))
    return labels


_LABEL_PROPERTIES = (
    "workload",
    "data",
    "nodes",
    "ranks",
    "collective",
    "isolation",
    "other_settings",
    "normalisation",
    "shares",
    "recomputation",
    "batch_size",
    "accumulation",
    "timing",
    "threads",
    "workers",
    "prefetch",
    "power_mode",
    "accelerator",
    "learning_rate",
    "framework_version",
    "cpu_model",
    "gpu",
    NODE_MACHINES,
    "storage_medium",
    "organization",
    "availability",
    "division",
    "state",
    "round",
    "max_epochs",
    "suite_version",
    *TRAINED,
    CODE,
    "resumed",
    "short",
)


WITHOUT_NUMBER = {"resumed": "not resumed", "short": "whole schedule"}
"""Words for the 0 of a run without such an epoch."""


def describe_property(name: str, value: object) -> str:
    """One property of an entry in words: "2 workers", "batch 128", "storage medium unknown"."""
    if not is_known(value):
        return f"{name.replace('_', ' ')} unknown"
    formats = {
        "nodes": "{} node",
        "ranks": "{} rank",
        "workers": "{} worker",
        "threads": "{} thread",
        "prefetch": "prefetch {}",
        "batch_size": "batch {}",
        "learning_rate": "rate {}",
        "max_epochs": "{} epochs at most",
        "suite_version": "suite {}",
        "parameters": "{} parameters",
        "implementation": "code {}",
        "normalisation": "{} normalisation",
        "shares": "shares: {}",
        "isolation": "isolation {}",
        "recomputation": "recomputation: {}",
        "resumed": "resumed after epoch {}",
        "short": "limited to {} epochs",
        "accumulation": "{} mini-batches an update",
        "timing": "{} timing",
        NODE_MACHINES: "other nodes: {}",
    }
    if name == "organization":
        return submitter_title(str(value))
    if name == "other_settings" and value == WITHOUT:
        return "no other settings"
    if value == 0 and name in WITHOUT_NUMBER:
        return WITHOUT_NUMBER[name]
    shown = f"{value:.10g}" if isinstance(value, int | float) else value
    text = formats.get(name, "{}").format(shown)
    return f"{text}s" if name in ("nodes", "ranks", "threads", "workers") and value != 1 else text


def entry_differences(
    entries: Sequence[Row], left_out: Iterable[str] = ()
) -> dict[str, tuple[tuple[str, Any], ...]]:
    """For each entry id, the properties, as (name, value), in which the entries differ: framework
    and device first, without ``left_out``."""
    skipped = set(left_out)
    names = [
        name
        for name in ("framework", "device", *_LABEL_PROPERTIES)
        if name not in skipped and len({str(entry[name]) for entry in entries}) > 1
    ]
    return {
        str(entry["entry_id"]): tuple((name, entry[name]) for name in names) for entry in entries
    }
