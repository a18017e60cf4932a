"""What PyTorch keeps for the backward pass when all of a network is trained, or a part: measured
with autograd's hooks, in PyTorch's environment."""

from dataclasses import dataclass

from suite.errors import SuiteError
from suite.memory.network import Network, Operation, traced_model
from suite.memory.programs import answers_of

PROGRAM = "reference_impls.pytorch.kept"
BIASES = "biases"
ALL, LAST_STAGE, HEAD = "all layers", "last stage and head", "head"


@dataclass(frozen=True)
class KeptPart:
    """A part that is trained: its parameters, and the bytes that autograd keeps; ``weight_bytes``
    of them are weights, in memory anyway."""

    name: str
    trained: int
    kept_bytes: int
    weight_bytes: int


def kept_parts(network: Network, image: int, batch: int) -> tuple[KeptPart, ...]:
    """Each part in turn. Raises SuiteError without PyTorch's environment, for batch 0, and for a
    network without the parts."""
    if batch < 1:
        raise SuiteError(f"A mini-batch of {batch} trains nothing", "the smallest is 1")
    parts: dict[str, object] = {
        ALL: [""],
        "biases and normalisation": BIASES,
        LAST_STAGE: _names(network, _last_stage(network)),
        HEAD: _names(network, _head(network)),
    }
    request = {
        "model": traced_model(network),
        "image": [network.image[0], image, image],
        "batch": batch,
        "parts": parts,
    }
    answers = answers_of(PROGRAM, request, "", f"Measuring what {network.title} keeps")[0]
    return tuple(KeptPart(name, **answers[name]) for name in parts)


def _names(network: Network, first: int) -> list[str]:
    """Beginnings of the names of all parameters from an operation on."""
    return [
        f"{each.module}." for each in network.operations[first:] if each.module and each.parameters
    ]


def _last_stage(network: Network) -> int:
    """The first operation of the block that halves the picture for the last time."""
    strided = [
        each
        for each in network.operations
        if each.kind == "conv" and max(each.stride) > 1 and each.module
    ]
    if not strided:
        return _head(network)
    block = _block(strided[-1])
    return next(
        index
        for index, each in enumerate(network.operations)
        if each.module and _block(each) == block
    )


def _block(operation: Operation) -> list[str]:
    return str(operation.module).split(".")[:2]


def _head(network: Network) -> int:
    """The first operation after the last one that reads a picture: the linear layers."""
    places = [
        index
        for index, each in enumerate(network.operations)
        if each.kind in ("conv", "batch_norm", "max_pool", "avg_pool", "adaptive_pool")
    ]
    return places[-1] + 1 if places else 1
