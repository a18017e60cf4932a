"""A network built from its table of operations: a chain that torchvision has, without the 90 MB
that importing torchvision takes.

The tables are those of reference_impls.pytorch.trace; layers have the names, and weights the
initial distribution, that torchvision's ResNets have.
"""

from typing import Any, Dict, List

import torch
from torch import fx, nn

Row = Dict[str, Any]


class NoLayer(ValueError):
    """The table has an operation that is not built from it."""


def network(rows: List[Row]) -> nn.Module:
    """The network in training mode, with initial weights by torch's random numbers. Raises
    NoLayer."""
    root, graph = nn.Module(), fx.Graph()
    channels: Dict[str, int] = {}
    nodes: Dict[str, fx.Node] = {}
    for row in rows:
        inputs = [nodes[name] for name in row["inputs"]]
        if row["kind"] == "input":
            node = graph.placeholder(row["name"])
        elif row["kind"] == "add":
            node = graph.call_function(
                torch.add if not row.get("in_place") else torch.Tensor.add_, tuple(inputs)
            )
        elif row["kind"] == "flatten":
            node = graph.call_function(torch.flatten, (inputs[0], 1))
        else:
            if row["module"] not in dict(root.named_modules()):
                _put(root, row["module"], _layer(row, channels.get(row["inputs"][0], 3)))
            node = graph.call_module(row["module"], tuple(inputs))
        nodes[row["name"]] = node
        channels[row["name"]] = row.get("channels") or (
            channels[row["inputs"][0]] if row["inputs"] else 3
        )
    graph.output(nodes[rows[-1]["name"]])
    return fx.GraphModule(root, graph).train()


def _put(root: nn.Module, path: str, layer: nn.Module) -> None:
    *folders, name = path.split(".")
    for folder in folders:
        if not hasattr(root, folder):
            root.add_module(folder, nn.Module())
        root = getattr(root, folder)
    root.add_module(name, layer)


def _layer(row: Row, channels: int) -> nn.Module:
    kind, window = (
        row["kind"],
        {name: tuple(row[name]) for name in ("stride", "padding", "dilation") if name in row},
    )
    if kind == "conv":
        weights = channels // row["groups"] * row["channels"] * row["kernel"][0] * row["kernel"][1]
        has_bias = row["parameters"] > weights
        layer = nn.Conv2d(
            channels,
            row["channels"],
            tuple(row["kernel"]),
            groups=row["groups"],
            bias=has_bias,
            **window,
        )
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        return layer
    if kind == "batch_norm":
        return nn.BatchNorm2d(channels)
    if kind == "relu":
        return nn.ReLU(inplace=bool(row.get("in_place")))
    if kind == "max_pool":
        return nn.MaxPool2d(tuple(row["kernel"]), ceil_mode=row["ceil"], **window)
    if kind == "adaptive_pool":
        return nn.AdaptiveAvgPool2d(tuple(row["size"]))
    if kind == "linear":
        return nn.Linear(channels, row["channels"])
    raise NoLayer("the operation {} ({}) is not built from a table".format(row["name"], kind))
