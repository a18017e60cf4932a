"""A network as a chain of blocks, each with its time and memory: what schedules of recomputation are planned on.

Which tensors PyTorch keeps for the backward pass follows from its derivative formulas (tools/autograd/derivatives.yaml): a convolution and a linear
layer keep their input, batch normalisation its input, ReLU its output, max-pooling its input and int64 indices, dropout a mask. Tests compare the
sums with what autograd's hooks report.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from suite.memory.network import Network
from suite.memory.shapes import Shaped, shapes

WORD_BYTES = 4
MACS_PER_WORD = 30
"""Time of writing one element in a normalisation or addition, in multiply-adds of a convolution; an estimate where no times were measured."""

VIEWS = frozenset({"flatten", "identity"})
KEEPS_INPUT = frozenset({"conv", "linear", "batch_norm", "max_pool", "avg_pool", "hardswish", "hardsigmoid", "silu", "gelu", "relu6", "mul"})
KEEPS_OUTPUT = frozenset({"relu", "sigmoid", "tanh"})
SHARES_GRADIENT = frozenset({"add", "flatten", "identity"})


@dataclass(frozen=True)
class Block:
    """One block of the chain; sizes in bytes for a whole mini-batch, times in any unit, the same for all blocks.

    ``kept_bytes``: what the block keeps for its backward pass with its output, without its input. ``forward_bytes``: what its forward pass needs
    beyond that at its highest; ``forward_alone_bytes``: the highest with nothing kept, output included. ``backward_bytes``: the highest of its
    backward pass, gradients of output and input and what it kept included. ``first`` and ``last`` are positions in the network's operations.
    """

    name: str
    first: int
    last: int
    input_bytes: int
    output_bytes: int
    kept_bytes: int
    forward_bytes: int
    forward_alone_bytes: int
    backward_bytes: int
    gradient_bytes: int
    forward_time: float
    backward_time: float


Chain = tuple[Block, ...]


@dataclass(frozen=True)
class Tensors:
    """Who owns each operation's output: ``owner[i]`` is the first operation with the same storage (in-place operations and views share one)."""

    shaped: tuple[Shaped, ...]
    position: dict[str, int]
    owner: tuple[int, ...]

    def inputs(self, index: int) -> list[int]:
        """Owners of the operation's inputs."""
        return [self.owner[self.position[name]] for name in self.shaped[index].operation.inputs]

    def keeps(self, index: int) -> list[tuple[int, int]]:
        """What the operation keeps for its backward pass: (owner, words); an owner below 0 is a tensor of its own."""
        entry = self.shaped[index]
        kind = entry.operation.kind
        kept = [(owner, self.shaped[owner].words) for owner in self.inputs(index)] if kind in KEEPS_INPUT else []
        if kind in KEEPS_OUTPUT:
            kept.append((self.owner[index], entry.words))
        if kind == "max_pool":
            kept.append((-1 - index, 2 * entry.words))
        if kind == "dropout":
            kept.append((-1 - index, entry.words))
        return kept


def tensors(shaped: tuple[Shaped, ...]) -> Tensors:
    """The owners of all outputs."""
    position = {entry.operation.name: index for index, entry in enumerate(shaped)}
    owner: list[int] = []
    for index, entry in enumerate(shaped):
        operation = entry.operation
        shares = operation.kind in VIEWS or (operation.in_place and operation.kind in ("relu", "add", "dropout"))
        owner.append(owner[position[operation.inputs[0]]] if shares and operation.inputs else index)
    return Tensors(shaped, position, tuple(owner))


def chain(network: Network, height: int, width: int, batch: int) -> Chain:
    """The chain of a network for mini-batches of ``batch`` pictures of this size."""
    table = tensors(shapes(network, height, width))
    ends = cuts(table)
    starts = [1, *(end + 1 for end in ends[:-1])]
    return tuple(_block(table, first, last, batch) for first, last in zip(starts, ends, strict=True))


def scaled(blocks: Chain, batch: int) -> Chain:
    """The chain of one picture for ``batch`` pictures."""
    return tuple(
        replace(
            block,
            input_bytes=block.input_bytes * batch,
            output_bytes=block.output_bytes * batch,
            kept_bytes=block.kept_bytes * batch,
            forward_bytes=block.forward_bytes * batch,
            forward_alone_bytes=block.forward_alone_bytes * batch,
            backward_bytes=block.backward_bytes * batch,
            forward_time=block.forward_time * batch,
            backward_time=block.backward_time * batch,
        )
        for block in blocks
    )


def cuts(table: Tensors) -> list[int]:
    """Positions of the last operations of all blocks: one tensor alone goes on from there, and the next operation has weights.

    Nothing after a cut writes into the tensor that crosses it.
    """
    count = len(table.shaped)
    last_reader = {owner: index for index in range(count) for owner in table.inputs(index)}
    last_writer = {table.owner[i]: i for i in range(count) if table.shaped[i].operation.kind not in VIEWS}
    crossing: set[int] = set()
    found = []
    for index in range(count - 1):
        crossing.add(table.owner[index])
        crossing = {owner for owner in crossing if last_reader.get(owner, -1) > index}
        has_weights = table.shaped[index + 1].operation.kind in ("conv", "linear")
        if index > 0 and has_weights and crossing == {table.owner[index]} and last_writer.get(table.owner[index], -1) <= index:
            found.append(index)
    return [*found, count - 1]


