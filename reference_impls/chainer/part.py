"""Training a part of a chain. Chainer computes gradients of frozen parameters, too."""

from typing import Any, Dict, Optional

import chainer

from reference_impls.adaptation import trained
from reference_impls.chainer import weights
from reference_impls.chainer.normalisation import freeze_statistics
from reference_impls.contract import FROZEN, Trains


def train_part(model: chainer.Chain, trains: Optional[Trains]) -> Dict[str, Any]:
    """Disable the update rules of everything else, and freeze the statistics where that is
    requested; returns the fact ``trained``. Call it after the optimizer was set up."""
    if trains is None:
        return {}
    named = weights.parameters(model)
    for name, parameter in named.items():
        parameter.update_rule.enabled = trains.is_trained(name)
    if trains.statistics == FROZEN:
        freeze_statistics(model)
    return trained({name: parameter.size for name, parameter in named.items()}, trains)
