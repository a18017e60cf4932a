"""What any two entries of a board are compared with, as JSON: for a reader who picks a pair, on a
page or with a program.

The statistics of each entry suffice for every pair; ``pairs`` has the verdicts themselves on boards
that are small enough.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from reporter.board.best_settings import BestSetting, best_settings
from reporter.board.boards import Leaderboard, LeaderboardRow
from reporter.board.comparison import Comparable, comparables, compare_pair, verdict_fields
from reporter.data.entry_scores import SCORE_J, SCORE_S
from reporter.data.frames import Row, is_known
from reporter.pages.shared import Page
from suite.catalog.scoring import load_scoring
from suite.metrics.comparisons import MAX_FREEDOM, student_t_quantile

MAX_PAIRS = 1000
"""Listed one by one: 45 entries."""
METHOD = (
    "d = a.log_mean - b.log_mean; ratio = exp(d). w = a.log_variance / a.runs + b.log_variance "
    "/ b.runs; f = a.fixed_variance + b.fixed_variance; n = 2 * (min(a.runs, b.runs) - 1). Low "
    "and high are exp(r - m) and exp(r + m), r = d - a.epochs_excess + b.epochs_excess, m = "
    "t.reference[g] * sqrt(w + f), g = floor((w + f)^2 / (w^2 / n)). Where an epochs_excess "
    "is not 0: e = a.epochs_variance + b.epochs_variance, k = floor((w + e)^2 / (w^2 / n + "
    "a.epochs_variance^2 / a.epochs_freedom + b.epochs_variance^2 / b.epochs_freedom)), q = "
    "t.own[k] * sqrt(w + e + f); low is exp(d - q), or exp(r - m) if only a has one and this is "
    "larger; high is exp(d + q), or exp(r + m) if only b has one and this is smaller. Beyond "
    "the end of t, its last value."
)


def comparison_files(board: Leaderboard) -> Iterator[Page]:
    """data/<board>-comparisons.json and data/<board>-devices.json: what pairs are compared with,
    and the best setting of each device."""
    scoring = load_scoring()
    values: dict[str, Any] = {
        "board": board.slug,
        "level": scoring.pair_level,
        "epochs_level": scoring.epochs_level,
        "method": METHOD,
        "t": t_table(),
        "scores": {name: _of_score(board, name) for name in (SCORE_S, SCORE_J)},
    }
    yield Page(f"data/{board.slug}-comparisons.json", _json(values))
    yield Page(
        f"data/{board.slug}-devices.json", _json([_setting(best) for best in best_settings(board)])
    )


def _json(values: object) -> str:
    return json.dumps(values, indent=1, allow_nan=False) + "\n"


def t_table() -> dict[str, dict[str, float]]:
    """Student's t by degrees of freedom: ``reference`` for entries at the reference's epochs,
    ``own`` for those at their own."""
    scoring = load_scoring()
    own = 1 - 2 * scoring.pair_level * scoring.epochs_level
    return {
        name: _quantiles(confidence)
        for name, confidence in (("reference", 1 - scoring.pair_level), ("own", own))
    }


def _quantiles(confidence: float) -> dict[str, float]:
    return {
        str(freedom): round(student_t_quantile(freedom, confidence), 6)
        for freedom in range(1, MAX_FREEDOM + 1)
    }


def _of_score(board: Leaderboard, name: str) -> dict[str, Any]:
    rows = board.accepted
    entries = [row.entry for row in rows]
    found = comparables(board.frames, entries, name)
    rank = (
        {each.entry_id: each.rank for table in board.energies for each in table.rows}
        if name == SCORE_J
        else {}
    )
    listed = [_entry(row, name, found, rank) for row in rows if row.scores.score(name) is not None]
    pairs = list(itertools.combinations([each["entry_id"] for each in listed], 2))
    return {
        "entries": listed,
        "pairs": (
            [_pair(one, other, found) for one, other in pairs] if len(pairs) <= MAX_PAIRS else None
        ),
    }


def _entry(
    row: LeaderboardRow, name: str, found: Mapping[str, Comparable], energy_ranks: Row
) -> dict[str, Any]:
    score = row.scores.score(name)
    assert score is not None and row.scores.epochs is not None
    entry = row.entry_id
    rank = energy_ranks.get(entry) if name == SCORE_J else row.rank
    statistics = asdict(score.measured)
    return {
        "entry_id": entry,
        "label": row.label,
        "status": row.scores.status.value,
        "instrument": (
            list(row.scores.instrument) if name == SCORE_J and row.scores.instrument else None
        ),
        "value": score.interval.value,
        "low": score.interval.low,
        "high": score.interval.high,
        "rank": None if rank is None else rank.place,
        "not_distinguishable_from": None if rank is None else rank.alike,
        "epochs": row.scores.epochs.epochs,
        "own_epochs": row.scores.epochs.is_own,
        **{key: None if value == float("inf") else value for key, value in statistics.items()},
        "reason": found[entry].reason,
    }


def _pair(one: str, other: str, found: Mapping[str, Comparable]) -> dict[str, Any]:
    verdict = verdict_fields(compare_pair(found[one], found[other]))
    return {"entry": one, "base": other, **verdict}


def _setting(best: BestSetting) -> dict[str, Any]:
    score = best.row.scores.score(best.score)
    assert score is not None
    entry = best.row.entry
    settings = {
        name: entry[name]
        for name in (
            "framework",
            "accelerator",
            "batch_size",
            "learning_rate",
            "threads",
            "workers",
            "ranks",
        )
    }
    cpu_model, power_mode = (
        entry[name] if is_known(entry[name]) else None for name in ("cpu_model", "power_mode")
    )
    return {
        "system": best.row.system,
        "device": str(entry["device"]),
        "cpu_model": cpu_model,
        "nodes": int(entry["nodes"]),
        "score": best.score,
        "instrument": best.instrument or None,
        "entries": best.of,
        "entry_id": best.row.entry_id,
        "status": best.row.scores.status.value,
        "value": score.interval.value,
        "low": score.interval.low,
        "high": score.interval.high,
        **settings,
        "power_mode": power_mode,
    }
