"""PyTorch without what its older versions lack: ``python -m tests.reference_impls.older_pytorch``
in PyTorch's environment.

Prints the gradient that the exchange leaves there (tests.reference_impls.other_device), and what is
said of a memory budget.
"""

import sys
from types import SimpleNamespace
from typing import Any

import torch

del sys.modules["torch.optim.sgd"].sgd  # from PyTorch 1.12 on
del torch.Tensor.register_post_accumulate_grad_hook  # from PyTorch 2.1 on

from reference_impls.contract import FLOAT32, ContractError  # noqa: E402 - as an older version
from reference_impls.pytorch.implementation import PyTorchImplementation  # noqa: E402
from tests.reference_impls import other_device  # noqa: E402
from tests.reference_impls.accumulated_steps import SETTINGS  # noqa: E402


def main() -> None:
    """One exchange, and one request with a budget."""
    other_device.main()
    parallel = SimpleNamespace(ranks=1)
    request: Any = SimpleNamespace(
        parallel=parallel, recomputation=object(), trains=None, precision=FLOAT32
    )
    try:
        PyTorchImplementation(torch.nn.Linear(1, 1), SETTINGS, "cpu").follow(request)
    except ContractError as error:
        print(error)


if __name__ == "__main__":
    main()
