"""Updates of each weight as soon as its gradient is there: no gradients gather during the backward
pass.

The mathematics and its order are torch.optim.SGD's, weight by weight, so the weights have the same
bits as after one update at the end. A gradient is whole when its hook runs: nothing of the step
reads the old weight afterwards, because a block that runs again does so before its backward pass.
"""

from collections import defaultdict
from typing import Any, Callable, Dict, Iterable, List, Optional, Union

import torch
from torch.optim.sgd import sgd

Seen = Callable[[torch.Tensor, torch.Tensor], None]


class Settings:
    """Settings and velocities as torch.optim.SGD has them, without the 75 MB of compiler that a
    first optimizer imports."""

    def __init__(
        self, parameters: Iterable[torch.Tensor], learning_rate: float, momentum: float
    ) -> None:
        settings = {
            "lr": learning_rate,
            "momentum": momentum,
            "weight_decay": 0.0,
            "dampening": 0.0,
            "nesterov": False,
            "maximize": False,
        }
        self.param_groups: List[Dict[str, Any]] = [dict(settings, params=list(parameters))]
        self.state: Dict[torch.Tensor, Dict[str, Any]] = defaultdict(dict)


class UpdateAtOnce:
    """Takes the place of ``optimizer.step()``; settings and velocities stay the optimizer's.
    ``seen`` gets each weight and its gradient before."""

    def __init__(self, optimizer: Union[torch.optim.SGD, Settings]) -> None:
        self._optimizer = optimizer
        self.seen: Optional[Seen] = None
        for number, group in enumerate(optimizer.param_groups):
            for parameter in group["params"]:
                parameter.register_post_accumulate_grad_hook(self._hook(number))

    def _hook(self, number: int) -> Callable[[torch.Tensor], None]:
        def update(parameter: torch.Tensor) -> None:
            gradient = parameter.grad
            if gradient is None:
                return
            if self.seen is not None:
                self.seen(parameter, gradient)
            parameter.grad = None
            self._update(parameter, gradient, number)

        return update

    @torch.no_grad()
    def _update(self, parameter: torch.Tensor, gradient: torch.Tensor, number: int) -> None:
        settings, state = self._optimizer.param_groups[number], self._optimizer.state[parameter]
        velocities = [state.get("momentum_buffer")]
        sgd(
            [parameter],
            [gradient],
            velocities,
            has_sparse_grad=False,
            foreach=False,
            weight_decay=settings["weight_decay"],
            momentum=settings["momentum"],
            lr=settings["lr"],
            dampening=settings["dampening"],
            nesterov=settings["nesterov"],
            maximize=settings["maximize"],
        )
        if settings["momentum"]:
            state["momentum_buffer"] = velocities[0]
