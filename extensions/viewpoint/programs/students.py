"""Which models can learn from a teacher: smaller ones that take its pictures."""

import sys
from typing import Any, Callable, Optional

from reference_impls.contract import ContractError, Request

from .frames import Watcher


def refuse_student(
    request: Request, build: Callable[..., Any], student: str, teacher: Watcher, frame: bytes
) -> None:
    """Raise ContractError unless the model ``student`` is smaller than the teacher and takes its
    pictures; the sentence names models that do."""
    # an implementation of one's own need not have the table
    models = getattr(sys.modules[build.__module__], "MODELS", {})

    def flaw(name: str) -> Optional[str]:
        if models and name not in models:
            return "there is no model {} in {}".format(name, request.framework)
        candidate = Watcher(request._replace(model=name, trains=None), build, teacher.side)
        if candidate.parameters >= teacher.parameters:
            return (
                "the student {} has {:,} parameters, but must have fewer than its teacher {},"
                " which has {:,}"
            ).format(name, candidate.parameters, request.model, teacher.parameters)
        try:
            candidate.judge([frame])
        except Exception:  # noqa: BLE001 - every framework has its own class for shapes that do not fit
            return (
                "the student {} cannot process the pictures that its teacher {} was trained on"
            ).format(name, request.model)
        return None

    found = flaw(student)
    if found is None:
        return
    fitting = [name for name in models if flaw(name) is None]
    nothing = (
        "{} has no smaller model for the teacher's pictures; choose another --framework or"
        " teacher".format(request.framework)
    )
    instead = "choose --student " + " or ".join(fitting) if fitting else nothing
    raise ContractError("{}; {}.".format(found, instead))
