"""A Keras model's weights under their canonical names and in the canonical layout, PyTorch's."""

from typing import Callable, Dict, NamedTuple, Tuple

import keras
import numpy as np

KINDS = {
    "kernel": "weight",
    "bias": "bias",
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}
Transposition = Callable[[np.ndarray], np.ndarray]


class Layout(NamedTuple):
    """The permutations of a kernel's axes from Keras to the canonical layout, and back."""

    to_canonical: Transposition
    from_canonical: Transposition


CONVOLUTION = Layout(
    lambda value: value.transpose(3, 2, 0, 1), lambda value: value.transpose(2, 3, 1, 0)
)
"""(height, width, in, out) and (out, in, height, width)."""
DEPTHWISE = Layout(
    lambda value: value.transpose(2, 3, 0, 1), lambda value: value.transpose(2, 3, 0, 1)
)
"""(height, width, channels, 1) and (channels, 1, height, width)."""
DENSE = Layout(np.transpose, np.transpose)
"""(in, out) and (out, in)."""
VECTOR = Layout(np.asarray, np.asarray)


class NamedVariable(NamedTuple):
    """A variable of the model, and its layout."""

    variable: keras.Variable
    layout: Layout

    def read(self) -> np.ndarray:
        """The value in the canonical layout."""
        return self.layout.to_canonical(np.asarray(self.variable))

    def write(self, value: np.ndarray) -> None:
        """Assign a value in the canonical layout."""
        self.variable.assign(self.layout.from_canonical(value))


def parameters(model: keras.Model) -> Dict[str, NamedVariable]:
    """The parameters, by canonical name."""
    return {
        name: named
        for name, named in _variables(model)
        if not name.endswith((".running_mean", ".running_var"))
    }


def statistics(model: keras.Model) -> Dict[str, NamedVariable]:
    """Batch normalisation's running mean and variance, by canonical name."""
    return {
        name: named
        for name, named in _variables(model)
        if name.endswith((".running_mean", ".running_var"))
    }


def _variables(model: keras.Model) -> "list[Tuple[str, NamedVariable]]":
    named = []
    for layer in model.layers:
        named += [
            (
                f"{layer.name}.{KINDS[variable.name]}",
                NamedVariable(variable, _layout(layer, variable)),
            )
            for variable in layer.weights
        ]
    return named


def _layout(layer: keras.Layer, variable: keras.Variable) -> Layout:
    if len(variable.shape) == 1:
        return VECTOR
    if isinstance(layer, keras.layers.DepthwiseConv2D):
        return DEPTHWISE
    return DENSE if len(variable.shape) == 2 else CONVOLUTION
