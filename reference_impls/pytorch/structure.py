"""The structure of a PyTorch model; its names and shapes are the canonical ones."""

from typing import Iterator, List

from torch import nn

from reference_impls.structure import Layer


def layers_of(model: nn.Module) -> Iterator[Layer]:
    """Every layer with weights."""
    for name, module in model.named_modules():
        if not list(module.children()) and getattr(module, "weight", None) is not None:
            yield Layer(
                name,
                tuple(module.weight.shape),
                module.bias is not None,
                stride=getattr(module, "stride", (1,))[0],
                groups=getattr(module, "groups", 1),
                epsilon=getattr(module, "eps", None),
                momentum=getattr(module, "momentum", None),
            )


def dropout_of(model: nn.Module) -> List[float]:
    """The rates of all layers of dropout."""
    return [
        module.p for module in model.modules() if isinstance(module, nn.modules.dropout._DropoutNd)
    ]
