"""PyTorch's probe with one mistake, named by MISTAKE: what the comparison must notice. Started as a
vendor's probe would be."""

import os

import torch
from torch import nn

from reference_impls.probe import ProbeRequest, main
from reference_impls.pytorch.probe import ProbedPyTorchModel


def normalisations(model: ProbedPyTorchModel) -> "list[nn.BatchNorm2d]":
    """Every batch normalisation."""
    return [module for module in model._model.modules() if isinstance(module, nn.BatchNorm2d)]


def other_momentum(model: ProbedPyTorchModel) -> None:
    """Keras's default, in PyTorch's convention."""
    for module in normalisations(model):
        module.momentum = 0.01


def other_epsilon(model: ProbedPyTorchModel) -> None:
    """Chainer's default."""
    for module in normalisations(model):
        module.eps = 2e-5


def biased_variance(model: ProbedPyTorchModel) -> None:
    """What Keras keeps."""

    def correct(
        module: nn.BatchNorm2d, inputs: "tuple[torch.Tensor]", output: torch.Tensor
    ) -> None:
        if module.training:
            count = inputs[0].numel() / inputs[0].shape[1]
            # past autograd's count of changes: the backward pass refuses a tensor that was changed
            # after the forward pass kept it
            module.running_var.data.sub_(0.1 * inputs[0].detach().var((0, 2, 3)) / count)

    for module in normalisations(model):
        module.register_forward_hook(correct)


def biased_variance_in_float32(model: ProbedPyTorchModel) -> None:
    """In the precision that is trained in only, as a fast kernel of its own might."""
    if next(model._model.parameters()).dtype == torch.float32:
        biased_variance(model)


def asymmetric_padding(model: ProbedPyTorchModel) -> None:
    """Keras's `same` at stride 2."""
    for module in model._model.modules():
        if (
            isinstance(module, nn.Conv2d)
            and module.stride == (2, 2)
            and module.kernel_size == (3, 3)
        ):
            module.padding = (0, 0)
            module.register_forward_pre_hook(
                lambda _, inputs: (nn.functional.pad(inputs[0], (0, 1, 0, 1)),)
            )


def momentum_of_keras(model: ProbedPyTorchModel) -> None:
    """``v = m v + rate g``: the same until the rate changes."""
    optimizer = model._implementation._optimizer
    step, last = optimizer.step, {}

    def scaled() -> None:
        (group,) = optimizer.param_groups
        for state in optimizer.state.values():
            if state.get("momentum_buffer") is not None:
                state["momentum_buffer"] *= last.get("rate", group["lr"]) / group["lr"]
        last["rate"] = group["lr"]
        step()

    optimizer.step = scaled


def decoupled_weight_decay(model: ProbedPyTorchModel) -> None:
    """Keras's weight decay: taken off the weights beside the momentum."""
    optimizer = model._implementation._optimizer
    step = optimizer.step
    (group,) = optimizer.param_groups
    decay, group["weight_decay"] = group["weight_decay"], 0.0

    def decayed() -> None:
        with torch.no_grad():
            for parameter in model._model.parameters():
                parameter *= 1 - group["lr"] * decay
        step()

    optimizer.step = decayed


MISTAKES = {
    function.__name__: function
    for function in (
        other_momentum,
        other_epsilon,
        biased_variance,
        biased_variance_in_float32,
        asymmetric_padding,
        momentum_of_keras,
        decoupled_weight_decay,
    )
}


def open_model(request: ProbeRequest) -> ProbedPyTorchModel:
    """The model with the mistake."""
    model = ProbedPyTorchModel(request)
    MISTAKES[os.environ["MISTAKE"]](model)
    return model


if __name__ == "__main__":
    main(open_model)
