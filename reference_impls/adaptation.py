"""Training that begins with a checkpoint and trains a part of the model: what the loop does for
every framework, and the evidence of it. Standard library only."""

from typing import Any, Callable, Dict, Iterable

from reference_impls.communication import World
from reference_impls.contract import (
    FROZEN,
    ContractError,
    Implementation,
    LogWriter,
    Request,
    Trains,
)
from reference_impls.state_file import broadcast_state
from reference_impls.training_state import State, digest, shapes


class Adaptation:
    """A run's start from a checkpoint and the part that it trains; does nothing where the request
    has neither. ``count`` evaluates the old task: the correct samples of all ranks."""

    def __init__(
        self,
        request: Request,
        implementation: Implementation,
        log: LogWriter,
        count: Callable[[], int],
    ) -> None:
        self._request, self._implementation, self._log = request, implementation, log
        self._count = count
        self._replaced = {}  # type: State  # the checkpoint's values of what is fresh

    def begin(self, world: World, facts: Iterable[str]) -> None:
        """Before training: continue from the checkpoint; refuse an implementation whose ``facts``
        do not say what it trains."""
        if self._request.trains is not None and "trained" not in facts:
            raise ContractError(
                "{} trains whole models only; choose another framework.".format(
                    self._request.framework
                )
            )
        if self._request.start is not None:
            self._restore(broadcast_state(world, self._request.start.path)[0])
        self._log_evidence()

    def end(self) -> None:
        """After training."""
        self._log_evidence()

    def _restore(self, checkpoint: State) -> None:
        own = self._implementation.training_state()
        fresh = [name for name in own if self._is_fresh(name)]
        taken = {
            name: checkpoint[name]
            for name in checkpoint
            if name not in fresh and not name.startswith("velocity/")
        }
        expected = {name: own[name] for name in own if not name.startswith("velocity/")}
        if shapes({**taken, **{name: own[name] for name in fresh}}) != shapes(expected):
            raise ContractError(
                "{} is the training state of another model.".format(self._request.start.path)
            )
        self._replaced = {name: checkpoint[name] for name in fresh}
        self._implementation.restore({**own, **taken})
        self._log.point("started_from", digest(self._implementation.training_state(), taken))

    def _is_fresh(self, name: str) -> bool:
        kind, _, parameter = name.partition("/")
        return kind == "parameter" and self._request.start.is_fresh(parameter)

    def _log_evidence(self) -> None:
        """The digest of everything that is not trained, and how the old task goes, judged with the
        checkpoint's own values of what is fresh. Training goes on as if neither had been asked."""
        state = self._implementation.training_state()
        if self._request.trains is not None:
            self._log.point("frozen", digest(state, filter(self._is_frozen, state)))
        if self._request.old_task is not None:
            self._implementation.restore({**state, **self._replaced})
            correct = self._count()
            self._implementation.restore(state)
            samples = self._request.old_task.eval_samples
            self._log.point("old_task_accuracy", correct / samples, correct=correct)

    def _is_frozen(self, name: str) -> bool:
        kind, _, parameter = name.partition("/")
        if kind == "statistic":
            return self._request.trains.statistics == FROZEN
        return kind == "parameter" and not self._request.trains.is_trained(parameter)


def trained(sizes: Dict[str, int], trains: Trains) -> Dict[str, Any]:
    """The fact ``trained`` of a model whose parameters have these ``sizes``: which of them are
    trained, and how many numbers that are."""
    names = sorted(filter(trains.is_trained, sizes))
    if not names:
        raise ContractError(
            "the model has no parameter of the names {}.".format(", ".join(trains.parameters))
        )
    return {"trained": {"names": names, "parameters": sum(sizes[name] for name in names)}}
