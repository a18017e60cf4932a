"""The structure of a model as it was built: its layers with weights, alike in all frameworks, and
its dropout. Python 3.6 grammar.

Libraries of models change from version to version, some without a word: torchvision 0.11 leaves out
an argument ``dropout=0.0``. So every build describes what it made, and is refused where that is not
the suite's model.
"""

import hashlib
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from reference_impls.contract import ContractError

STRUCTURES = {
    "lenet5": "58ff21e83527636a510afbf3743567ca2b925961961fb4234d825bdf4459814f",
    "mobilenetv3_large": "46998fa56afea06e39486cc9e895addbdc30b04537e6ddfc3c2225850712ce73",
    "resnet18": "9873326dd90b59c9afa38f2a36686658ba15e91a37899fa5a2fac9a0a777dd42",
    "resnet50": "16b2de4ffdb61657e3e4b4318803795168ae6de184fb528d1104c0d530d836c8",
    "resnet50_imagenet": "5a3bc66df69bd2aa577689982e6e7fafff6c3bc50e079d1d3937a3b9024babfb",
    "vgg11": "702540b8100c0ac08ba0b484fc8914519cd11ec8a32d1ade680240889096da49",
}
"""SHA-256 of the descriptions (:func:`described`) of the suite's models, by name."""


class Layer(NamedTuple):
    """A layer with weights: its canonical name, its weight's canonical shape, and what the shape
    does not say.

    ``epsilon`` and ``momentum`` (the weight of the new statistics) are batch normalisation's, None
    for others.
    """

    name: str
    shape: Tuple[int, ...]
    has_bias: bool
    stride: int = 1
    groups: int = 1
    epsilon: Optional[float] = None
    momentum: Optional[float] = None


def described(layers: Iterable[Layer], classes: int) -> List[str]:
    """A line per layer, sorted by name; the outputs of the last linear layer are called
    ``classes``."""
    ordered = sorted(layers, key=lambda layer: layer.name)
    linear = [
        layer.name for layer in ordered if len(layer.shape) == 2 and layer.shape[0] == classes
    ]
    return [_line(layer, layer.name in linear[-1:]) for layer in ordered]


def _line(layer: Layer, is_last: bool) -> str:
    sizes = ("classes", *layer.shape[1:]) if is_last else layer.shape
    words = [layer.name, "x".join(map(str, sizes))]
    if len(layer.shape) == 4:
        words += ["stride {}".format(layer.stride), "groups {}".format(layer.groups)]
    if layer.epsilon is not None and layer.momentum is not None:
        words += ["epsilon {:.6g}".format(layer.epsilon), "momentum {:.6g}".format(layer.momentum)]
    return ", ".join(words + ["bias"] * layer.has_bias)


def layers_as_built(
    model: str, library: str, layers: Iterable[Layer], dropout: Iterable[float], classes: int
) -> Dict[str, Any]:
    """The fact ``model_layers``; raises ContractError where the layers are not the suite's model's,
    or where a dropout is active.

    ``library`` is what built the model, with its version; ``dropout`` are the rates of all layers
    of dropout.
    """
    lines = described(layers, classes)
    digest, largest = (
        hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest(),
        max(dropout, default=0.0),
    )
    remedy = (
        "install the framework's environment again (`suite env create`), or use the version that"
        " its lock names."
    )
    if largest > 0:
        raise ContractError(
            "the model {} that {} built has a dropout of {:g}; {}".format(
                model, library, largest, remedy
            )
        )
    if model in STRUCTURES and digest != STRUCTURES[model]:
        message = (
            "the model {} that {} built has other layers than the suite's (SHA-256 {}, not {}); {}"
        )
        raise ContractError(
            message.format(model, library, digest[:12], STRUCTURES[model][:12], remedy)
        )
    return {"layers": len(lines), "sha256": digest, "dropout": 0.0}
