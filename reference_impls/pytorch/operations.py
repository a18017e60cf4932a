"""The operations of a network in the order of its trace, and one of them run by itself."""

from typing import Any, Dict, List

import torch
from torch import fx, nn


def operations_of(model: nn.Module) -> List[fx.Node]:
    """The picture and every operation, in the order of execution: positions in stored networks and
    schedules are those of this list."""
    return [
        node for node in fx.Tracer().trace(model).nodes if node.op not in ("output", "get_attr")
    ]


def run_node(
    node: fx.Node, known: Dict[fx.Node, torch.Tensor], modules: Dict[str, nn.Module]
) -> Any:
    """The output of an operation whose inputs are known."""
    arguments = fx.node.map_arg(node.args, known.__getitem__)
    options = fx.node.map_arg(node.kwargs, known.__getitem__)
    if node.op == "call_module":
        return modules[str(node.target)](*arguments, **options)
    if node.op == "call_method":
        return getattr(arguments[0], str(node.target))(*arguments[1:], **options)
    return node.target(*arguments, **options)  # type: ignore[operator]
