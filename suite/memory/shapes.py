"""Shapes of every operation's output for a picture of any size, without a framework."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from suite.errors import SuiteError
from suite.memory.network import Network, Operation

Shape = tuple[int, ...]
"""(channels, height, width), or (features,); of one sample."""


@dataclass(frozen=True)
class Shaped:
    """An operation with its input shapes and its output shape, per sample. ``words`` counts the
    output's elements, ``macs`` multiply-adds."""

    operation: Operation
    inputs: tuple[Shape, ...]
    shape: Shape

    @property
    def words(self) -> int:
        """Elements of the output."""
        return math.prod(self.shape)

    @property
    def macs(self) -> int:
        """Forward multiply-adds; 0 for operations without weights."""
        operation = self.operation
        if operation.kind == "conv":
            return self.words * math.prod(operation.kernel) * self.inputs[0][0] // operation.groups
        return self.words * self.inputs[0][0] if operation.kind == "linear" else 0


def operation_shapes(network: Network, height: int, width: int) -> tuple[Shaped, ...]:
    """Every operation with its shapes for pictures of this size. Raises SuiteError for a picture
    that is too small, naming the operation."""
    known: dict[str, Shape] = {}
    found = []
    for operation in network.operations:
        inputs = tuple(known[name] for name in operation.inputs)
        shape = (
            (network.image[0], height, width)
            if operation.kind == "input"
            else _RULES.get(operation.kind, _same)(operation, inputs)
        )
        if min(shape) < 1:
            raise SuiteError(
                f"An image of {height}x{width} is too small for {network.title}: nothing is left"
                f" of it after {operation.name}"
            )
        known[operation.name] = shape
        found.append(Shaped(operation, inputs, shape))
    return tuple(found)


def _same(operation: Operation, inputs: tuple[Shape, ...]) -> Shape:
    # a product of maps with one factor per channel has the maps' shape
    return max(inputs, key=math.prod)


def _window(operation: Operation, length: int, axis: int) -> int:
    """Places of a sliding window along one axis (PyTorch's formula)."""
    reach = (
        length
        + 2 * operation.padding[axis]
        - operation.dilation[axis] * (operation.kernel[axis] - 1)
        - 1
    )
    places = (
        math.ceil(reach / operation.stride[axis])
        if operation.ceil
        else reach // operation.stride[axis]
    )
    starts_outside = (
        operation.ceil and places * operation.stride[axis] >= length + operation.padding[axis]
    )
    return places + (0 if starts_outside else 1)


def _convolved(operation: Operation, inputs: tuple[Shape, ...]) -> Shape:
    channels, height, width = inputs[0]
    return (
        operation.channels or channels,
        _window(operation, height, 0),
        _window(operation, width, 1),
    )


def _linear(operation: Operation, inputs: tuple[Shape, ...]) -> Shape:
    features = inputs[0][-1]
    expected = operation.parameters // operation.channels
    if features != expected and features != expected - 1:  # with or without a bias
        raise SuiteError(
            f"{operation.name} takes {expected - 1} features, not {features}",
            "this network takes images of one size only; leave --image out",
        )
    return (*inputs[0][:-1], operation.channels)


_RULES: dict[str, Callable[[Operation, tuple[Shape, ...]], Shape]] = {
    "conv": _convolved,
    "max_pool": _convolved,
    "avg_pool": _convolved,
    "linear": _linear,
    "adaptive_pool": lambda operation, inputs: (inputs[0][0], *operation.size),
    "flatten": lambda operation, inputs: (math.prod(inputs[0]),),
    "concatenate": lambda operation, inputs: (sum(shape[0] for shape in inputs), *inputs[0][1:]),
}
