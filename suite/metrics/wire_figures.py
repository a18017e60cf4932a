"""Figures of the exchange of gradients between nodes: what it takes, and the least that the nodes'
links allow."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reference_impls.contract import BFLOAT16, FLOAT16, log_name
from suite.bundle.log import Log
from suite.metrics.figure import Figure, mean_figure, unknown_figure
from suite.metrics.rank_figures import IN_COMPUTE

LOG = log_name(0)
EXACT_BYTES, ROUNDED_BYTES = 4, 2  # of a gradient on the wire
LEAST, MOST = 1e-9, 2**63
"""Between these are all times and rates of a real run; logs are hostile input."""
NOT_MEASURED = "the ranks did not measure the throughput of the nodes' links"
NO_EXCHANGE = "no epoch was finished in which every rank timed its exchanges"


def wire_figures(logs: Sequence[Log], wire: object) -> dict[str, Figure]:
    """The exchange of an update, the wire's limit, and the limit over the exchange; ``logs`` are
    the ranks', ``wire`` is the request's."""
    limit, exchanges = _limit(logs[0], wire), _exchanges_s(logs)
    reason = IN_COMPUTE if logs[0].value("collective") == "native" else NO_EXCHANGE
    of_all_ranks = (
        "mean time of an exchange (first bucket's start to last bucket's end) on the rank where it"
        " is shortest; mean over the epochs"
    )
    exchange = replace(
        mean_figure(exchanges, "s", LOG, reason), method=of_all_ranks if exchanges else None
    )
    shares = [] if limit.value is None else [limit.value / exchange_s for exchange_s in exchanges]
    share = mean_figure(shares, "ratio", LOG, limit.reason or reason)
    return {"exchange_span_s": exchange, "wire_limit_s": limit, "wire_limit_share": share}


def gradient_bytes(log: Log, wire: object) -> int | None:
    """The size of an update's gradients as ranks send them; None where the log does not say how
    many parameters are trained."""
    parameters = log.trained_parameters
    if parameters is None or not 0 < parameters < MOST:
        return None
    return parameters * (ROUNDED_BYTES if wire in (FLOAT16, BFLOAT16) else EXACT_BYTES)


def _limit(log: Log, wire: object) -> Figure:
    """The time in which each of n nodes sends the least that a sum needs, 2 (n - 1) / n of the
    gradients, through the slowest of their links."""
    carried, size_bytes = _numbers(log.value("goodput_bytes_per_s")), gradient_bytes(log, wire)
    if len(carried) < 2 or size_bytes is None:
        return unknown_figure("s", LOG, NOT_MEASURED)
    limit_s = 2 * (len(carried) - 1) / len(carried) * size_bytes / min(carried)
    return Figure(
        limit_s,
        "s",
        LOG,
        len(carried),
        method=f"{min(carried) * 8e-6:.4g} Mbit/s, measured by the ranks before the run",
    )


def _exchanges_s(logs: Sequence[Log]) -> list[float]:
    """Of every epoch the time of an exchange, of the rank where it was the shortest: the others
    wait for slower ranks, too."""
    of_ranks = [
        {event.epoch: _exchange_s(event.value) for event in log.all("bucket_times")} for log in logs
    ]
    epochs = [
        epoch for epoch in of_ranks[0] if all(found.get(epoch) is not None for found in of_ranks)
    ]
    return [min(found[epoch] or 0.0 for found in of_ranks) for epoch in epochs]


def _exchange_s(buckets: Any) -> float | None:
    """The mean time from the start of a step's first bucket to the end of its last one."""
    last = buckets[-1] if isinstance(buckets, list) and buckets else None
    found = _numbers([last.get("mean_since_first_s")]) if isinstance(last, dict) else []
    return found[0] if found else None


def _numbers(values: Any) -> list[float]:
    """The values as positive numbers; none unless all are."""
    given = values if isinstance(values, list) else []
    return (
        [float(value) for value in given]
        if all(type(value) in (int, float) and LEAST < value < MOST for value in given)
        else []
    )
