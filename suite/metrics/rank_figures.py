"""Figures of the ranks of a run: busy time, exposed communication, stragglers, memory."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from suite.bundle.layout import STEPS
from suite.bundle.log import Log
from suite.bundle.steps import StepRecords
from suite.metrics.figure import Figure, mean_figure, unknown_figure

SINGLE_RANK = "the run had one rank"
IN_COMPUTE = (
    "the framework's collectives exchange gradients within the backward pass: communication is part"
    " of compute"
)


@dataclass(frozen=True)
class RankRow:
    """One rank over all finished epochs.

    ``busy_s``: fetch stall, copy and compute. ``busy_ratio``: that over the mean of all ranks.
    ``slowest_share``: fraction of the steps in which no other rank was busy for longer.
    ``communication_s``: exposed communication (a straggler has the least). These are None with the
    framework's collectives. ``peak_rss_bytes``: the process's VmHWM.
    """

    rank: int
    node: str | None
    samples: int
    busy_s: float | None
    busy_ratio: float | None
    slowest_share: float | None
    communication_s: float | None
    peak_rss_bytes: int | None


def rank_rows(log: Log, steps: StepRecords) -> list[dict[str, Any]]:
    """One row per rank as plain values; empty for a run with one rank."""
    if len(steps.ranks) < 2:
        return []
    nodes, peaks = _by_rank(log, "nodes_of_ranks", str), _by_rank(log, "peak_rss_of_ranks", int)
    busy_s, slowest = _busy_s(steps), _slowest_shares(steps)
    mean_s = sum(busy_s.values()) / len(busy_s)
    timed = log.value("collective") != "native"
    rows = [
        RankRow(
            rank=rank,
            node=nodes.get(rank),
            samples=int(of_rank.samples.sum()),
            busy_s=busy_s[rank] if timed else None,
            busy_ratio=busy_s[rank] / mean_s if timed else None,
            slowest_share=slowest.get(rank, 0.0) if timed else None,
            communication_s=of_rank.sum_s("communication_s") if timed else None,
            peak_rss_bytes=peaks.get(rank),
        )
        for rank, of_rank in steps.by_rank()
    ]
    return [asdict(row) for row in rows]


def rank_figures(
    log: Log, steps: StepRecords, communication_shares: list[float], too_few: str
) -> dict[str, Figure]:
    """Communication's share of an epoch (epochs 2..k on rank 0), and the slowest rank's busy time
    over the mean of all ranks."""
    if len(steps.ranks) < 2:
        return {
            name: unknown_figure("ratio", STEPS, SINGLE_RANK)
            for name in ("communication_share", "straggler_ratio")
        }
    if log.value("collective") == "native":
        names = {"communication_share": "ratio", "communication_s": "s", "straggler_ratio": "ratio"}
        return {name: unknown_figure(unit, STEPS, IN_COMPUTE) for name, unit in names.items()}
    busy_s = list(_busy_s(steps).values())
    slowest = Figure(max(busy_s) / (sum(busy_s) / len(busy_s)), "ratio", STEPS, len(busy_s))
    return {
        "communication_share": mean_figure(communication_shares, "ratio", STEPS, too_few),
        "straggler_ratio": slowest,
    }


def _busy_s(steps: StepRecords) -> dict[int, float]:
    """Busy time of each rank, s."""
    return {rank: float(of_rank.busy_s.sum()) for rank, of_rank in steps.by_rank()}


def _slowest_shares(steps: StepRecords) -> dict[int, float]:
    """Fraction of the steps in which each rank had the longest busy time; a tie counts for the
    lowest rank."""
    order = np.lexsort((-steps.rank, steps.busy_s, steps.step))
    ordered = steps.step[order]
    slowest = steps.rank[order][np.append(ordered[1:] != ordered[:-1], True)]
    ranks, counts = np.unique(slowest, return_counts=True)
    return dict(zip(ranks.tolist(), (counts / len(slowest)).tolist(), strict=True))


def _by_rank(log: Log, key: str, kind: type) -> Mapping[int, Any]:
    """Values that rank 0 logged for every rank, without those of the wrong type."""
    values = log.value(key)
    return {
        rank: value
        for rank, value in enumerate(values if isinstance(values, list) else [])
        if type(value) is kind
    }
