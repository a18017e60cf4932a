"""A choice of what to keep in a block: outputs that are left out, cheapest per byte first, and
recomputed by the block's backward pass.

reference_impls.pytorch.left_out executes it. An output that is left out is computed when the
backward pass first reads it or another one that is computed from it, and stays until it is read
last; what it is computed from stays as long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suite.memory.peaks import Life, first_keeper
from suite.memory.tensors import VIEWS, Tensors

AGAIN = frozenset(
    {
        "conv",
        "linear",
        "batch_norm",
        "relu",
        "relu6",
        "hardswish",
        "hardsigmoid",
        "sigmoid",
        "silu",
        "gelu",
        "tanh",
    }
)
"""Operations that may run again: not the ones with random masks, nor those whose kept indices would
be made again."""


@dataclass(frozen=True)
class Choice:
    """What one way to keep a block leaves out.

    ``positions`` are the operations that run again. ``kept`` are owners and words of what stays,
    ``there`` everything that the backward pass reads.
    """

    positions: tuple[int, ...]
    kept: dict[int, int]
    there: tuple[Life, ...]


def choices(
    table: Tensors, first: int, last: int, source: int, kept: dict[int, int], times: Sequence[float]
) -> Iterator[Choice]:
    """Ways to keep a block, each leaving out more than the one before; ``times`` are those of the
    operations' forward runs."""
    writers = _writers(table, first, last)
    possible = [
        owner for owner in kept if _may_leave_out(table, owner, writers, source, table.owner[last])
    ]
    worth = {
        owner: sum(times[index] for index in writers[owner]) / kept[owner] for owner in possible
    }
    left_out: list[int] = []
    for owner in sorted(possible, key=lambda owner: (worth[owner], owner)):
        left_out.append(owner)
        yield _choice(table, first, last, source, kept, writers, left_out)


def _writers(table: Tensors, first: int, last: int) -> dict[int, list[int]]:
    """The operations that write each owner's storage, in order."""
    found: dict[int, list[int]] = {}
    for index in range(first, last + 1):
        found.setdefault(table.owner[index], []).append(index)
    return found


def _may_leave_out(
    table: Tensors, owner: int, writers: dict[int, list[int]], source: int, result: int
) -> bool:
    """Whether it can be recomputed from what its operations read at first."""
    if owner in (source, result) or owner not in writers:
        return False
    own = writers[owner]
    kinds = {table.shaped[index].operation.kind for index in own}
    read = [(index, other) for index in own for other in table.inputs(index) if other != owner]
    unchanged = all(max(writers.get(other, [-1])) < index for index, other in read)
    viewed = any(
        table.shaped[i].operation.kind in VIEWS and owner in table.inputs(i)
        for i in range(len(table.shaped))
    )
    return kinds <= AGAIN and unchanged and not viewed


def _choice(
    table: Tensors,
    first: int,
    last: int,
    source: int,
    kept: dict[int, int],
    writers: dict[int, list[int]],
    left_out: Sequence[int],
) -> Choice:
    ends = {owner: first_keeper(table, first, last, owner) for owner in kept}
    begins = {
        owner: max(
            i for i in range(first, last + 1) if any(owner == other for other, _ in table.keeps(i))
        )
        for owner in left_out
    }
    reads = {
        owner: (
            {other for index in writers[owner] for other in table.inputs(index)} - {owner, source}
        )
        for owner in left_out
    }
    stays = {owner: words for owner, words in kept.items() if owner not in left_out}
    for owner in sorted(left_out, reverse=True):  # an output is computed from earlier ones
        for other in reads[owner]:
            if other in begins:
                begins[other] = max(begins[other], begins[owner])
            else:
                stays[other] = table.shaped[other].words
                ends[other] = min(ends.get(other, last), ends[owner])
    there = [Life(words, ends[owner]) for owner, words in stays.items()]
    there += [Life(kept[owner], ends[owner], begins[owner]) for owner in left_out]
    return Choice(
        tuple(sorted(index for owner in left_out for index in writers[owner])), stays, tuple(there)
    )
