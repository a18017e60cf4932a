"""Lies about ranks and nodes."""

import copy as copies
from pathlib import Path

import numpy as np

from proofs.outsider.second_list.forged_copy import ForgedCopy, reseal
from proofs.outsider.second_list.registry import EDITED, ERROR, FABRICATED, NOTHING, lie

SUBJECT = "ranks and nodes"
SAMPLE = "ranks"


@lie(
    SUBJECT,
    EDITED,
    "two processes count as one",
    "CPU seconds of two processes; two peaks of memory",
    sample=SAMPLE,
)
def two_ranks_called_one(copy: ForgedCopy) -> None:
    """Rank 1's records are taken out, rank 0's samples doubled; one rank in request, log and
    command."""
    _one_rank(copy)
    # the last mini-batch of an epoch has an even number of samples
    copy.steps["samples"] = copy.steps["samples"] * 2
    copy.steps["compute_s"] += copy.steps["communication_s"]
    copy.steps["communication_s"] = 0.0


@lie(
    SUBJECT,
    EDITED,
    "as above, and the CPU time halved",
    NOTHING + "; processes in the tree",
    sample=SAMPLE,
)
def two_ranks_called_one_with_half_the_cpu_time(copy: ForgedCopy) -> None:
    """As above, with half of the CPU time and one peak of memory."""
    two_ranks_called_one(copy)
    for source, channel in (("cpu", "process_tree"), ("counters", "task_clock.count")):
        mask = copy.of(source, channel)
        copy.readings.loc[mask, "value"] = (copy.readings.loc[mask, "value"] / 2).round(
            2 if source == "cpu" else 0
        )
    for event in copy.events("peak_rss_of_ranks"):
        event["value"] = event["value"][:1]


def _one_rank(copy: ForgedCopy) -> None:
    del copy.logs[1:]
    (copy.path / "log.rank1.txt").unlink()
    copy.steps = copy.steps[copy.steps["rank"] == 0].reset_index(drop=True)
    copy.request["parallel"].update(ranks=1, collective="none", bucket_bytes=0, overlap=False)
    copy.option("--ranks-per-node", None)
    copy.set_logged("ranks", 1)
    copy.set_logged("collective", "none")
    copy.set_logged("nodes_of_ranks", ["vm"])
    for event in copy.events("clock_offsets_ns"):
        event["value"] = [event["value"][0]]
    copy.logs[0] = [
        event
        for event in copy.logs[0]
        if event["key"] not in ("chain_heads", "bucket_times", "nodes_of_ranks", "clock_offsets_ns")
    ]


@lie(
    SUBJECT,
    FABRICATED,
    "a rank that did not run",
    "both ranks' steps rise and fall together",
    sample=SAMPLE,
)
def rank_one_is_rank_nought(copy: ForgedCopy) -> None:
    """Rank 1's parts are rank 0's, each up to 1 % more or less."""
    _parts_of_rank_one(
        copy, lambda parts: parts * np.random.default_rng(12).uniform(0.99, 1.01, parts.shape)
    )


def _parts_of_rank_one(copy: ForgedCopy, change: object) -> None:
    columns = ["fetch_stall_s", "copy_s", "compute_s", "communication_s"]
    assert callable(change)
    first, second = (
        copy.steps[copy.steps["rank"] == rank].sort_values(["epoch", "step"]) for rank in (0, 1)
    )
    new = change(first[columns].to_numpy())
    copy.steps.loc[second.index, columns] = new
    copy.steps.loc[second.index, "start_ns"] = first["start_ns"].to_numpy() + 700


@lie(
    SUBJECT,
    FABRICATED,
    "a rank that did not run",
    "two ranks' samples differ, and so do their losses",
    sample=SAMPLE,
)
def losses_of_rank_nought(copy: ForgedCopy) -> None:
    """Rank 1's losses are rank 0's."""
    first, second = (
        copy.steps[copy.steps["rank"] == rank].sort_values(["epoch", "step"]) for rank in (0, 1)
    )
    copy.steps.loc[second.index, "loss"] = first["loss"].to_numpy()


@lie(
    SUBJECT,
    EDITED,
    "two nodes that are one machine",
    "no second node's readings, one name in the log",
    sample=SAMPLE,
)
def one_node_called_two(copy: ForgedCopy) -> None:
    """Two nodes in the request, a hostfile in the command."""
    copy.request["parallel"]["nodes"] = 2
    copy.option("--ranks-per-node", "1")
    copy.option("--hostfile", "hosts.txt")


@lie(SUBJECT, EDITED, "as above, with names", "nodes.json is missing", sample=SAMPLE)
def one_node_called_two_by_name(copy: ForgedCopy) -> None:
    """As above, and the log names two nodes."""
    one_node_called_two(copy)
    copy.set_logged("nodes_of_ranks", ["node0", "node1"])