def _block(table: Tensors, first: int, last: int, batch: int) -> Block:
    source = table.owner[table.position[table.shaped[first].operation.inputs[0]]]
    result = table.owner[last]
    parts = table.shaped[first : last + 1]
    kept = _kept(table, first, last, source)
    kept_words = sum(({result: table.shaped[result].words} | kept).values())
    scale = batch * WORD_BYTES
    macs = sum(part.macs for part in parts)
    moved = sum(part.words for part in parts if part.operation.kind not in VIEWS)
    is_first = table.shaped[source].operation.kind == "input"
    return Block(
        name=_common_name(parts),
        first=first,
        last=last,
        input_bytes=table.shaped[source].words * scale,
        output_bytes=table.shaped[result].words * scale,
        kept_bytes=kept_words * scale,
        forward_bytes=(_forward_peak(table, first, last, source, kept) - kept_words) * scale,
        forward_alone_bytes=_forward_peak(table, first, last, source, {}) * scale,
        backward_bytes=_backward_peak(table, first, last, source, kept, is_first) * scale,
        gradient_bytes=sum(part.operation.parameters for part in parts) * WORD_BYTES,
        forward_time=float((macs + MACS_PER_WORD * moved) * batch),
        backward_time=float((macs * (1 if is_first else 2) + 2 * MACS_PER_WORD * moved) * batch),
    )


def _common_name(parts: Sequence[Shaped]) -> str:
    """The module that all layers of a block belong to, else the first layer."""
    paths = [part.operation.module.split(".") for part in parts if part.operation.module]
    if not paths:
        return parts[0].operation.name
    common = list(paths[0])
    for path in paths[1:]:
        common = [mine for mine, other in zip(common, path, strict=False) if mine == other] if path[: len(common)] != common else common
    return ".".join(common or paths[0])


def _kept(table: Tensors, first: int, last: int, source: int) -> dict[int, int]:
    kept = dict(item for index in range(first, last + 1) for item in table.keeps(index))
    kept.pop(source, None)
    return kept


def _forward_peak(table: Tensors, first: int, last: int, source: int, kept: dict[int, int]) -> int:
    """Most words alive at once while the block runs forward, its input not counted."""
    last_use = {owner: index for index in range(first, last + 1) for owner in table.inputs(index)}
    last_use[table.owner[last]] = last + 1
    alive: dict[int, int] = {}
    peak = 0
    for index in range(first, last + 1):
        alive[table.owner[index]] = table.shaped[table.owner[index]].words
        alive.update({owner: words for owner, words in table.keeps(index) if owner in kept})
        alive.pop(source, None)
        peak = max(peak, sum(alive.values()))
        alive = {owner: words for owner, words in alive.items() if owner in kept or last_use.get(owner, -1) > index}
    return peak


def _backward_peak(table: Tensors, first: int, last: int, source: int, kept: dict[int, int], is_first: bool) -> int:
    """Most words alive at once while the block runs backward: what it kept, and the gradients."""
    keepers = {owner: min(i for i in range(first, last + 1) if any(owner == o for o, _ in table.keeps(i))) for owner in kept}
    gradients: dict[int, int] = {last: table.shaped[last].words}
    peak = 0
    for index in range(last, first - 1, -1):
        mine = gradients.pop(index, 0)
        operation = table.shaped[index].operation
        targets = [table.position[name] for name in operation.inputs]
        made = {t: table.shaped[t].words for t in targets if not (is_first and table.owner[t] == source)}
        if operation.kind in SHARES_GRADIENT:
            made = dict(list(made.items())[:1]) if mine else made  # an addition hands its gradient on without a copy
            shared, mine = mine, 0
            peak = max(peak, _alive(kept, keepers, index) + sum(gradients.values()) + shared)
        else:
            fresh = sum(words for target, words in made.items())
            peak = max(peak, _alive(kept, keepers, index) + sum(gradients.values()) + mine + fresh)
        for target in targets:
            if target in made:
                gradients[target] = made[target]
            elif operation.kind in SHARES_GRADIENT:
                gradients.setdefault(target, 0)
    return peak


def _alive(kept: dict[int, int], keepers: dict[int, int], index: int) -> int:
    """Words of what was kept that the operation at ``index``, or one before it, still reads."""
    return sum(words for owner, words in kept.items() if keepers[owner] <= index)


def kept_words(network: Network, height: int, width: int) -> int:
    """Words that one sample leaves for the backward pass, the picture itself included."""
    table = tensors(shapes(network, height, width))
    return sum(dict(item for index in range(1, len(table.shaped)) for item in table.keeps(index)).values())


def gradients_after(blocks: Chain) -> list[int]:
    """Bytes of the gradients of the weights of block ``i`` and all later ones, for every i: what is there after its backward pass."""
    return list(accumulate(block.gradient_bytes for block in reversed(blocks)))[::-1]
