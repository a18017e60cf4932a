"""Entries with runs that missed their target: which of them are ranked, and by what.

A run that trained all its epochs and missed the target is valid, its time to target censored. An
entry with one is ranked if its number of runs was declared before they began and is large enough,
and enough of them reached the target (``[missed]`` of rules/scoring.toml), as MLPerf and AlgoPerf
rank entries of which one run of five fails. Its expected time to target is the time trained in all
runs over the number of runs that reached the target; each of these has its own time and an equal
share of the time trained in the missed ones.
"""

from collections.abc import Mapping, Sequence

from reporter.data.frames import Row, is_known
from suite.catalog.scoring import load_scoring
from suite.files.counted import counted

TIME_TO_TARGET = "time_to_target_s"


def reached_text(entry: Row) -> str:
    """ "4 of 5 reached" for an entry with a run that missed its target; else empty."""
    return f"{int(entry['reached'])} of {int(entry['runs'])} reached" if missed_runs(entry) else ""


def missed_runs(entry: Row) -> int:
    """The number of runs that missed their target; a short entry was not to reach it."""
    if entry["short"]:
        return 0
    return int(entry["runs"]) - int(entry["reached"]) if is_known(entry["reached"]) else 0


def is_short(entry: Row) -> bool:
    """Whether its limit ended a run; runs that all reached the target before it are whole ones."""
    return bool(entry["short"]) and entry["reached"] != entry["runs"]


def why_unranked(entry: Row) -> str | None:
    """Why missed targets, missing runs or unfinished launches keep an entry from being ranked; None
    if they do not."""
    runs, planned = (
        int(entry["runs"]),
        int(entry["planned_runs"]) if is_known(entry["planned_runs"]) else None,
    )
    if planned is not None and runs != planned:
        return f"the entry has {counted(runs, 'run')} instead of the {planned} planned"
    unfinished = int(entry["launches"]) - runs if is_known(entry.get("launches")) else 0
    is_accepted = is_known(entry.get("launches_accepted")) and bool(entry["launches_accepted"])
    if planned and unfinished > planned and not is_accepted:
        return (
            f"{unfinished} launches did not finish, more than the {planned} planned runs: a"
            " reviewer has to accept these launches"
        )
    if not missed_runs(entry):
        return None
    limits = load_scoring().missed
    if planned is None or planned < limits.min_planned_runs:
        return (
            f"{reached_text(entry)} the target; a miss is allowed only if at least"
            f" {limits.min_planned_runs} runs are planned"
        )
    if int(entry["reached"]) < runs * limits.min_share_reached - 1e-9:
        return f"{reached_text(entry)} the target, less than {limits.min_share_reached:.0%}"
    return None


def why_unsettled(entry: Row) -> str | None:
    """Why an entry of which not all runs reached their target has neither a time nor an energy to
    it; None if the runs that missed it have their share."""
    return (
        "the limit of the short entry ended a run before the target"
        if is_short(entry)
        else why_unranked(entry)
    )


def times_with_shares(runs: Sequence[Row], times_s: Mapping[str, float]) -> list[float] | None:
    """Of each run that reached the target, its time and its share of the time trained in the
    others, s; None where that is unknown.

    ``runs`` are all runs of an entry, ``times_s`` the times to target that are known, by run id.
    """
    others = [run for run in runs if run["run_id"] not in times_s]
    if len(others) == len(runs) or any(
        run.get("reached") or not is_known(run["trained_s"]) for run in others
    ):
        return None
    trained_s = {**times_s, **{run["run_id"]: float(run["trained_s"]) for run in others}}
    return list(
        with_shares(trained_s, [run["run_id"] for run in runs if run["run_id"] in times_s]).values()
    )


def with_shares(costs: Mapping[str, float], reached: Sequence[str]) -> dict[str, float]:
    """Of each run that reached the target, its cost and an equal share of the others' costs, by run
    id."""
    share = sum(cost for name, cost in costs.items() if name not in reached) / len(reached)
    return {name: costs[name] + share for name in reached}
