"""A network as a chain of blocks, each with its time and memory: what schedules of recomputation
are planned on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from suite.memory.leaving_out import Choice, choices
from suite.memory.network import Network
from suite.memory.peaks import backward_peak, forward_peak, kept_of, lives
from suite.memory.shapes import Shaped, shapes
from suite.memory.tensors import VIEWS, Tensors, tensors

WORD_BYTES = 4
MACS_PER_WORD = 30
"""Time of writing one element in a normalisation or addition, in multiply-adds of a convolution; an
estimate where no times were measured."""


@dataclass(frozen=True)
class LeftOut:
    """A way to keep a block without some outputs, which its backward pass computes again; sizes and
    time as in :class:`Block`.

    ``positions`` are those of the operations that run again, ``time`` is theirs.
    """

    positions: tuple[int, ...]
    kept_bytes: int
    forward_bytes: int
    backward_bytes: int
    time: float


@dataclass(frozen=True)
class Block:
    """One block of the chain; sizes in bytes for a whole mini-batch, times in any unit, the same
    for all blocks.

    ``kept_bytes``: what the block keeps for its backward pass with its output, without its input.
    ``forward_bytes``: what its forward pass needs beyond that at its highest;
    ``forward_alone_bytes``: the highest with nothing kept, output included. ``backward_bytes``: the
    highest of its backward pass, gradients of output and input and what it kept included. ``first``
    and ``last`` are positions in the network's operations. ``options`` are ways to keep less, the
    one that saves most last.
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
    largest_gradient_bytes: int = 0
    options: tuple[LeftOut, ...] = ()


Chain = tuple[Block, ...]


