"""Networks as tables of operations, stored in ``rules/memory/models`` or traced in a framework's
environment."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.files.json_file import read_json
from suite.files.paths import rules_folder
from suite.files.schema import from_plain

Pair = tuple[int, int]
ONE: Pair = (1, 1)
NONE: Pair = (0, 0)


TRACED = re.compile(r"\((\w+:[\w:]+)\)")


@dataclass(frozen=True)
class Operation:
    """One operation. ``inputs`` are the names of the operations whose outputs it reads; ``module``
    is the layer's path in the network, None for a plain function. ``parameters`` and ``buffers``
    count elements."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    module: str | None = None
    parameters: int = 0
    buffers: int = 0
    channels: int = 0
    groups: int = 1
    kernel: Pair = ONE
    stride: Pair = ONE
    padding: Pair = NONE
    dilation: Pair = ONE
    size: Pair = ONE
    ceil: bool = False
    in_place: bool = False


@dataclass(frozen=True)
class Network:
    """A network: operations in the order of execution, the first of kind ``input``. ``image`` is
    (channels, height, width) of its usual picture."""

    name: str
    title: str
    source: str
    image: tuple[int, int, int]
    operations: tuple[Operation, ...]

    @property
    def parameters(self) -> int:
        """Trainable elements."""
        return sum(operation.parameters for operation in self.operations)

    @property
    def buffers(self) -> int:
        """Elements that are kept and not trained: running statistics."""
        return sum(operation.buffers for operation in self.operations)


@dataclass(frozen=True)
class _Stored:
    """The file of a network."""

    title: str
    source: str
    image: tuple[int, int, int]
    rows: tuple[Operation, ...]


@dataclass(frozen=True)
class _Traced:
    rows: tuple[Operation, ...]


def networks_folder() -> Path:
    """The folder of the stored networks."""
    return rules_folder() / "memory" / "models"


def stored_names() -> list[str]:
    """Names of the stored networks, sorted."""
    return sorted(path.stem for path in networks_folder().glob("*.json"))


def load_network(name: str) -> Network:
    """The stored network of this name. Raises SuiteError if its file is malformed."""
    path = networks_folder() / f"{name}.json"
    stored = from_plain(read_json(path), _Stored, f"{path}: ")
    return Network(name, stored.title, stored.source, stored.image, stored.rows)


def parse_operations(rows: list[dict[str, Any]]) -> tuple[Operation, ...]:
    """The operations of a trace's rows. Raises SuiteError for an unknown key."""
    return from_plain({"rows": rows}, _Traced, "the trace of a network: ").rows


def network_json(network: Network, rows: list[dict[str, Any]]) -> str:
    """The text of a stored network: one row per line."""
    head = {"title": network.title, "source": network.source, "image": network.image}
    lines = ",\n".join(json.dumps(row) for row in rows)
    return json.dumps(head)[:-1] + ', "rows": [\n' + lines + "\n]}\n"


def traced_model(network: Network) -> str:
    """The model as reference_impls.pytorch.trace names it, which the network was traced from."""
    found = TRACED.search(network.source)
    return found[1] if found else f"torchvision:{network.name}"
