"""The training state of an implementation: its canonical form, and the digests that every rank logs
after every epoch. Standard library only.

A state is a dictionary from ``<kind>/<canonical name>`` to an array: ``parameter/conv1.weight``,
``velocity/conv1.weight`` (the optimizer's ``v`` of contract.Optimizer, zeros before the first step)
and ``statistic/bn1.running_mean``. Canonical names, axes and precision are those of the probe
(reference_impls.probe): PyTorch's layout, the model's own precision, in C order. An array is any
object with the buffer protocol. What else training continues from follows from the seed and the
number of steps: order, augmentation and learning rate have no generator of their own.
"""

import hashlib
from typing import Any, Dict, Iterable, Mapping, Tuple

KINDS = ("parameter", "velocity", "statistic")
State = Mapping[str, Any]


def digests(state: State) -> Dict[str, str]:
    """SHA-256 by kind, over the kind's arrays in the order of their names.

    Each array is a line ``<kind>/<name> <format> <axes, comma-separated>``, format being the struct
    module's (``f`` for float32), then its bytes. Equal states have equal digests on machines of
    equal byte order.
    """
    return {
        kind: digest(state, [name for name in state if name.startswith(kind + "/")])
        for kind in KINDS
    }


def digest(state: State, names: Iterable[str]) -> str:
    """SHA-256 over some of a state's arrays, in the order of their names, as of a kind's."""
    found = hashlib.sha256()
    for name in sorted(names):
        view = memoryview(state[name])
        found.update(
            "{} {} {}\n".format(name, view.format, ",".join(map(str, view.shape or ()))).encode(
                "utf-8"
            )
        )
        found.update(view)
    return found.hexdigest()


def shapes(state: State) -> Dict[str, Tuple[int, ...]]:
    """The axes of every array."""
    return {name: tuple(memoryview(state[name]).shape or ()) for name in state}


def sizes(state: State) -> Dict[str, int]:
    """Bytes by kind."""
    return {
        kind: sum(memoryview(state[name]).nbytes for name in state if name.startswith(kind + "/"))
        for kind in KINDS
    }


def has_statistics(state: State) -> bool:
    """Whether the model keeps running statistics: every rank has those of its own samples."""
    return any(name.startswith("statistic/") for name in state)
