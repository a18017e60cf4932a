"""Initial weights made by NumPy from the seed, so that every framework starts from the same values.

``numpy.random.RandomState`` is used on purpose: its stream is frozen for all NumPy versions (NEP
19), and the frameworks need different ones. Each parameter has a random stream, seeded with the
run's seed and the parameter's name, so that neither the order of parameters nor an added one
changes the others.
"""

import zlib
from typing import Dict, Mapping, Tuple

import numpy as np

from reference_impls.contract import Request

Shape = Tuple[int, ...]
Shapes = Mapping[str, Shape]


FRESH = "fresh/"
"""Before the names of streams where training begins with a checkpoint: a parameter that is drawn
anew is not the one that the same seed drew for the checkpoint."""


def make(distribution: str, shapes: Shapes, seed: int, stream: str = "") -> Dict[str, np.ndarray]:
    """Float32 arrays by canonical name.

    ``shapes`` gives each parameter's canonical name and shape: ``<layer>.weight`` (out, in[,
    height, width]) and ``<layer>.bias`` (out,), the layout of PyTorch. ``stream`` stands before the
    names of the random streams. Raises KeyError for a distribution that is not in DISTRIBUTIONS.
    """
    draw = DISTRIBUTIONS[distribution]
    return {
        name: draw(_stream(seed, stream + name), name, shapes).astype(np.float32) for name in shapes
    }


def requested(request: Request, shapes: Shapes) -> Dict[str, np.ndarray]:
    """The weights that a request's seed draws: all of them, of which a checkpoint may replace
    some."""
    stream = "" if request.start is None else FRESH
    return make(request.initial_weights, shapes, request.seed, stream)


def _stream(seed: int, name: str) -> np.random.RandomState:
    return np.random.RandomState([seed, zlib.crc32(name.encode("ascii"))])


def _fan_in(name: str, shapes: Shapes) -> int:
    """Inputs of one output unit, from the shape of the layer's weight, for the bias too."""
    weight = shapes[name.rsplit(".", 1)[0] + ".weight"]
    return int(np.prod(weight[1:]))


def uniform_fan_in(stream: np.random.RandomState, name: str, shapes: Shapes) -> np.ndarray:
    """U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for weights and biases (LeCun et al., Efficient BackProp,
    1998; PyTorch's default)."""
    bound = 1.0 / np.sqrt(_fan_in(name, shapes))
    return stream.uniform(-bound, bound, size=shapes[name])


def glorot_uniform(stream: np.random.RandomState, name: str, shapes: Shapes) -> np.ndarray:
    """Weights U(-b, b) with b = sqrt(6 / (fan_in + fan_out)), biases 0 (Glorot and Bengio, AISTATS
    2010; Keras's default)."""
    if name.endswith(".bias"):
        return np.zeros(shapes[name])
    receptive_field = int(np.prod(shapes[name][2:]))
    bound = np.sqrt(6.0 / (_fan_in(name, shapes) + shapes[name][0] * receptive_field))
    return stream.uniform(-bound, bound, size=shapes[name])


def kaiming_normal(stream: np.random.RandomState, name: str, shapes: Shapes) -> np.ndarray:
    """Convolutions N(0, 2 / fan_out), linear layers N(0, 0.01^2), batch normalisation 1, biases 0.

    He et al., Delving deep into rectifiers, ICCV 2015, as in torchvision's models: fan_out is
    output channels times kernel area, independent of groups. torchvision's ResNets leave their
    linear layer at PyTorch's default; here it is as in its other models.
    """
    shape = shapes[name]
    if name.endswith(".bias"):
        return np.zeros(shape)
    if len(shape) == 1:
        return np.ones(shape)
    deviation = 0.01 if len(shape) == 2 else np.sqrt(2.0 / (shape[0] * np.prod(shape[2:])))
    return stream.normal(0.0, deviation, size=shape)


DISTRIBUTIONS = {
    "uniform_fan_in": uniform_fan_in,
    "glorot_uniform": glorot_uniform,
    "kaiming_normal": kaiming_normal,
}  # type: Dict[str, Callable[[np.random.RandomState, str, Shapes], np.ndarray]]
