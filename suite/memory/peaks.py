"""Most memory at once while a block runs forward or backward, in words of one sample.

A block is the operations from ``first`` to ``last``; ``source`` owns its input. ``kept`` are the
owners and words of what stays for the backward pass. A convolution's library (oneDNN) works on
copies of its input and output in its own layout, which are there while it runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from suite.memory.tensors import SHARES_GRADIENT, Tensors


@dataclass(frozen=True)
class Life:
    """Words of a tensor that the backward pass reads, from the operation ``begin`` down to the
    operation ``end``; None: from the start."""

    words: int
    end: int
    begin: int | None = None

    def at(self, index: int) -> bool:
        """Whether it is there while the operation at ``index`` runs backward."""
        return self.end <= index and (self.begin is None or index <= self.begin)


def first_keeper(table: Tensors, first: int, last: int, owner: int) -> int:
    """The operation that reads what was kept of an owner last in the backward pass."""
    return min(
        index
        for index in range(first, last + 1)
        if any(owner == other for other, _ in table.keeps(index))
    )


def lives(table: Tensors, first: int, last: int, kept: dict[int, int]) -> list[Life]:
    """Of everything that is kept."""
    return [Life(words, first_keeper(table, first, last, owner)) for owner, words in kept.items()]


def kept_of(table: Tensors, first: int, last: int, source: int) -> dict[int, int]:
    """What a block keeps beside its input."""
    kept = dict(item for index in range(first, last + 1) for item in table.keeps(index))
    kept.pop(source, None)
    return kept


def copies(table: Tensors, index: int) -> int:
    """Words of a convolution's copies of its input and its output, or of their gradients; 0 for
    other operations."""
    entry = table.shaped[index]
    is_copied = entry.operation.kind == "conv"
    return (
        entry.words + sum(table.shaped[owner].words for owner in table.inputs(index))
        if is_copied
        else 0
    )


def forward_peak(table: Tensors, first: int, last: int, source: int, kept: dict[int, int]) -> int:
    """Most words alive at once while the block runs forward, its input not counted."""
    last_use = {owner: index for index in range(first, last + 1) for owner in table.inputs(index)}
    last_use[table.owner[last]] = last + 1
    alive: dict[int, int] = {}
    peak = 0
    for index in range(first, last + 1):
        alive[table.owner[index]] = table.shaped[table.owner[index]].words
        alive.update({owner: words for owner, words in table.keeps(index) if owner in kept})
        alive.pop(source, None)
        peak = max(peak, sum(alive.values()) + copies(table, index))
        alive = {
            owner: words
            for owner, words in alive.items()
            if owner in kept or last_use.get(owner, -1) > index
        }
    return peak


def backward_peak(
    table: Tensors, first: int, last: int, source: int, there: Sequence[Life], is_first: bool
) -> int:
    """Most words alive at once while the block runs backward: what is there for it, and the
    gradients."""
    gradients: dict[int, int] = {last: table.shaped[last].words}
    peak = 0
    for index in range(last, first - 1, -1):
        mine = gradients.pop(index, 0)
        alive = sum(life.words for life in there if life.at(index))
        operation = table.shaped[index].operation
        targets = [table.position[name] for name in operation.inputs]
        made = {
            t: table.shaped[t].words for t in targets if not (is_first and table.owner[t] == source)
        }
        if operation.kind in SHARES_GRADIENT:
            # an addition hands its gradient on without a copy
            made = dict(list(made.items())[:1]) if mine else made
            shared, mine = mine, 0
            peak = max(peak, alive + sum(gradients.values()) + shared)
        else:
            fresh = sum(words for target, words in made.items())
            peak = max(peak, alive + sum(gradients.values()) + mine + fresh + copies(table, index))
        for target in targets:
            if target in made:
                gradients[target] = made[target]
            elif operation.kind in SHARES_GRADIENT:
                gradients.setdefault(target, 0)
    return peak
