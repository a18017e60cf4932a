"""How the ranks of a run shared the work: who was busy, who waited for whom, and how much memory each held."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from suite.bundle import STEPS
from suite.figures import Figure, mean_figure, unknown
from suite.log import Log

if TYPE_CHECKING:
    import pandas

BUSY = ["fetch_s", "h2d_s", "compute_s"]
ALONE = "one rank trained alone"
IN_COMPUTE = "the framework's own collectives exchange gradients within the backward pass: it is part of compute"


@dataclass(frozen=True)
class RankRow:
    """One rank over all finished epochs.

    ``busy_s`` is its fetching, copying and computing, ``busy_ratio`` that over the mean of all ranks, ``slowest_share`` the share of steps in
    which no other rank was busy for longer, ``waited_s`` the exchange that nothing hid: a straggler makes the others wait, and waits least
    itself. These are None where the framework's own collectives exchange gradients. ``peak_rss_bytes`` is the most that its process held.
    """

    rank: int
    node: str | None
    samples: int
    busy_s: float | None
    busy_ratio: float | None
    slowest_share: float | None
    waited_s: float | None
    peak_rss_bytes: int | None


def rank_rows(log: Log, steps: "pandas.DataFrame") -> list[dict[str, Any]]:
    """A row per rank as plain values; none for a run of one rank, of which the figures tell all."""
    ranks = sorted(int(rank) for rank in steps["rank"].unique())
    if len(ranks) < 2:
        return []
    nodes, peaks = _by_rank(log, "nodes_of_ranks", str), _by_rank(log, "peak_rss_of_ranks", int)
    busy_s = steps.assign(busy_s=steps[BUSY].sum(axis=1)).pivot_table(index="step", columns="rank", values="busy_s", aggfunc="sum")
    total_s, slowest = busy_s.sum(), busy_s.idxmax(axis=1).value_counts(normalize=True)
    waited_s, samples = steps.groupby("rank")["comm_s"].sum(), steps.groupby("rank")["samples"].sum()
    timed = log.value("collective") != "native"
    rows = [
        RankRow(
            rank=rank,
            node=nodes.get(rank),
            samples=int(samples[rank]),
            busy_s=float(total_s[rank]) if timed else None,
            busy_ratio=float(total_s[rank] / total_s.mean()) if timed else None,
            slowest_share=float(slowest.get(rank, 0.0)) if timed else None,
            waited_s=float(waited_s[rank]) if timed else None,
            peak_rss_bytes=peaks.get(rank),
        )
        for rank in ranks
    ]
    return [asdict(row) for row in rows]


def rank_figures(log: Log, steps: "pandas.DataFrame", communication_shares: list[float], too_few: str) -> dict[str, Figure]:
    """The exchange's share of an epoch (of epochs 2..k on rank 0), and how much longer the slowest rank is busy than the mean of all."""
    if len(steps["rank"].unique()) < 2:
        return {name: unknown("ratio", STEPS, ALONE) for name in ("communication_share", "straggler_ratio")}
    if log.value("collective") == "native":
        names = {"communication_share": "ratio", "communication_s": "s", "straggler_ratio": "ratio"}
        return {name: unknown(unit, STEPS, IN_COMPUTE) for name, unit in names.items()}
    busy_s = steps[BUSY].sum(axis=1).groupby(steps["rank"]).sum()
    slowest = Figure(float(busy_s.max() / busy_s.mean()), "ratio", STEPS, len(busy_s))
    return {"communication_share": mean_figure(communication_shares, "ratio", STEPS, too_few), "straggler_ratio": slowest}


def _by_rank(log: Log, key: str, kind: type) -> Mapping[int, Any]:
    """What rank 0 logged of every rank, where it is what it should be."""
    values = log.value(key)
    return {rank: value for rank, value in enumerate(values if isinstance(values, list) else []) if type(value) is kind}
