"""Training that makes way for inference between mini-batches: ``python -m
reference_impls.turns.training``. Standard library only, Python 3.6.

It is the suite's own loop and an implementation's own steps. After every step it appends a row to
``step_times.csv`` and looks whether the harness has sent ``pause``. Then it answers ``paused`` and
waits for ``continue``, as Fulcrum's managed interleaving does (Prashanthi et al., 2025): what runs
on the accelerator is one mini-batch of training or one batch of inference, never both.

It trains until the harness ends it. No training state is digested, so that an epoch's end takes no
time from the steps.
"""

import os
from typing import Any, Callable

from reference_impls import loop
from reference_impls.communication import World
from reference_impls.contract import (
    Batch,
    ContractError,
    Implementation,
    Request,
    StepResult,
    monotonic_ns,
)
from reference_impls.turns.messages import (
    COLUMNS,
    CONTINUE,
    PAUSE,
    PAUSED,
    READY,
    STEP_TIMES,
    Line,
    main,
)

WARM_UP = 3
"""Steps before ``ready``."""


def train(request: Request, build: Callable[..., Any], line: Line) -> None:
    """Train until the process is ended."""
    steps = open(os.path.join(request.output_directory, STEP_TIMES), "x", encoding="ascii")
    steps.write(",".join(COLUMNS) + "\n")

    def with_turns(own: Request, world: World) -> loop.Built:
        built = build(own, world)
        return built._replace(implementation=MakingWay(built.implementation, steps, line))

    loop.run(request, World(), with_turns)
    raise ContractError(
        "the training ended after {} epochs, before the harness ended it; use more epochs.".format(
            request.epochs
        )
    )


class MakingWay(Implementation):
    """An implementation whose steps are logged one by one, and which pauses between them when the
    harness says so."""

    def __init__(self, implementation: Implementation, steps: Any, line: Line) -> None:
        self._implementation, self._steps, self._line = implementation, steps, line
        self._samples = self._taken = 0

    def to_device(self, batch: Batch) -> Any:
        """The implementation's."""
        self._samples = len(batch.labels)
        return self._implementation.to_device(batch)

    def count_correct(self, device_batch: Any) -> int:
        """The implementation's."""
        return self._implementation.count_correct(device_batch)

    def step(self, device_batch: Any, learning_rate: float, share: float) -> StepResult:
        """The implementation's step, its row, and the pause that the harness may have sent for."""
        start_ns = monotonic_ns()
        result = self._implementation.step(device_batch, learning_rate, share)
        self._write(start_ns, monotonic_ns())
        if self._line.has_command():
            self._make_way()
        return result

    def _write(self, start_ns: int, end_ns: int) -> None:
        self._steps.write("{},{},{}\n".format(start_ns, end_ns, self._samples))
        self._steps.flush()
        self._taken += 1
        if self._taken == WARM_UP:
            self._line.answer(READY)

    def _make_way(self) -> None:
        """From ``pause`` to ``continue``; the harness's end of the pipe closed ends the process."""
        command = self._line.command()
        if command is None:
            raise SystemExit(0)
        if command == PAUSE:
            self._line.answer(PAUSED)
            command = self._line.command()
            if command is None:
                raise SystemExit(0)
        if command != CONTINUE:
            raise ContractError(
                "the harness sent {!r} between two steps;"
                " it may send pause and then continue.".format(command)
            )


if __name__ == "__main__":
    main("Train a workload beside inference, until the harness ends it.", train)
