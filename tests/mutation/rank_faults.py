"""Faults of runs of two ranks: one of them lies about the other."""

import json
from collections.abc import Callable, Iterator, Sequence

from reference_impls.contract import FIRST_LINK, TOKEN, chained, log_name
from suite.compliance.editing import EditableBundle
from tests.mutation.file_faults import borrowed, halved, lines_of, lost, replaced, resealed
from tests.mutation.log_faults import EPOCHS, everywhere
from tests.mutation.mutation import Edit, Mutation, bare, edit, forged, set_in

OTHER = log_name(1)


def rank_faults() -> Iterator[Mutation]:
    """Files, logs, steps and request of two ranks; where files are edited, the manifest was made to fit again."""
    yield bare("rank 1's log lost", "bundle-readable", resealed(lost(OTHER)), ranks=2)
    yield bare("rank 1's log cut in half", "ranks-agree", resealed(halved(OTHER)), ranks=2)
    yield bare("rank 1's log of another run", "ranks-agree", resealed(borrowed(OTHER)), ranks=2)
    for key in ("seed", "run_start", "epoch_stop"):
        change = replaced(key, '"time_ms": 1', '"time_ms": 2')
        yield bare(f"rank 1's {key} edited", "ranks-agree", resealed(lines_of(OTHER, change)), ranks=2)
        yield bare(f"rank 1's {key} edited, its chain made to fit", "ranks-agree", resealed(lines_of(OTHER, rechained(change))), ranks=2)
    for number in EPOCHS:
        yield _of_two(f"rank 0's chain heads {number + 1} in another order", "ranks-agree", heads_swapped(number))
    for number in EPOCHS[:-1]:
        yield _of_two(f"rank 0's accuracy {number + 1} a sample better, with its count", "ranks-agree", one_more_correct(number))
    yield _of_two("an event of rank 0 under rank 1's name", "ranks-agree", as_rank(1))
    yield _of_two("rank 1 left out of the steps", "ranks-complete", rank_dropped(1))
    yield _of_two("rank 1's steps as rank 2's", "ranks-complete", rank_renamed(1, 2))
    yield _of_two("rank 1 took less than its share", "ranks-complete", share_moved(1))
    yield _of_two("a step of rank 1 below zero", "steps-in-time", cell_of_rank(1, "comm_s", -0.001))
    yield _of_two("an hour in a step of rank 1", "steps-in-time", cell_of_rank(1, "compute_s", 3600.0))
    for count in (1, 3):
        yield _of_two(f"{count} requested", "ranks-complete", ranks_requested(count))
    yield _of_two("gradients summed by the framework itself", "closed-collective", everywhere("parallel.collective", "native"))


def _of_two(name: str, rule: str, change: Edit) -> Mutation:
    return forged(name, rule, change, ranks=2)


@edit
def rechained(lines: Sequence[str], change: Callable[[Sequence[str]], Sequence[str]]) -> Sequence[str]:
    """A change, and a chain that fits it."""
    chain, done = FIRST_LINK, []
    for line in change(lines):
        event = json.loads(line[len(TOKEN) :])
        del event["metadata"]["chain"]
        written, chain = chained(chain, TOKEN + json.dumps(event))
        done.append(written)
    return done


@edit
def heads_swapped(bundle: EditableBundle, number: int) -> None:
    """The ranks' chain values in another order."""
    bundle.event("chain_heads", number)["value"].reverse()


@edit
def one_more_correct(bundle: EditableBundle, number: int) -> None:
    """What no rule finds on one rank: nothing else in its bundle knows how many were correct."""
    event, samples = bundle.event("eval_accuracy", number), bundle.request["data"]["eval_samples"]
    event["metadata"]["correct"] += 1
    event["value"] = event["metadata"]["correct"] / samples


@edit
def as_rank(bundle: EditableBundle, rank: int) -> None:
    """An event under another rank's name."""
    bundle.event("run_stop")["metadata"]["rank"] = rank


@edit
def rank_dropped(bundle: EditableBundle, rank: int) -> None:
    """No step of a rank."""
    bundle.steps = bundle.steps[bundle.steps["rank"] != rank].reset_index(drop=True)


@edit
def rank_renamed(bundle: EditableBundle, rank: int, name: int) -> None:
    """A rank's steps as another's."""
    bundle.steps.loc[bundle.steps["rank"] == rank, "rank"] = name


@edit
def share_moved(bundle: EditableBundle, rank: int) -> None:
    """A sample of every mini-batch from a rank to the others."""
    mine = bundle.steps["rank"] == rank
    bundle.steps.loc[mine, "samples"] -= 1
    bundle.steps.loc[~mine, "samples"] += 1


@edit
def cell_of_rank(bundle: EditableBundle, rank: int, column: str, value: float) -> None:
    """One value of one of a rank's steps."""
    bundle.steps.loc[bundle.steps[bundle.steps["rank"] == rank].index[20], column] = value


@edit
def ranks_requested(bundle: EditableBundle, count: int) -> None:
    """Another number of ranks than there were."""
    set_in(bundle.request, "parallel.ranks", lambda _: count)
