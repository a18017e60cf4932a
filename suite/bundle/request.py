"""The request of a bundle, its values of the types and within the limits that rules calculate with:
bundles are hostile input."""

import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Annotated, Any

from msgspec import Meta

from reference_impls.contract import (
    BFLOAT16,
    EQUAL,
    EXACT,
    FLOAT16,
    FROZEN,
    LOCAL,
    PRECISIONS,
    SPEED,
    SYNCHRONISED,
    TIMINGS,
    UPDATED,
    ContractError,
    Request,
    request_from_dict,
)
from suite.bundle.reader import RunRecord
from suite.errors import SuiteError
from suite.files.schema import Count, Number, Positive, problem_of

MAX_RANKS, MAX_NAME_LENGTH, MAX_ACTIONS, MAX_PATTERNS = 4096, 200, 20_000, 100


class Unreadable(SuiteError):
    """A request that this version of the suite does not read."""


def one_of(*names: str) -> Any:
    """The type of one of these names."""
    return Annotated[str, Meta(pattern=rf"^({'|'.join(map(re.escape, names))})\Z")]


Name = Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]
Rows = Annotated[list[Any], Meta(max_length=MAX_ACTIONS)]
Positions = Annotated[list[int], Meta(min_length=1, max_length=MAX_ACTIONS)]
MAX_ONE = Annotated[list[Positions], Meta(max_length=1)]
REQUEST: Mapping[str, Any] = {
    **dict.fromkeys(("workload", "model", "framework", "platform", "data.name"), Name),
    **dict.fromkeys(("epochs", "eval_every_epochs", "global_batch_size", "accumulation"), Positive),
    **dict.fromkeys(("data.train_samples", "data.eval_samples", "data.classes"), Positive),
    "data.side": Positive | None,
    **dict.fromkeys(
        ("optimizer.base_learning_rate", "optimizer.momentum", "optimizer.weight_decay"), Number
    ),
    "division": one_of("closed", "open"),
    "seed": Count,
    "steps": Positive | None,
    "target_accuracy": Number | None,
    "batches": str,
    "drop_cache_every_epoch": bool,
    "preprocessing.mean": list[Any],
    "preprocessing.std": list[Any],
    "parallel.ranks": Annotated[int, Meta(ge=1, le=MAX_RANKS)],
    "parallel.normalisation": one_of(LOCAL, SYNCHRONISED),
    "parallel.wire": one_of(EXACT, FLOAT16, BFLOAT16),
    "parallel.shares": one_of(EQUAL, SPEED),
    "precision": one_of(*PRECISIONS),
    "timing": one_of(*TIMINGS),
}
"""Types and limits of a request's values."""
RECOMPUTATION: Mapping[str, Any] = {
    "budget_bytes": Positive,
    "planned_bytes": Positive,
    "planned_spill_bytes": Count,
    "planned_factor": Number,
    "factor_without_spill": Number | None,
    "spill_folder": str | None,
    "schedule": Name,
    "blocks": Annotated[list[tuple[int, int]], Meta(max_length=MAX_ACTIONS)],
    "actions": Annotated[list[Rows], Meta(max_length=MAX_ACTIONS)],
}
"""Types and limits of its schedule of recomputation."""
Patterns = Annotated[list[Name], Meta(max_length=MAX_PATTERNS)]
PARTS: Mapping[str, Mapping[str, Any]] = {
    "start": {"checkpoint": Name, "path": str, "fresh": Patterns},
    "trains": {"parameters": Patterns, "statistics": one_of(FROZEN, UPDATED)},
    "old_task": {
        "name": Name,
        "train_samples": Positive,
        "eval_samples": Positive,
        "classes": Positive,
        "side": Positive | None,
    },
    "recomputation": RECOMPUTATION,
}
"""Types and limits of what a request may lack."""


def read_request(run: RunRecord, where: str) -> Request:
    """The request of a run's record; raises Unreadable, a sentence that begins with ``where``, for
    other keys, types or values than the contract's."""
    try:
        request = request_from_dict(dict(run.request), where)
        _refuse_unlike(request, REQUEST, "")
        for name, types in PARTS.items():
            if (part := getattr(request, name)) is not None:
                _refuse_unlike(part, types, f"{name}.")
        planned = request.recomputation
        if planned is not None:
            # an action is its name and a block, and perhaps one list of positions
            begins, rests = zip(*((row[:2], row[2:]) for row in planned.actions), strict=True)
            for rows, kind in ((begins, tuple[str, int]), (rests, MAX_ONE)):
                if problem := problem_of(list(rows), list[kind]):  # type: ignore[valid-type]
                    raise ContractError(f"recomputation.actions{problem}")
    except (ContractError, TypeError, AttributeError, ValueError) as error:
        raise Unreadable(f"{where}: {str(error)[:300]}") from error
    return request


def _refuse_unlike(values: Any, types: Mapping[str, Any], above: str) -> None:
    for name, kind in types.items():
        if problem := problem_of(attrgetter(name)(values), kind):
            raise ContractError(f"{above}{name}: {problem}")
