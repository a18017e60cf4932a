"""A network as a chain of blocks, each with its time and memory: what schedules of recomputation
are planned on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from suite.memory.leaving_out import Choice, choices_to_leave_out
from suite.memory.network import Network
from suite.memory.peaks import BlockSpan
from suite.memory.shapes import Shaped, operation_shapes
from suite.memory.tensors import VIEWS, Tensors, tensor_owners

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
Way = TypeVar("Way", Block, LeftOut)
OF_A_PICTURE = (
    *("input_bytes", "output_bytes", "kept_bytes", "forward_bytes", "forward_alone_bytes"),
    *("backward_bytes", "forward_time", "backward_time", "time"),
)
"""Sizes and times that grow with the mini-batch; those of gradients do not."""


@dataclass(frozen=True)
class Times:
    """Times of every operation's forward and backward run for one sample, in any unit."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]


def estimated(table: Tensors) -> Times:
    """Times from multiply-adds and written elements, where none were measured."""
    forward: list[float] = []
    backward: list[float] = []
    for index, entry in enumerate(table.shaped):
        written = 0 if entry.operation.kind in VIEWS else MACS_PER_WORD * entry.words
        is_first = any(table.kind(owner) == "input" for owner in table.inputs(index))
        forward.append(float(entry.macs + written))
        backward.append(float(entry.macs * (1 if is_first else 2) + 2 * written))
    return Times(tuple(forward), tuple(backward))


def network_chain(
    network: Network, height: int, width: int, batch: int, times: Times | None = None
) -> Chain:
    """The chain of a network for mini-batches of ``batch`` pictures of this size, with measured
    times or estimated ones."""
    table = tensor_owners(operation_shapes(network, height, width))
    ends = cuts(table)
    starts = [1, *(end + 1 for end in ends[:-1])]
    known = times or estimated(table)
    spans = (BlockSpan(table, first, last) for first, last in zip(starts, ends, strict=True))
    return scale_chain(tuple(_block(span, known) for span in spans), batch)


def scale_chain(blocks: Chain, batch: int) -> Chain:
    """The chain of one picture for ``batch`` pictures."""
    return tuple(
        replace(
            _of_batch(block, batch),
            options=tuple(_of_batch(option, batch) for option in block.options),
        )
        for block in blocks
    )


def _of_batch(way: Way, batch: int) -> Way:
    """The sizes and times of a block, or of a way to keep it, for ``batch`` pictures."""
    own = [name for name in OF_A_PICTURE if hasattr(way, name)]
    return replace(way, **{name: getattr(way, name) * batch for name in own})


def cuts(table: Tensors) -> list[int]:
    """Positions of the last operations of all blocks: one tensor alone goes on from there, and the
    next operation has weights.

    Nothing after a cut writes into the tensor that crosses it.
    """
    count = len(table.shaped)
    last_reader = {owner: index for index in range(count) for owner in table.inputs(index)}
    last_writer = {table.owner[i]: i for i in range(count) if table.kind(i) not in VIEWS}
    crossing: set[int] = set()
    found = []
    for index in range(count - 1):
        owner = table.owner[index]
        crossing = {each for each in {*crossing, owner} if last_reader.get(each, -1) > index}
        has_weights = table.kind(index + 1) in ("conv", "linear")
        is_complete = crossing == {owner} and last_writer.get(owner, -1) <= index
        if index > 0 and has_weights and is_complete:
            found.append(index)
    return [*found, count - 1]


def _block(span: BlockSpan, times: Times) -> Block:
    table, here = span.table, slice(span.first, span.last + 1)
    parts = table.shaped[here]
    parameters = [part.operation.parameters for part in parts]
    whole, *others = (
        _left_out(span, choice, times) for choice in choices_to_leave_out(span, times.forward)
    )
    return Block(
        name=_common_name(parts),
        first=span.first,
        last=span.last,
        input_bytes=table.words(span.source) * WORD_BYTES,
        output_bytes=table.words(span.result) * WORD_BYTES,
        kept_bytes=whole.kept_bytes,
        forward_bytes=whole.forward_bytes,
        forward_alone_bytes=span.forward_peak({}) * WORD_BYTES,
        backward_bytes=whole.backward_bytes,
        gradient_bytes=sum(parameters) * WORD_BYTES,
        largest_gradient_bytes=max(parameters) * WORD_BYTES,
        forward_time=sum(times.forward[here]),
        backward_time=sum(times.backward[here]),
        options=tuple(others),
    )


def _left_out(span: BlockSpan, choice: Choice, times: Times) -> LeftOut:
    kept_words = sum(({span.result: span.table.words(span.result)} | choice.kept).values())
    return LeftOut(
        positions=choice.positions,
        kept_bytes=kept_words * WORD_BYTES,
        forward_bytes=(span.forward_peak(choice.kept) - kept_words) * WORD_BYTES,
        backward_bytes=span.backward_peak(choice.there) * WORD_BYTES,
        time=sum(times.forward[position] for position in choice.positions),
    )


def _common_name(parts: Sequence[Shaped]) -> str:
    """The module that all layers of a block belong to, else the first layer."""
    paths = [part.operation.module.split(".") for part in parts if part.operation.module]
    if not paths:
        return parts[0].operation.name
    common = paths[0]
    for path in paths[1:]:
        common = [mine for mine, other in zip(common, path, strict=False) if mine == other]
    return ".".join(common or paths[0])


def kept_words(network: Network, height: int, width: int) -> int:
    """Words that one sample leaves for the backward pass, the picture itself included."""
    table = tensor_owners(operation_shapes(network, height, width))
    return sum(BlockSpan(table, 1, len(table.shaped) - 1).all_kept().values())


def gradients_after(blocks: Chain) -> list[int]:
    """Bytes of the gradients of the weights of block ``i`` and all later ones, for every i: what is
    there after its backward pass."""
    return list(accumulate(block.gradient_bytes for block in reversed(blocks)))[::-1]


def updated_at_once(blocks: Chain) -> Chain:
    """The chain where each weight is updated as soon as its gradient is there, which is freed then:
    no gradients gather.

    The largest layer's gradient is counted in its block's backward pass.
    """
    return tuple(
        replace(
            _with_gradient(block, block.largest_gradient_bytes),
            gradient_bytes=0,
            options=tuple(
                _with_gradient(option, block.largest_gradient_bytes) for option in block.options
            ),
        )
        for block in blocks
    )


def _with_gradient(way: Way, gradient_bytes: int) -> Way:
    return replace(way, backward_bytes=way.backward_bytes + gradient_bytes)
