"""The tensors of a network: who owns their storage, and which ones PyTorch keeps for the backward
pass.

It follows from its derivative formulas (tools/autograd/derivatives.yaml): a convolution and a
linear layer keep their input, batch normalisation its input, ReLU its output, max-pooling its input
and int64 indices, dropout a mask. Tests compare the sums with what autograd's hooks report.
"""

from dataclasses import dataclass

from suite.memory.shapes import Shaped

VIEWS = frozenset({"flatten", "identity"})
KEEPS_INPUT = frozenset(
    {
        "conv",
        "linear",
        "batch_norm",
        "max_pool",
        "avg_pool",
        "hardswish",
        "hardsigmoid",
        "silu",
        "gelu",
        "relu6",
        "mul",
    }
)
KEEPS_OUTPUT = frozenset({"relu", "sigmoid", "tanh"})
OWN_WORDS = {"max_pool": 2, "dropout": 1}
"""Words of indices and masks for each element of the output."""
SHARES_GRADIENT = frozenset({"add", "flatten", "identity"})


@dataclass(frozen=True)
class Tensors:
    """Who owns each operation's output: ``owner[i]`` is the first operation with the same storage
    (in-place operations and views share one)."""

    shaped: tuple[Shaped, ...]
    position: dict[str, int]
    owner: tuple[int, ...]

    def kind(self, index: int) -> str:
        """What the operation does."""
        return self.shaped[index].operation.kind

    def words(self, index: int) -> int:
        """Elements of the operation's output."""
        return self.shaped[index].words

    def inputs(self, index: int) -> list[int]:
        """Owners of the operation's inputs."""
        return [self.owner[self.position[name]] for name in self.shaped[index].operation.inputs]

    def keeps(self, index: int) -> list[tuple[int, int]]:
        """What the operation keeps for its backward pass: (owner, words); an owner below 0 is a
        tensor of its own."""
        kind = self.kind(index)
        kept = []
        if kind in KEEPS_INPUT:
            kept += [(owner, self.words(owner)) for owner in self.inputs(index)]
        if kind in KEEPS_OUTPUT:
            kept.append((self.owner[index], self.words(index)))
        if kind in OWN_WORDS:
            kept.append((-1 - index, OWN_WORDS[kind] * self.words(index)))
        return kept


def tensor_owners(shaped: tuple[Shaped, ...]) -> Tensors:
    """The owners of all outputs."""
    position = {entry.operation.name: index for index, entry in enumerate(shaped)}
    owner: list[int] = []
    for index, entry in enumerate(shaped):
        operation = entry.operation
        shares = operation.kind in VIEWS or (
            operation.in_place and operation.kind in ("relu", "add", "dropout")
        )
        owner.append(owner[position[operation.inputs[0]]] if shares and operation.inputs else index)
    return Tensors(shaped, position, tuple(owner))
