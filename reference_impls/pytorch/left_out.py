"""A block whose backward pass computes some of its activations again: which tensors autograd keeps,
and which it asks for.

An output that is left out is computed from tensors that are kept, with the operations that made it,
so it has the same bits. It is held from the first operation of the backward pass that reads it to
the last.
"""

import weakref
from time import monotonic
from typing import Any, Callable, ContextManager, Dict, List, Optional, Sequence

import torch
from torch import fx, nn

from reference_impls.pytorch.operations import run_node

Unchanged = Callable[[], ContextManager[None]]
RanAgain = Callable[[int, float], None]


class _Output:
    """Operations that write one output, the second and later ones in place; ``inputs`` are what
    they read from outside."""

    def __init__(self, node: fx.Node, value: torch.Tensor) -> None:
        self.nodes, self.inputs = [node], list(node.all_input_nodes)
        self._written = weakref.ref(value)
        self.pending = 0  # tensors that autograd has not asked for
        self.value: Any = None

    def write(self, node: fx.Node, value: torch.Tensor) -> None:
        """An operation wrote in place."""
        self.nodes.append(node)
        self.inputs += [argument for argument in node.all_input_nodes if argument not in self.nodes]
        self._written = weakref.ref(value)

    def is_(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor, at the output's address, is this output; an address may be used again
        when the output is gone."""
        written = self._written()
        return (
            written is not None and written.shape == tensor.shape and written.dtype == tensor.dtype
        )


class _Saved:
    """What autograd holds instead of a tensor: the tensor until its operation is over, and then the
    output that it is."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor: Any = tensor
        self.output: Any = None


class LeftOut:
    """The outputs that one forward run of a block leaves out.

    ``unchanged`` guards the statistics of normalisations while they run again; ``ran_again`` gets
    the number of operations that did, and seconds.
    """

    def __init__(
        self,
        nodes: Sequence[fx.Node],
        modules: Dict[str, nn.Module],
        unchanged: Unchanged,
        ran_again: RanAgain,
    ) -> None:
        self._nodes, self._modules, self._unchanged, self._ran_again = (
            set(nodes),
            modules,
            unchanged,
            ran_again,
        )
        self._count = 0
        self._outputs: Dict[fx.Node, _Output] = {}
        self._by_address: Dict[int, _Output] = {}
        self._held: Dict[fx.Node, torch.Tensor] = {}  # kept tensors that outputs are computed from
        self._saved: List[_Saved] = []  # by the operation that runs

    def reads(self, node: fx.Node, value: torch.Tensor) -> None:
        """A tensor is there that outputs may be computed from."""
        if any(user in self._nodes for user in node.users):
            self._held[node] = value.detach()

    def ran(self, node: fx.Node, known: Dict[fx.Node, torch.Tensor]) -> None:
        """An operation is over: what it saved is now known as an output that is left out, or
        stays."""
        value = known[node]
        address = value.data_ptr()
        if node in self._nodes:
            output: Optional[_Output] = self._by_address.get(address)
            if output is not None and output.nodes[-1] in node.all_input_nodes:
                output.write(node, value)
            else:
                output = self._by_address[address] = _Output(node, value)
            self._outputs[node] = output
        else:
            self._by_address.pop(address, None)
            self.reads(node, value)
        for saved in self._saved:
            output = self._by_address.get(saved.tensor.data_ptr())
            if output is not None and output.is_(saved.tensor):
                saved.output, saved.tensor = output, None
                output.pending += 1
        self._saved = []

    def pack(self, tensor: torch.Tensor) -> _Saved:
        """What autograd keeps of a tensor that the backward pass reads."""
        saved = _Saved(tensor)
        self._saved.append(saved)
        return saved

    def unpack(self, saved: _Saved) -> torch.Tensor:
        """The tensor."""
        if saved.output is None:
            return saved.tensor  # type: ignore[no-any-return]
        output = saved.output
        started, self._count = monotonic(), 0
        with torch.no_grad(), self._unchanged():
            value = self._value(output)
        self._ran_again(self._count, monotonic() - started)
        output.pending -= 1
        if output.pending == 0:
            output.value = None
            self._release()
        return value

    def _value(self, output: _Output) -> torch.Tensor:
        if output.value is None:
            known = {
                node: (
                    self._value(self._outputs[node]) if node in self._outputs else self._held[node]
                )
                for node in output.inputs
            }
            for node in output.nodes:
                known[node] = run_node(node, known, self._modules)
                self._count += 1
            output.value = known[output.nodes[-1]]
        value = output.value
        if output.pending == 0:  # nothing but other outputs reads it
            output.value = None
        return value  # type: ignore[no-any-return]

    def _release(self) -> None:
        """Let go of the tensors that no output will be computed from any more."""
        needed, waiting = (
            set(),
            [output for output in set(self._outputs.values()) if output.pending],
        )
        while waiting:
            output = waiting.pop()
            needed.update(output.inputs)
            waiting += [
                self._outputs[node]
                for node in output.inputs
                if node in self._outputs and self._outputs[node].value is None
            ]
        self._held = {node: value for node, value in self._held.items() if node in needed}
