"""A choice of what to keep in a block: outputs that are left out, cheapest per byte first, and
recomputed by the block's backward pass.

reference_impls.pytorch.left_out executes it. An output that is left out is computed when the
backward pass first reads it or another one that is computed from it, and stays until it is read
last; what it is computed from stays as long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suite.memory.peaks import BlockSpan, Life
from suite.memory.tensors import VIEWS

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


def choices_to_leave_out(span: BlockSpan, times: Sequence[float]) -> Iterator[Choice]:
    """Ways to keep a block: everything, then each leaving out more than the one before; ``times``
    are those of the operations' forward runs."""
    writers = _writers(span)
    kept = {owner: words for owner, words in span.all_kept().items() if owner != span.source}
    worth = {
        owner: sum(times[index] for index in writers[owner]) / kept[owner]
        for owner in kept
        if _may_leave_out(span, owner, writers)
    }
    order = sorted(worth, key=lambda owner: (worth[owner], owner))
    for count in range(len(order) + 1):
        yield _choice(span, kept, writers, order[:count])


def _writers(span: BlockSpan) -> dict[int, list[int]]:
    """The operations that write each owner's storage, in order."""
    found: dict[int, list[int]] = {}
    for index in span.operations:
        found.setdefault(span.table.owner[index], []).append(index)
    return found


def _may_leave_out(span: BlockSpan, owner: int, writers: dict[int, list[int]]) -> bool:
    """Whether it can be recomputed from what its operations read at first."""
    if owner == span.result or owner not in writers:
        return False
    table, own = span.table, writers[owner]
    read = [(index, other) for index in own for other in table.inputs(index) if other != owner]
    unchanged = all(max(writers.get(other, [-1])) < index for index, other in read)
    viewed = any(
        table.kind(index) in VIEWS and owner in table.inputs(index)
        for index in range(len(table.shaped))
    )
    return {table.kind(index) for index in own} <= AGAIN and unchanged and not viewed


def _choice(
    span: BlockSpan, kept: dict[int, int], writers: dict[int, list[int]], left_out: Sequence[int]
) -> Choice:
    ends = {owner: span.readers(owner)[0] for owner in kept}
    begins = {owner: span.readers(owner)[-1] for owner in left_out}
    stays = {owner: words for owner, words in kept.items() if owner not in left_out}
    for owner in sorted(left_out, reverse=True):  # an output is computed from earlier ones
        read = {other for index in writers[owner] for other in span.table.inputs(index)}
        for other in read - {owner, span.source}:
            if other in begins:
                begins[other] = max(begins[other], begins[owner])
            else:
                stays[other] = span.table.words(other)
                ends[other] = min(ends.get(other, span.last), ends[owner])
    there = [Life(words, ends[owner]) for owner, words in stays.items()]
    there += [Life(kept[owner], ends[owner], begins[owner]) for owner in left_out]
    again = sorted(index for owner in left_out for index in writers[owner])
    return Choice(tuple(again), stays, tuple(there))
