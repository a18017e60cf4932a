"""The structure of a Chainer model, in canonical names; its shapes are the canonical ones.

Chainer's dropout is a function and no link, so that none is in the list.
"""

from typing import Iterator

import chainer
import chainer.links as L

from reference_impls.chainer import weights
from reference_impls.structure import Layer


def layers_of(model: chainer.Chain) -> Iterator[Layer]:
    """Every link with weights."""
    named = weights.parameters(model)
    for path, link in model.namedlinks():
        name = path.strip("/").replace("/", ".")
        if name + ".weight" in named:
            is_normalisation = isinstance(link, L.BatchNormalization)
            yield Layer(
                name,
                tuple(named[name + ".weight"].shape),
                name + ".bias" in named,
                stride=getattr(link, "stride", (1,))[0],
                groups=getattr(link, "groups", 1),
                epsilon=link.eps if is_normalisation else None,
                momentum=1 - link.decay if is_normalisation else None,
            )
