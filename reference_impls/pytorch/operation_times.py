"""CPU times of a network's operations, one by one: ``python -m
reference_impls.pytorch.operation_times REQUEST``, JSON on standard output.

REQUEST is a JSON file: ``model`` (reference_impls.pytorch.trace), ``image``, ``batch``, ``threads``
and ``repeats``. The answer has seconds of a mini-batch, ``forward`` and ``backward``, the medians
of the repeats, by position in the trace.
"""

import json
import statistics
import sys
import time
from typing import Any, Dict, List, Tuple

import torch
from torch import fx

from reference_impls.pytorch.operations import operations_of, run_node
from reference_impls.pytorch.trace import build


def times(request: Dict[str, Any]) -> Dict[str, List[float]]:
    """The answer."""
    torch.set_num_threads(request["threads"])
    torch.manual_seed(1)
    model = build(request["model"])
    modules, nodes = dict(model.named_modules()), operations_of(model)
    last_use = {argument: node for node in nodes for argument in node.all_input_nodes}
    known = {nodes[0]: torch.randn(request["batch"], *request["image"])}
    forward, backward = [0.0], [0.0]
    for node in nodes[1:]:
        # the first one makes the kernels
        found = [_once(node, known, modules, nodes[0]) for _ in range(request["repeats"] + 1)][1:]
        forward.append(statistics.median(each[0] for each in found))
        backward.append(statistics.median(each[1] for each in found))
        with torch.no_grad():
            known[node] = run_node(
                node, {name: known[name].clone() for name in node.all_input_nodes}, modules
            )
        for argument in node.all_input_nodes:
            if last_use[argument] is node:
                known.pop(argument, None)
    return {"forward": forward, "backward": backward}


def _once(
    node: fx.Node, known: Dict[fx.Node, torch.Tensor], modules: Dict[str, Any], first: fx.Node
) -> Tuple[float, float]:
    """CPU seconds forward and backward; inputs are copies, since the operation may write into
    them."""
    leaves = {
        name: known[name].detach().clone().requires_grad_(name is not first)
        for name in node.all_input_nodes
    }
    inputs = {name: leaf.clone() for name, leaf in leaves.items()}
    started = time.process_time()
    output = run_node(node, inputs, modules)
    ran = time.process_time()
    layer = modules.get(str(node.target))
    wanted = [leaf for leaf in leaves.values() if leaf.requires_grad] + list(
        layer.parameters() if node.op == "call_module" and layer else ()
    )
    if not wanted:
        return ran - started, 0.0
    gradient = torch.ones_like(output)
    before = time.process_time()
    torch.autograd.grad(output, wanted, gradient)
    return ran - started, time.process_time() - before


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as stream:
        json.dump(times(json.load(stream)), sys.stdout)
    sys.stdout.write("\n")
