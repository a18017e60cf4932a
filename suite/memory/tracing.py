"""Networks by name: the stored ones, else torchvision's, traced in PyTorch's environment."""

import json
from collections.abc import Sequence
from typing import Any

from suite.errors import SuiteError
from suite.files.names import nearest
from suite.memory.network import Network, load_network, parse_operations, stored_names
from suite.memory.programs import output_of

TIMEOUT_S = 300.0
"""More than a board needs to import the framework from an SD card."""


def network_named(name: str) -> Network:
    """The network of this name. Raises SuiteError, with the nearest name, for an unknown one or
    where PyTorch is needed and missing."""
    stored = stored_names()
    if name in stored:
        return load_network(name)
    try:
        answer = traced_rows([f"torchvision:{name}"])[f"torchvision:{name}"]
    except SuiteError as error:
        raise SuiteError(
            f"{_unknown(name, stored)} PyTorch could not be asked for other networks: {error}"
        ) from error
    if "unknown" in answer:
        raise SuiteError(_unknown(name, [*stored, *answer["known"]]))
    if "unsupported" in answer:
        raise SuiteError(
            f"{name} cannot be planned: there is no rule for {answer['unsupported']}",
            f"choose from {', '.join(stored)}",
        )
    source = f"traced by torch {answer['torch']}, torchvision {answer['torchvision']}"
    return Network(
        name,
        f"{name} (torchvision, 1000 classes)",
        source,
        (3, 224, 224),
        parse_operations(answer["rows"]),
    )


def traced_rows(models: Sequence[str]) -> dict[str, Any]:
    """The tables of models, by model, from a process in PyTorch's environment."""
    answers: dict[str, Any] = json.loads(
        output_of(
            "reference_impls.pytorch.trace",
            models,
            f"Tracing {', '.join(models)}",
            timeout_s=TIMEOUT_S,
        )
    )
    return answers


def _unknown(name: str, known: list[str]) -> str:
    of_workload = f"workload-{name}"
    hint = nearest(of_workload if of_workload in known else name, known)
    return f"There is no network {name!r}; {hint}stored networks: {', '.join(stored_names())}."
