"""Trainings and inferences that the harness starts, pauses and ends, and how each shares the
machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from reference_impls import contract
from suite.launch.turns import Child, Program

EPOCHS = 1_000_000
"""More than any measurement trains: the harness ends the training."""

NO_VARIABLES: Mapping[str, str] = {}


@dataclass(frozen=True)
class Side:
    """A training, or an inference: its workload's resolved request, the module with ``build``, the
    interpreter, and how it shares the machine."""

    request: contract.Request
    implementation: str
    interpreter: Path
    nice: int = 0
    cpus: tuple[int, ...] = ()

    def program(self, what: str, module: str, request: contract.Request, folder: Path) -> Program:
        """The program of ``module``, its request written to the new ``folder``."""
        folder.mkdir(parents=True)
        path = folder.absolute() / contract.REQUEST_NAME  # it runs in the repository's root
        changed = request._replace(output_directory=str(path.parent))
        path.write_text(json.dumps(contract.request_to_dict(changed)), encoding="utf-8")
        return Program(
            what,
            self.interpreter,
            module,
            self.implementation,
            path,
            request.threads,
            self.nice,
            self.cpus,
        )


def start_training(side: Side, folder: Path, variables: Mapping[str, str] = NO_VARIABLES) -> Child:
    """A training in ``folder``, after its first steps; it goes on until the child is left."""
    request = side.request._replace(
        epochs=EPOCHS, eval_every_epochs=EPOCHS, target_accuracy=None, steps=None
    )
    program = side.program("training", "reference_impls.turns.training", request, folder)
    child = Child(replace(program, variables=variables))
    child.wait_until_ready()
    return child
