"""What autograd keeps for the backward pass when a part of a network is trained: ``python -m
reference_impls.pytorch.kept REQUEST``.

REQUEST is a JSON file: ``model`` as for reference_impls.pytorch.trace, ``image``, ``batch`` and
``parts``: by name, the beginnings of the names of the trained parameters; ``biases`` trains biases
and normalisation. The answer is one line of JSON: ``trained`` parameters, ``kept_bytes`` of
storage, and ``weight_bytes``, the part of it that is parameters and statistics, which are in memory
anyway.
"""

import json
import sys
from typing import Any, Dict, List, Union

import torch
from torch import nn

from reference_impls.pytorch.trace import build

BIASES = "biases"


def choose(model: nn.Module, part: Union[str, List[str]]) -> int:
    """Let only the part's parameters have gradients; their number."""
    normalisations = {
        name
        for name, layer in model.named_modules()
        if isinstance(layer, nn.modules.batchnorm._BatchNorm)
    }
    count = 0
    for name, parameter in model.named_parameters():
        is_bias = name.endswith("bias") or name.rpartition(".")[0] in normalisations
        is_trained = is_bias if part == BIASES else name.startswith(tuple(part))
        parameter.requires_grad_(is_trained)
        count += parameter.numel() * is_trained
    return count


def kept(model: nn.Module, images: torch.Tensor) -> Dict[str, int]:
    """Bytes of storage that a forward pass keeps, each storage counted once."""
    own = {value.untyped_storage().data_ptr() for value in [*model.parameters(), *model.buffers()]}
    sizes: Dict[int, int] = {}
    alive = []

    def pack(value: torch.Tensor) -> torch.Tensor:
        storage = value.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        alive.append(value)  # else a freed storage's address may be used again
        return value

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        model(images)
    weights = sum(size for place, size in sizes.items() if place in own)
    return {"kept_bytes": sum(sizes.values()), "weight_bytes": weights}


def main() -> None:
    """Answer for every part."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        request = json.load(stream)
    torch.set_num_threads(1)
    model = build(request["model"])
    images = torch.zeros(request["batch"], *request["image"])
    answers: Dict[str, Any] = {}
    for name, part in request["parts"].items():
        answers[name] = {"trained": choose(model, part), **kept(model, images)}
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
