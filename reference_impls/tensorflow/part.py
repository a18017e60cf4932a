"""Training a part of a Keras model."""

from typing import Any, Dict, Optional

import keras

from reference_impls.adaptation import trained
from reference_impls.contract import FROZEN, Trains
from reference_impls.tensorflow import weights
from reference_impls.tensorflow.layers import freeze_statistics


def train_part(model: keras.Model, trains: Optional[Trains]) -> Dict[str, Any]:
    """Make the variables of the part the trainable ones, and freeze the statistics where that is
    requested; returns the fact ``trained``. Call it before optimizer and graphs are made."""
    if trains is None:
        return {}
    named = weights.parameters(model)
    for name, each in named.items():
        each.variable.trainable = trains.is_trained(name)
    if trains.statistics == FROZEN:
        freeze_statistics(model)
    return trained({name: each.read().size for name, each in named.items()}, trains)
