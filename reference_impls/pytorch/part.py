"""Training a part of a PyTorch model."""

from typing import Any, Dict, Optional

from torch import nn

from reference_impls.adaptation import trained
from reference_impls.contract import FROZEN, Trains
from reference_impls.pytorch.normalisation import freeze_statistics


def train_part(model: nn.Module, trains: Optional[Trains]) -> Dict[str, Any]:
    """Require gradients of the part only, and freeze the statistics where that is requested;
    returns the fact ``trained``. Call it before optimizer and exchange are made."""
    if trains is None:
        return {}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(trains.is_trained(name))
    if trains.statistics == FROZEN:
        freeze_statistics(model)
    return trained({name: value.numel() for name, value in model.named_parameters()}, trains)
