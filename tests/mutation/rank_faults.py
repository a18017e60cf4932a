"""Faults of runs of two ranks: one of them lies about the other."""

import json
from collections.abc import Callable, Iterator, Sequence

import pandas

from reference_impls.contract import FIRST_LINK, TOKEN, chained, log_name
from suite.bundle.frames import read_readings, write_table
from suite.bundle.layout import node_baseloads, node_tables
from suite.compliance.editing import EditableBundle
from suite.compliance.rules import nodes
from tests.mutation.file_faults import borrowed, halved, lines_of, lost, replaced, resealed
from tests.mutation.log_faults import EPOCHS, HOUR_NS, everywhere
from tests.mutation.mutation import Edit, Mutation, bare, edit, forged, set_in

OTHER, NODE, IDLE = log_name(1), node_tables(1)[0], node_baseloads(1)[0]


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
    for number in EPOCHS:
        yield _of_two(f"rank 0's accuracy {number + 1} a sample better, with its count", "ranks-agree", one_more_correct(number))
    yield _of_two("the second node's clock said to be a millisecond off after the run", "ranks-agree", clock_offset(1, 10**6))
    yield _of_two("an event of rank 0 under rank 1's name", "ranks-agree", as_rank(1))
    yield _of_two("rank 1 left out of the steps", "ranks-complete", rank_dropped(1))
    yield _of_two("rank 1's steps as rank 2's", "ranks-complete", rank_renamed(1, 2))
    yield _of_two("rank 1 took less than its share", "ranks-complete", share_moved(1))
    yield _of_two("a step of rank 1 below zero", "steps-in-time", cell_of_rank(1, "communication_s", -0.001))
    yield _of_two("an hour in a step of rank 1", "steps-in-time", cell_of_rank(1, "compute_s", 3600.0))
    for count in (1, 3):
        yield _of_two(f"{count} requested", "ranks-complete", ranks_requested(count))
    yield _of_two("gradients summed by the framework itself", "closed-collective", everywhere("parallel.collective", "native"))


def node_faults() -> Iterator[Mutation]:
    """The record of the nodes, and what was read on the second one: its table is not the one that all other faults are of."""
    for rule in nodes.RULES:
        for fault in rule.faults:
            yield _of_two(fault.name, rule.id, fault.change)
    yield _of_two("a reading of the second node left out", "readings-counted", node_table(lambda rows: rows.drop(index=rows.index[3])))
    yield bare("all readings of the second node lost", "readings-counted", resealed(lost(NODE)), ranks=2)
    yield _of_two("the second node's readings a day earlier", "readings-in-run", node_table(_day_earlier))
    yield _of_two("the second node's baseload a day earlier", "readings-in-run", node_table(_day_earlier, IDLE))
    yield _of_two("the second node draws less than it did idle", "power-above-idle", node_table(lambda rows: _scaled(rows, "W", 0.4)))
    yield _of_two("the second node's readings backwards", "readings-in-order", node_table(lambda rows: rows.iloc[::-1]))
    yield _of_two("a load of 140 % on the second node", "readings-possible", node_table(lambda rows: _scaled(rows, "%", 2.8)))
    yield _of_two("the second node's power with the wrong sign", "power-possible", node_table(lambda rows: _scaled(rows, "W", -1)))
    yield _of_two("counters of the second node fall", "counters-never-fall", node_table(lambda rows: _scaled(rows, "events", -1)))


def _day_earlier(rows: pandas.DataFrame) -> pandas.DataFrame:
    return rows.assign(t_ns=rows["t_ns"] - 24 * HOUR_NS)


def _scaled(rows: pandas.DataFrame, unit: str, factor: float) -> pandas.DataFrame:
    return rows.assign(value=rows["value"].where(rows["unit"] != unit, rows["value"] * factor))


def _of_two(name: str, rule: str, change: Edit) -> Mutation:
    return forged(name, rule, change, ranks=2)


@edit
def node_table(bundle: EditableBundle, change: Callable[[pandas.DataFrame], pandas.DataFrame], name: str = NODE) -> None:
    """Another table of the second node."""
    write_table(change(read_readings(bundle.path / name)), bundle.path / name)


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
def clock_offset(bundle: EditableBundle, rank: int, off_ns: int) -> None:
    """What rank 0 logs last: how far a clock is ahead, by which the other nodes' readings are placed."""
    bundle.event("clock_offsets_ns", 1)["value"][rank][0] += off_ns


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