@lie(
    SUBJECT,
    EDITED,
    "no communication: it scales",
    "ranks wait for one another in every step",
    sample=SAMPLE,
)
def communication_called_computing(copy: ForgedCopy) -> None:
    """Communication is counted as computing, but for 2 microseconds."""
    left = np.random.default_rng(13).uniform(1e-6, 3e-6, len(copy.steps))
    copy.steps["compute_s"] += (copy.steps["communication_s"] - left).clip(lower=0)
    copy.steps["communication_s"] = np.minimum(left, copy.steps["communication_s"])


@lie(SUBJECT, EDITED, "a slow rank does not show", NOTHING, sample=SAMPLE)
def ranks_evened_out(copy: ForgedCopy) -> None:
    """A tenth of rank 1's computing is counted as its waiting."""
    mask = copy.steps["rank"] == 1
    copy.steps.loc[mask, "communication_s"] += copy.steps.loc[mask, "compute_s"] * 0.1
    copy.steps.loc[mask, "compute_s"] *= 0.9


@lie(SUBJECT, ERROR, "nothing; a slip", "two ranks have two peaks", sample=SAMPLE)
def one_peak_of_two(copy: ForgedCopy) -> None:
    """One peak of memory in all logs."""
    for event in copy.everywhere("peak_rss_of_ranks"):
        event["value"] = event["value"][:1]


@lie(SUBJECT, ERROR, "nothing", "rank 0's version", sample=SAMPLE)
def another_version_on_rank_one(copy: ForgedCopy) -> None:
    """Rank 1 has another version of the framework."""
    copy.events("framework_version", 1)[0]["value"] = "2.12.0+cpu"


@lie(SUBJECT, ERROR, "nothing", "the ranks' weights are one", sample=SAMPLE)
def ranks_drift_apart(copy: ForgedCopy) -> None:
    """Rank 1's parameters have another digest after epoch 2."""
    copy.events("state_digests", 1)[1]["value"]["parameter"] = "ab" * 32


@lie(SUBJECT, EDITED, "the fast rank does more", "ranks take equal shares", sample=SAMPLE)
def uneven_shares(copy: ForgedCopy) -> None:
    """Rank 0 takes 24 samples, rank 1 takes 8."""
    full = copy.steps["samples"] == 16
    copy.steps.loc[full & (copy.steps["rank"] == 0), "samples"] = 24
    copy.steps.loc[full & (copy.steps["rank"] == 1), "samples"] = 8


@lie(
    SUBJECT,
    EDITED,
    "a framework's own all-reduce in the closed division",
    "times of buckets, which only the suite's has",
    sample="native",
)
def native_called_mpi(copy: ForgedCopy) -> None:
    """The framework's collective is called the suite's, in request, log and command."""
    copy.request["parallel"]["collective"] = "mpi"
    copy.set_logged("collective", "mpi")
    copy.option("--collective", None)


@lie(SUBJECT, ERROR, "nothing", "one machine has one clock", sample=SAMPLE)
def clocks_five_seconds_apart(copy: ForgedCopy) -> None:
    """Rank 1's clock is five seconds ahead, on one machine."""
    for event in copy.everywhere("clock_offsets_ns"):
        event["value"][1] = [5_000_000_000, 5_000_000_000]


@lie(SUBJECT, ERROR, "nothing", "rank 0's evaluations", sample=SAMPLE)
def evaluation_of_one_rank(copy: ForgedCopy) -> None:
    """Rank 1's log lacks the second evaluation."""
    copy.logs[1] = [
        event
        for event in copy.logs[1]
        if not (event["key"].startswith("eval_") and event["metadata"].get("epoch_num") == 2)
    ]


@lie(SUBJECT, ERROR, "nothing", "every line is of rank 1", sample=SAMPLE)
def rank_noughts_log_twice(copy: ForgedCopy) -> None:
    """Rank 1's log is rank 0's."""
    copy.logs[1] = copies.deepcopy(copy.logs[0])


@lie(
    SUBJECT,
    FABRICATED,
    "a rank that did not run",
    "waiting that takes the same time in every step",
    sample=SAMPLE,
)
def a_rank_that_waits_evenly(copy: ForgedCopy) -> None:
    """Rank 1 fetches and computes as long as rank 0 on average, with noise, and waits for the rest
    of rank 0's step."""
    generator = np.random.default_rng(14)

    def parts(first: np.ndarray) -> np.ndarray:
        new = first.mean(axis=0) * generator.normal(1, 0.05, first.shape)
        total = first.sum(axis=1)
        new[:, 3] = 0
        new *= np.minimum(1, 0.98 * total / new.sum(axis=1))[:, None]
        new[:, 3] = total - new.sum(axis=1)
        return np.asarray(new)

    _parts_of_rank_one(copy, parts)


@lie(SUBJECT, ERROR, "nothing; a slip", "the ranks' chain values", sample=SAMPLE, reseal=False)
def a_rank_chained_alone(path: Path) -> None:
    """Rank 1's log is edited and chained again, rank 0's log is left."""
    copy = ForgedCopy(path)
    untouched = (path / "log.txt").read_bytes()
    copy.events("eval_accuracy", 1)[0]["time_ms"] += 1
    copy.save()
    (path / "log.txt").write_bytes(untouched)
    reseal(path)
