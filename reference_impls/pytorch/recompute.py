"""Training steps that follow a schedule of recomputation, with the gradients of ordinary training
bit for bit.

The network is cut into blocks; a schedule is a list of [action, block], the actions as in
suite.memory.schedule. A block that runs again in the same step draws the same dropout masks and
leaves the statistics of batch normalisation alone. [action, block, positions] keeps a block without
the outputs of the operations at these positions of the trace: the backward pass computes them again
when it reads them. What a block kept may be on storage until then (reference_impls.pytorch.spill).
"""

from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import torch
from torch import fx, nn

from reference_impls.pytorch.left_out import LeftOut, RanAgain
from reference_impls.pytorch.operations import operations_of, run_node
from reference_impls.pytorch.spill import Kept, SpillFile

ScheduleStep = Sequence[Any]
Loss = Callable[[torch.Tensor], torch.Tensor]
"""Of the network's output; also how a block makes its output."""


class Block:
    """A range of the network's operations, in the order of its trace; ``nodes`` read the output of
    ``source`` and each other's.

    ``first`` is the position of the first one.
    """

    def __init__(self, nodes: Sequence[fx.Node], modules: Dict[str, nn.Module], first: int) -> None:
        self._nodes, self._modules, self._first = nodes, modules, first
        own = set(nodes)
        sources = [
            argument for node in nodes for argument in node.all_input_nodes if argument not in own
        ]
        if len(set(sources)) != 1:
            raise ValueError(
                "the block {} reads {} tensors from outside; it must read one".format(
                    nodes[0].name, len(set(sources))
                )
            )
        self._source = sources[0]
        self._last_use = {argument: node for node in nodes for argument in node.all_input_nodes}
        layers = [modules[str(node.target)] for node in nodes if node.op == "call_module"]
        self._normalisations = [
            layer for layer in layers if isinstance(layer, nn.modules.batchnorm._BatchNorm)
        ]
        functions = [
            str(getattr(node.target, "__name__", node.target))
            for node in nodes
            if node.op == "call_function"
        ]
        tensors = [tensor for layer in layers for tensor in (*layer.parameters(), *layer.buffers())]
        self.own = {tensor.untyped_storage().data_ptr() for tensor in tensors}
        self.is_random = any(
            isinstance(layer, nn.modules.dropout._DropoutNd) for layer in layers
        ) or "dropout" in " ".join(functions)

    def __call__(self, value: torch.Tensor, left_out: Optional[LeftOut] = None) -> torch.Tensor:
        """The block's output."""
        known = {self._source: value}
        del value
        for node in self._nodes:
            known[node] = run_node(node, known, self._modules)
            if left_out is not None:
                left_out.ran(node, known)
            for argument in node.all_input_nodes:
                if self._last_use[argument] is node:
                    known.pop(argument, None)
        return known[self._nodes[-1]]

    def leaving_out(
        self, positions: Sequence[int], ran_again: RanAgain, value: torch.Tensor
    ) -> torch.Tensor:
        """The block's output; autograd keeps everything but the outputs of the operations at these
        positions."""
        nodes = [self._nodes[position - self._first] for position in positions]
        left_out = LeftOut(nodes, self._modules, self.statistics_unchanged, ran_again)
        left_out.reads(self._source, value)
        with torch.autograd.graph.saved_tensors_hooks(left_out.pack, left_out.unpack):
            return self(value, left_out)

    def noting(self, kept: Kept, value: torch.Tensor) -> torch.Tensor:
        """The block's output; ``kept`` notes what autograd keeps."""
        with torch.autograd.graph.saved_tensors_hooks(kept.pack, kept.unpack):
            return self(value)

    @contextmanager
    def statistics_unchanged(self) -> Iterator[None]:
        """Batch normalisation inside normalises by the mini-batch, as in training, and updates
        nothing."""
        tracked = [layer for layer in self._normalisations if layer.track_running_stats]
        for layer in tracked:
            layer.track_running_stats = False
        try:
            yield
        finally:
            for layer in tracked:
                layer.track_running_stats = True


def blocks(model: nn.Module, ranges: Sequence[Tuple[int, int]]) -> List[Block]:
    """The network's blocks; a range holds the positions of its first and last operation in the
    trace. Raises ValueError for one with two inputs."""
    nodes, modules = operations_of(model), dict(model.named_modules())
    return [Block(nodes[first : last + 1], modules, first) for first, last in ranges]


class Counts:
    """What all steps ran: forward and backward runs of blocks, and operations that backward passes
    ran again.

    Seconds in all passes, and those in what had run in its step before.
    """

    def __init__(self) -> None:
        self.forwards = self.backwards = self.operations_again = 0
        self.passes_s = self.again_s = 0.0

    def ran_again(self, operations: int, seconds: float) -> None:
        """A backward pass ran operations again."""
        self.operations_again += operations
        self.again_s += seconds


