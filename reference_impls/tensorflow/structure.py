"""The structure of a Keras model, in canonical names and shapes."""

from typing import Iterator, List

import keras

from reference_impls.structure import Layer
from reference_impls.tensorflow import weights


def layers_of(model: keras.Model) -> Iterator[Layer]:
    """Every layer with weights."""
    named = weights.parameters(model)
    for layer in (each for each in model.layers if each.weights):
        is_normalisation = isinstance(layer, keras.layers.BatchNormalization)
        shape = named[layer.name + ".weight"].read().shape
        yield Layer(
            layer.name,
            tuple(shape),
            layer.name + ".bias" in named,
            stride=getattr(layer, "strides", (1,))[0],
            groups=(
                shape[0]
                if isinstance(layer, keras.layers.DepthwiseConv2D)
                else getattr(layer, "groups", 1)
            ),
            epsilon=layer.epsilon if is_normalisation else None,
            momentum=1 - layer.momentum if is_normalisation else None,
        )


def dropout_of(model: keras.Model) -> List[float]:
    """The rates of all layers of dropout."""
    return [layer.rate for layer in model.layers if hasattr(layer, "rate")]
