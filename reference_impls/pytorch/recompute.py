"""Training steps that follow a schedule of recomputation, with the gradients of ordinary training bit for bit.

The network is cut into blocks; a schedule is a list of (action, block), the actions as in suite.memory.schedule. A block that runs again in the same
step draws the same dropout masks and leaves the statistics of batch normalisation alone.
"""

from contextlib import contextmanager
from time import monotonic
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import torch
from torch import fx, nn

ScheduleStep = Tuple[str, int]
Loss = Callable[[torch.Tensor], torch.Tensor]


class Block:
    """A range of the network's operations, in the order of its trace; ``nodes`` read the output of ``source`` and each other's."""

    def __init__(self, nodes: Sequence[fx.Node], modules: Dict[str, nn.Module]) -> None:
        self._nodes, self._modules = nodes, modules
        own = set(nodes)
        sources = [argument for node in nodes for argument in node.all_input_nodes if argument not in own]
        if len(set(sources)) != 1:
            raise ValueError("the block {} reads {} tensors from outside; it must read one".format(nodes[0].name, len(set(sources))))
        self._source = sources[0]
        layers = [modules[str(node.target)] for node in nodes if node.op == "call_module"]
        self._normalisations = [layer for layer in layers if isinstance(layer, nn.modules.batchnorm._BatchNorm)]
        functions = [str(getattr(node.target, "__name__", node.target)) for node in nodes if node.op == "call_function"]
        self.is_random = any(isinstance(layer, nn.modules.dropout._DropoutNd) for layer in layers) or "dropout" in " ".join(functions)

    def __call__(self, value: torch.Tensor) -> torch.Tensor:
        """The block's output."""
        last_use = {argument: node for node in self._nodes for argument in node.all_input_nodes}
        known = {self._source: value}
        del value
        for node in self._nodes:
            arguments = fx.node.map_arg(node.args, known.__getitem__)
            options = fx.node.map_arg(node.kwargs, known.__getitem__)
            if node.op == "call_module":
                known[node] = self._modules[str(node.target)](*arguments, **options)
            elif node.op == "call_method":
                known[node] = getattr(arguments[0], str(node.target))(*arguments[1:], **options)
            else:
                known[node] = node.target(*arguments, **options)
            del arguments, options
            for argument in node.all_input_nodes:
                if last_use[argument] is node:
                    known.pop(argument, None)
        return known[self._nodes[-1]]

    @contextmanager
    def statistics_unchanged(self) -> Iterator[None]:
        """Batch normalisation inside normalises by the mini-batch, as in training, and updates nothing."""
        tracked = [layer for layer in self._normalisations if layer.track_running_stats]
        for layer in tracked:
            layer.track_running_stats = False
        try:
            yield
        finally:
            for layer in tracked:
                layer.track_running_stats = True


def blocks(model: nn.Module, ranges: Sequence[Tuple[int, int]]) -> List[Block]:
    """The network's blocks; a range holds the positions of its first and last operation in the trace. Raises ValueError for one with two inputs."""
    nodes = [node for node in fx.Tracer().trace(model).nodes if node.op not in ("output", "get_attr")]
    modules = dict(model.named_modules())
    return [Block(nodes[first : last + 1], modules) for first, last in ranges]


class Counts:
    """What all steps ran: forward and backward runs of blocks; seconds in all passes, and those in blocks that had run in their step before."""

    def __init__(self) -> None:
        self.forwards = self.backwards = 0
        self.passes_s = self.again_s = 0.0


class ScheduledStep:
    """Forward and backward pass of one mini-batch by a schedule; gradients are added to the parameters' ``grad``. ``counts`` is of all steps."""

    def __init__(self, parts: Sequence[Block], schedule: Sequence[ScheduleStep]) -> None:
        self._parts, self._schedule = parts, schedule
        self.blocks, self.counts = len(parts), Counts()

    def __call__(self, images: torch.Tensor, loss: Loss) -> float:
        """The mini-batch's loss, which ``loss`` computes from the network's output."""
        run, started = _Run(self._parts, images, loss, self.counts), monotonic()
        for action, block in self._schedule:
            run.take(action, block)
        self.counts.passes_s += monotonic() - started
        return run.loss


class _Root(torch.autograd.Function):
    """An empty tensor from which a block's backward pass begins with the gradient in ``holder``.

    The gradient leaves the holder when it is read, and nothing else refers to it or to the block's output: autograd frees both as without blocks.
    """

    @staticmethod
    def forward(ctx: Any, output: torch.Tensor, holder: List[torch.Tensor]) -> torch.Tensor:
        ctx.holder = holder
        return output.new_empty(0)

    @staticmethod
    def backward(ctx: Any, empty: torch.Tensor) -> Tuple[torch.Tensor, None]:
        return ctx.holder.pop(), None


class _Run:
    def __init__(self, parts: Sequence[Block], images: torch.Tensor, loss: Loss, counts: Counts) -> None:
        self._parts, self._loss_of, self._counts = parts, loss, counts
        self._inputs: Dict[int, torch.Tensor] = {0: images}
        self._roots: Dict[int, torch.Tensor] = {}
        self._holders: Dict[int, List[torch.Tensor]] = {}  # of each kept block: takes the gradient of its output
        self._gradients: List[torch.Tensor] = []  # the one that waits for the next block's backward pass
        self._random: Dict[int, Any] = {}
        self._started = 0  # blocks that have run in this step
        self._current: Any = images
        self.loss = float("nan")

    def take(self, action: str, block: int) -> None:
        """Execute one step of the schedule."""
        if action == "restore":
            self._current = self._inputs[block].detach()
        elif action == "backward":
            self._backward(block)
        elif action == "keep":
            self._keep(block)
        else:
            if action == "checkpoint":
                self._inputs.setdefault(block, self._current)
            value, self._current = self._current, None
            with torch.no_grad():
                self._current = self._forward(block, value)

    def _keep(self, block: int) -> None:
        value, self._current = self._current.detach().requires_grad_(block > 0), None
        self._inputs[block] = value
        with torch.enable_grad():
            output = self._forward(block, value)
            if block == len(self._parts) - 1:
                output = self._roots[block] = self._loss_of(output)
                self.loss = output.item()
            else:
                self._holders[block] = []
                self._roots[block] = _Root.apply(output, self._holders[block])
        self._current = output.detach()

    def _forward(self, block: int, value: torch.Tensor) -> torch.Tensor:
        part = self._parts[block]
        self._counts.forwards += 1
        if block >= self._started:
            self._started = block + 1
            if part.is_random:
                self._random[block] = torch.get_rng_state()
            return part(value)
        started = monotonic()
        before = torch.get_rng_state() if part.is_random else None
        if part.is_random:
            torch.set_rng_state(self._random[block])
        try:
            with part.statistics_unchanged():
                return part(value)
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
        root.backward(None if block == len(self._parts) - 1 else root.detach())
        if value.grad is not None:
            self._gradients.append(value.grad)
            value.grad = None
