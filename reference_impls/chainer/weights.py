"""A chain's weights under their canonical names; the layout is the canonical one already."""

from typing import Dict

import chainer
import chainer.links as L
import numpy as np

KINDS = {"W": "weight", "b": "bias", "gamma": "weight", "beta": "bias"}


def parameters(model: chainer.Chain) -> Dict[str, chainer.Parameter]:
    """The parameters, by canonical name: ``/layer1/0/conv1/W`` is ``layer1.0.conv1.weight``."""
    found = {}
    for path, parameter in model.namedparams():
        link, kind = path.strip("/").rsplit("/", 1)
        found["{}.{}".format(link.replace("/", "."), KINDS[kind])] = parameter
    return found


def statistics(model: chainer.Chain) -> Dict[str, np.ndarray]:
    """Batch normalisation's running mean and variance, by canonical name: the arrays themselves."""
    found = {}
    for path, link in model.namedlinks():
        if isinstance(link, L.BatchNormalization):
            name = path.strip("/").replace("/", ".")
            found[name + ".running_mean"], found[name + ".running_var"] = (
                link.avg_mean,
                link.avg_var,
            )
    return found
