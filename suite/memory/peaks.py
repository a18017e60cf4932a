"""Most memory at once while a block runs forward or backward, in words of one sample.

A convolution's library (oneDNN) works on copies of its input and output in its own layout, which
are there while it runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suite.memory.tensors import SHARES_GRADIENT, Tensors


@dataclass(frozen=True)
class Life:
    """Words of a tensor that the backward pass reads, from the operation ``begin`` down to the
    operation ``end``; None: from the start."""

    words: int
    end: int
    begin: int | None = None

    def is_there(self, index: int) -> bool:
        """Whether it is there while the operation at ``index`` runs backward."""
        return self.end <= index and (self.begin is None or index <= self.begin)


@dataclass(frozen=True)
class BlockSpan:
    """The operations of a block, from ``first`` to ``last``. ``kept`` are always owners and words
    of what stays for the backward pass."""

    table: Tensors
    first: int
    last: int

    @property
    def operations(self) -> range:
        """The operations in their order."""
        return range(self.first, self.last + 1)

    @property
    def source(self) -> int:
        """The owner of the block's input."""
        return self.table.inputs(self.first)[0]

    @property
    def result(self) -> int:
        """The owner of the block's output."""
        return self.table.owner[self.last]

    def readers(self, owner: int) -> list[int]:
        """The operations whose backward run reads what is kept of an owner."""
        return [
            index
            for index in self.operations
            if any(owner == other for other, _ in self.table.keeps(index))
        ]

    def all_kept(self) -> dict[int, int]:
        """What the block keeps, its input included."""
        return dict(item for index in self.operations for item in self.table.keeps(index))

    def forward_peak(self, kept: Mapping[int, int]) -> int:
        """Most words alive at once while the block runs forward, its input not counted."""
        table = self.table
        last_use = {owner: index for index in self.operations for owner in table.inputs(index)}
        last_use[self.result] = self.last + 1
        alive: dict[int, int] = {}
        peak = 0
        for index in self.operations:
            alive[table.owner[index]] = table.words(table.owner[index])
            alive.update({owner: words for owner, words in table.keeps(index) if owner in kept})
            alive.pop(self.source, None)
            peak = max(peak, sum(alive.values()) + self._copied_words(index))
            alive = {
                owner: words
                for owner, words in alive.items()
                if owner in kept or last_use.get(owner, -1) > index
            }
        return peak

    def backward_peak(self, there: Sequence[Life]) -> int:
        """Most words alive at once while the block runs backward: what is there for it, and the
        gradients."""
        gradients = {self.last: self.table.words(self.last)}
        peak = 0
        for index in reversed(self.operations):
            mine = gradients.pop(index, 0)
            held = sum(gradients.values()) + sum(
                life.words for life in there if life.is_there(index)
            )
            made = self._gradients_made(index)
            if self.table.kind(index) in SHARES_GRADIENT:
                # an addition hands its gradient on without a copy
                peak = max(peak, held + mine)
                made = dict(list(made.items())[:1]) if mine else made
                gradients |= {
                    target: 0 for target in self._targets(index) if target not in gradients
                }
            else:
                peak = max(peak, held + mine + sum(made.values()) + self._copied_words(index))
            gradients |= made
        return peak

    def _targets(self, index: int) -> list[int]:
        """The operations whose outputs the operation reads."""
        names = self.table.shaped[index].operation.inputs
        return [self.table.position[name] for name in names]

    def _gradients_made(self, index: int) -> dict[int, int]:
        """Words of the gradients of what the operation reads; the picture has none."""
        return {
            target: self.table.words(target)
            for target in self._targets(index)
            if self.table.kind(self.source) != "input" or self.table.owner[target] != self.source
        }

    def _copied_words(self, index: int) -> int:
        """Words of a convolution's copies of its input and its output, or of their gradients; 0 for
        other operations."""
        if self.table.kind(index) != "conv":
            return 0
        return self.table.words(index) + sum(map(self.table.words, self.table.inputs(index)))
