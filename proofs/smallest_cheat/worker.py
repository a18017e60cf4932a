"""Runs in PyTorch's environment: trains the epoch after a training state, as it should be and with
cheats that begin at its step FROM.

``python -m proofs.smallest_cheat.worker REQUEST``; every line of the input is a JSON object
with the file of a ``state``, a ``cheat`` and its ``size``, every line of the output the same with
the losses of the steps and the correct samples after them.
"""

import json
import sys
from typing import Any

import torch

from reference_impls.communication import World
from reference_impls.contract import read_request
from reference_impls.pytorch.implementation import PyTorchImplementation, build
from reference_impls.state_file import StateFile
from reference_impls.updates import learning_rate

FROM = 12
"""Steps after the state that are as they should be: who knows the audit leaves them alone."""


class Cheating(PyTorchImplementation):
    """Does a part of the work, from a step on; ``size`` is the share that is left out or wrong."""

    cheat, size, taken = "none", 0.0, 0

    def step(self, device_batch: Any, rate: float, share: float) -> Any:
        """One step, or what is stated as one."""
        self.taken += 1
        if self.taken <= FROM or self.cheat == "none":
            return super().step(device_batch, rate, share)
        if self.cheat == "rate":
            return super().step(device_batch, rate * (1 - self.size), share)
        images, labels = device_batch
        if self.cheat == "samples":
            kept = max(1, round(len(labels) * (1 - self.size)))
            return super().step((images[:kept], labels[:kept]), rate, share)
        if int(self.taken * self.size) == int((self.taken - 1) * self.size):
            return super().step(device_batch, rate, share)
        with torch.no_grad():  # an update that is left out, with the loss of the whole mini-batch
            return self._loss(images, labels).item(), 0.0


def main(request_file: str) -> None:
    """Answer line by line."""
    request = read_request(request_file)
    built = build(request, World(), Cheating)
    implementation = built.implementation
    assert isinstance(implementation, Cheating)
    for line in sys.stdin:
        asked = json.loads(line)
        state = StateFile(asked["state"])
        implementation.restore(state.of_rank(0))
        implementation.cheat, implementation.size = asked["cheat"], asked["size"]
        implementation.taken, losses = 0, []
        for index, batch in enumerate(built.pipeline.training(state.progress.epoch + 1)):
            rate = learning_rate(request, state.progress.step + index)
            on_device = implementation.to_device(batch)
            losses.append(implementation.step(on_device, rate, 1.0)[0])
        correct = sum(
            implementation.count_correct(implementation.to_device(batch))
            for batch in built.pipeline.evaluation()
        )
        print(json.dumps({**asked, "losses": losses, "correct": correct}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