class ScheduledStep:
    """Forward and backward pass of one mini-batch by a schedule; gradients are added to the
    parameters' ``grad``. ``counts`` is of all steps.

    ``spill`` takes the blocks that the schedule spills.
    """

    def __init__(
        self,
        parts: Sequence[Block],
        schedule: Sequence[ScheduleStep],
        spill: Optional[SpillFile] = None,
    ) -> None:
        self._parts, self._schedule, self.spill = parts, schedule, spill
        self._moved = {block for action, block, *_ in schedule if action == "spill"}
        if self._moved and spill is None:
            raise ValueError(
                "the schedule spills {} blocks, and there is no file for them".format(
                    len(self._moved)
                )
            )
        self.blocks, self.counts = len(parts), Counts()

    def __call__(self, images: torch.Tensor, loss: Loss) -> float:
        """The mini-batch's loss, which ``loss`` computes from the network's output."""
        run, started = (
            _Run(self._parts, images, loss, self.counts, self.spill, self._moved),
            monotonic(),
        )
        for action, block, *left_out in self._schedule:
            run.take(action, block, left_out[0] if left_out else ())
        self.counts.passes_s += monotonic() - started
        return run.loss


class _Root(torch.autograd.Function):
    """A number from which a block's backward pass begins with the gradient in ``holder``; from a
    tensor PyTorch would import 36 MB of SymPy.

    The gradient leaves the holder when it is read, and nothing else refers to it or to the block's
    output: autograd frees both as without blocks.
    """

    @staticmethod
    def forward(ctx: Any, output: torch.Tensor, holder: List[torch.Tensor]) -> torch.Tensor:
        ctx.holder = holder
        return output.new_zeros(())

    @staticmethod
    def backward(ctx: Any, one: torch.Tensor) -> Tuple[torch.Tensor, None]:
        return ctx.holder.pop(), None


class _Run:
    """One step. ``moved`` are the blocks that are spilled."""

    def __init__(
        self,
        parts: Sequence[Block],
        images: torch.Tensor,
        loss: Loss,
        counts: Counts,
        spill: Any,
        moved: Set[int],
    ) -> None:
        self._parts, self._loss_of, self._counts, self._spill, self._moved = (
            parts,
            loss,
            counts,
            spill,
            moved,
        )
        self._inputs: Dict[int, torch.Tensor] = {0: images}
        self._roots: Dict[int, torch.Tensor] = {}
        # of each kept block: takes the gradient of its output
        self._holders: Dict[int, List[torch.Tensor]] = {}
        # the one that waits for the next block's backward pass
        self._gradients: List[torch.Tensor] = []
        self._random: Dict[int, Any] = {}
        self._kept: Any = None  # of the block that is spilled next
        self._started = 0  # blocks that have run in this step
        self._current: Any = images
        self.loss = float("nan")

    def take(self, action: str, block: int, left_out: Sequence[int]) -> None:
        """Execute one step of the schedule."""
        if action == "restore":
            self._current = self._inputs[block].detach()
        elif action == "backward":
            self._backward(block)
        elif action == "keep":
            self._keep(block, left_out)
        elif action == "spill":
            # a mini-batch is the pipeline's
            self._spill.write(
                self._kept.without(self._current, *([self._inputs[0]] if block == 0 else []))
            )
            self._kept = None
        elif action == "fetch":
            self._spill.read()
        else:
            if action == "checkpoint":
                self._inputs.setdefault(block, self._current)
            value, self._current = self._current, None
            with torch.no_grad():
                self._current = self._forward(block, value, self._parts[block])

    def _keep(self, block: int, left_out: Sequence[int]) -> None:
        value, self._current = self._current.detach().requires_grad_(block > 0), None
        self._inputs[block] = value
        with torch.enable_grad():
            output = self._forward(block, value, self._way(block, left_out))
            if block == len(self._parts) - 1:
                output = self._roots[block] = self._loss_of(output)
                self.loss = output.item()
            else:
                self._holders[block] = []
                self._roots[block] = _Root.apply(output, self._holders[block])
        self._current = output.detach()

    def _way(self, block: int, left_out: Sequence[int]) -> Loss:
        """How a block runs whose backward pass follows."""
        part = self._parts[block]
        if block in self._moved:
            self._kept = Kept(part.own)
            return partial(part.noting, self._kept)
        return partial(part.leaving_out, left_out, self._counts.ran_again) if left_out else part

    def _forward(self, block: int, value: torch.Tensor, run: Loss) -> torch.Tensor:
        part = self._parts[block]
        self._counts.forwards += 1
        if block >= self._started:
            self._started = block + 1
            if part.is_random:
                self._random[block] = torch.get_rng_state()
            return run(value)
        started = monotonic()
        before = torch.get_rng_state() if part.is_random else None
        if part.is_random:
            torch.set_rng_state(self._random[block])
        try:
            with part.statistics_unchanged():
                return run(value)
        finally:
            if before is not None:
                torch.set_rng_state(before)
            self._counts.again_s += monotonic() - started

    def _backward(self, block: int) -> None:
        self._counts.backwards += 1
        self._current = None
        root, value = self._roots.pop(block), self._inputs.pop(block)
        if block < len(self._parts) - 1:
            self._holders.pop(block).append(self._gradients.pop())
        root.backward()
        if value.grad is not None:
            self._gradients.append(value.grad)
            value.grad = None