@dataclass(frozen=True)
class Times:
    """Times of every operation's forward and backward run for one sample, in any unit."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]


def estimated(table: Tensors) -> Times:
    """Times from multiply-adds and written elements, where none were measured."""
    forward: list[float] = []
    backward: list[float] = []
    for entry in table.shaped:
        written = 0 if entry.operation.kind in VIEWS else MACS_PER_WORD * entry.words
        is_first = any(
            table.shaped[owner].operation.kind == "input" for owner in table.inputs(len(forward))
        )
        forward.append(float(entry.macs + written))
        backward.append(float(entry.macs * (1 if is_first else 2) + 2 * written))
    return Times(tuple(forward), tuple(backward))


def chain(
    network: Network, height: int, width: int, batch: int, times: Times | None = None
) -> Chain:
    """The chain of a network for mini-batches of ``batch`` pictures of this size, with measured
    times or estimated ones."""
    table = tensors(shapes(network, height, width))
    ends = cuts(table)
    starts = [1, *(end + 1 for end in ends[:-1])]
    known = times or estimated(table)
    return scaled(
        tuple(_block(table, first, last, known) for first, last in zip(starts, ends, strict=True)),
        batch,
    )


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
            options=tuple(_scaled_option(option, batch) for option in block.options),
        )
        for block in blocks
    )


def _scaled_option(option: LeftOut, batch: int) -> LeftOut:
    sizes = {
        name: getattr(option, name) * batch
        for name in ("kept_bytes", "forward_bytes", "backward_bytes")
    }
    return replace(option, time=option.time * batch, **sizes)


def cuts(table: Tensors) -> list[int]:
    """Positions of the last operations of all blocks: one tensor alone goes on from there, and the
    next operation has weights.

    Nothing after a cut writes into the tensor that crosses it.
    """
    count = len(table.shaped)
    last_reader = {owner: index for index in range(count) for owner in table.inputs(index)}
    last_writer = {
        table.owner[i]: i for i in range(count) if table.shaped[i].operation.kind not in VIEWS
    }
    crossing: set[int] = set()
    found = []
    for index in range(count - 1):
        crossing.add(table.owner[index])
        crossing = {owner for owner in crossing if last_reader.get(owner, -1) > index}
        has_weights = table.shaped[index + 1].operation.kind in ("conv", "linear")
        if (
            index > 0
            and has_weights
            and crossing == {table.owner[index]}
            and last_writer.get(table.owner[index], -1) <= index
        ):
            found.append(index)
    return [*found, count - 1]


def _block(table: Tensors, first: int, last: int, times: Times) -> Block:
    source = table.owner[table.position[table.shaped[first].operation.inputs[0]]]
    result = table.owner[last]
    parts = table.shaped[first : last + 1]
    kept = kept_of(table, first, last, source)
    kept_words = sum(({result: table.shaped[result].words} | kept).values())
    is_first = table.shaped[source].operation.kind == "input"
    found = choices(table, first, last, source, kept, times.forward)
    return Block(
        name=_common_name(parts),
        first=first,
        last=last,
        input_bytes=table.shaped[source].words * WORD_BYTES,
        output_bytes=table.shaped[result].words * WORD_BYTES,
        kept_bytes=kept_words * WORD_BYTES,
        forward_bytes=(forward_peak(table, first, last, source, kept) - kept_words) * WORD_BYTES,
        forward_alone_bytes=forward_peak(table, first, last, source, {}) * WORD_BYTES,
        backward_bytes=backward_peak(
            table, first, last, source, lives(table, first, last, kept), is_first
        )
        * WORD_BYTES,
        gradient_bytes=sum(part.operation.parameters for part in parts) * WORD_BYTES,
        largest_gradient_bytes=max(part.operation.parameters for part in parts) * WORD_BYTES,
        forward_time=sum(times.forward[first : last + 1]),
        backward_time=sum(times.backward[first : last + 1]),
        options=tuple(_option(table, first, last, source, choice, times) for choice in found),
    )


def _option(
    table: Tensors, first: int, last: int, source: int, choice: Choice, times: Times
) -> LeftOut:
    result = table.owner[last]
    kept_words = sum(({result: table.shaped[result].words} | choice.kept).values())
    is_first = table.shaped[source].operation.kind == "input"
    return LeftOut(
        positions=choice.positions,
        kept_bytes=kept_words * WORD_BYTES,
        forward_bytes=(forward_peak(table, first, last, source, choice.kept) - kept_words)
        * WORD_BYTES,
        backward_bytes=backward_peak(table, first, last, source, choice.there, is_first)
        * WORD_BYTES,
        time=sum(times.forward[position] for position in choice.positions),
    )


def _common_name(parts: Sequence[Shaped]) -> str:
    """The module that all layers of a block belong to, else the first layer."""
    paths = [part.operation.module.split(".") for part in parts if part.operation.module]
    if not paths:
        return parts[0].operation.name
    common = list(paths[0])
    for path in paths[1:]:
        common = (
            [mine for mine, other in zip(common, path, strict=False) if mine == other]
            if path[: len(common)] != common
            else common
        )
    return ".".join(common or paths[0])


def kept_words(network: Network, height: int, width: int) -> int:
    """Words that one sample leaves for the backward pass, the picture itself included."""
    table = tensors(shapes(network, height, width))
    return sum(
        dict(item for index in range(1, len(table.shaped)) for item in table.keeps(index)).values()
    )


def gradients_after(blocks: Chain) -> list[int]:
    """Bytes of the gradients of the weights of block ``i`` and all later ones, for every i: what is
    there after its backward pass."""
    return list(accumulate(block.gradient_bytes for block in reversed(blocks)))[::-1]


def updated_at_once(blocks: Chain) -> Chain:
    """The chain where each weight is updated as soon as its gradient is there, which is freed then:
    no gradients gather.

    The largest layer's gradient is counted in its block's backward pass.
    """
    return tuple(_updated(block) for block in blocks)


def _updated(block: Block) -> Block:
    options = tuple(
        replace(option, backward_bytes=option.backward_bytes + block.largest_gradient_bytes)
        for option in block.options
    )
    return replace(
        block,
        backward_bytes=block.backward_bytes + block.largest_gradient_bytes,
        gradient_bytes=0,
        options=options,
    )
