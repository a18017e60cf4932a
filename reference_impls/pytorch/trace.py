"""Trace networks into tables of operations: ``python -m reference_impls.pytorch.trace MODEL…``,
JSON on standard output.

MODEL is one of this folder's models (``own:lenet5:10``, with the number of classes) or a function
of torchvision.models (``torchvision:resnet18``). The table has one row per operation, in the order
of execution, and no weights. suite.memory calculates shapes and memory from it.
"""

import json
import operator
import sys
from typing import Any, Dict, List, Tuple

import torch
from torch import fx, nn

from reference_impls.pytorch.models import MODELS
from reference_impls.pytorch.operations import operations_of
from reference_impls.pytorch.vision import import_torchvision

Row = Dict[str, Any]

ELEMENTWISE = {
    "ReLU": "relu",
    "relu": "relu",
    "ReLU6": "relu6",
    "Hardswish": "hardswish",
    "hardswish": "hardswish",
    "Hardsigmoid": "hardsigmoid",
    "hardsigmoid": "hardsigmoid",
    "SiLU": "silu",
    "silu": "silu",
    "Sigmoid": "sigmoid",
    "sigmoid": "sigmoid",
    "GELU": "gelu",
    "Tanh": "tanh",
}


class Unsupported(Exception):
    """The network has an operation that the table has no row for."""


def build(model: str) -> nn.Module:
    """The network in training mode, with its initial weights."""
    origin, _, name = model.partition(":")
    if origin == "own":
        known, _, classes = name.partition(":")
        return MODELS[known](int(classes)).train()
    return import_torchvision().models.get_model(name, weights=None).train()


def rows(model: nn.Module) -> List[Row]:
    """The operations of the network in the order of execution, each with its inputs."""
    modules = dict(model.named_modules())
    return [_row(node, modules) for node in operations_of(model)]


def _row(node: fx.Node, modules: Dict[str, nn.Module]) -> Row:
    inputs = [argument.name for argument in _nodes(node.args)]
    row: Row = {"name": node.name, "inputs": inputs}
    if node.op == "placeholder":
        return {**row, "kind": "input"}
    if node.op == "call_module":
        return {
            **row,
            "module": node.target,
            **_module(str(node.target), modules[str(node.target)]),
        }
    return {**row, **_function(node)}


def _nodes(arguments: Any) -> List[fx.Node]:
    found: List[fx.Node] = []
    fx.node.map_arg(arguments, found.append)
    return found


def _module(path: str, module: nn.Module) -> Row:
    """Kind and attributes of a layer, with its numbers of parameters and of buffers' elements."""
    kind = type(module).__name__
    size: Row = {
        "parameters": sum(p.numel() for p in module.parameters()),
        "buffers": sum(b.numel() for b in module.buffers()),
    }
    size = {name: count for name, count in size.items() if count}
    in_place = {"in_place": True} if getattr(module, "inplace", False) else {}
    if isinstance(module, nn.Conv2d):
        return {
            **size,
            "kind": "conv",
            "channels": module.out_channels,
            "groups": module.groups,
            **_window(module, module.dilation),
        }
    if isinstance(module, nn.BatchNorm2d):
        return {**size, "kind": "batch_norm"}
    if isinstance(module, nn.Linear):
        return {**size, "kind": "linear", "channels": module.out_features}
    if kind in ELEMENTWISE:
        return {"kind": ELEMENTWISE[kind], **in_place}
    if isinstance(module, nn.MaxPool2d):
        return {"kind": "max_pool", "ceil": module.ceil_mode, **_window(module, module.dilation)}
    if isinstance(module, nn.AvgPool2d):
        return {"kind": "avg_pool", "ceil": module.ceil_mode, **_window(module, 1)}
    if isinstance(module, nn.AdaptiveAvgPool2d):
        return {"kind": "adaptive_pool", "size": _pair(module.output_size)}
    if isinstance(module, nn.Dropout):
        return {"kind": "dropout", **in_place} if module.p > 0 else {"kind": "identity"}
    if isinstance(module, nn.Identity):
        return {"kind": "identity"}
    if isinstance(module, nn.Flatten):
        return {"kind": "flatten"}
    raise Unsupported("the layer {} ({})".format(path, kind))


def _window(module: Any, dilation: Any) -> Row:
    stride = module.stride if module.stride is not None else module.kernel_size
    return {
        "kernel": _pair(module.kernel_size),
        "stride": _pair(stride),
        "padding": _pair(module.padding),
        "dilation": _pair(dilation),
    }


def _pair(value: Any) -> Tuple[int, int]:
    first, second = value if isinstance(value, (tuple, list)) else (value, value)
    return int(first), int(second)


def _function(node: fx.Node) -> Row:
    name = (
        node.target
        if isinstance(node.target, str)
        else getattr(node.target, "__name__", str(node.target))
    )
    name = str(name).rstrip("_")
    in_place = (
        {"in_place": True} if node.kwargs.get("inplace") or node.target is operator.iadd else {}
    )
    if name in ("add", "iadd"):
        return {"kind": "add", **in_place}
    if name in ("mul", "imul"):
        return {"kind": "mul"}
    if name == "cat":
        return {"kind": "concatenate"}
    if name == "flatten":
        return {"kind": "flatten"}
    if name in ELEMENTWISE:
        return {"kind": ELEMENTWISE[name], **in_place}
    if name.startswith("adaptive_avg_pool2d"):
        return {"kind": "adaptive_pool", "size": _pair(node.args[1])}
    if "max_pool2d" in name:
        kernel = node.args[1]
        stride = node.kwargs.get("stride") or (node.args[2] if len(node.args) > 2 else kernel)
        padding = node.kwargs.get("padding", 0)
        window = {
            "kernel": _pair(kernel),
            "stride": _pair(stride),
            "padding": _pair(padding),
            "dilation": (1, 1),
        }
        return {"kind": "max_pool", "ceil": bool(node.kwargs.get("ceil_mode")), **window}
    if name == "dropout":
        return {"kind": "dropout"} if float(node.kwargs.get("p", 0.5)) > 0 else {"kind": "identity"}
    raise Unsupported("the operation {}".format(name))


def answer(model: str) -> Row:
    """The network's table; ``{"unsupported": …}`` for one that cannot be tabled, ``{"unknown": …}``
    with the known names for an unknown one."""
    origin, _, name = model.partition(":")
    if origin == "torchvision":
        known = import_torchvision().models.list_models(module=import_torchvision().models)
        if name not in known:
            return {"unknown": name, "known": known}
    try:
        with torch.device("meta"):  # no weights
            network = build(model)
        return {
            "rows": rows(network),
            "torch": torch.__version__,
            "torchvision": import_torchvision().__version__,
        }
    except (Unsupported, fx.proxy.TraceError) as error:
        return {"unsupported": str(error)}


def main() -> None:
    """Print the answers for the models that the command line names, by model."""
    json.dump({model: answer(model) for model in sys.argv[1:]}, sys.stdout)


if __name__ == "__main__":
    main()
