"""Runs in a framework's environment: ``python -m`` this module, with MODULE REQUEST FOLDER, trains
a request that begins with a checkpoint and trains a part of its model, by the implementation's
steps and by its referee; writes ``found.npz``."""

import importlib
import sys

import numpy as np

from reference_impls.adaptation import Adaptation
from reference_impls.communication import World
from reference_impls.contract import read_request
from reference_impls.probe import SharesInTurn
from reference_impls.replay import assign_start, opening


class Log:
    """Keeps what the loop would log."""

    def __init__(self) -> None:
        self.points = []

    def point(self, key, value, **metadata) -> None:
        """Keep one event."""
        self.points.append((key, value))


module, request, folder = sys.argv[1], read_request(sys.argv[2]), sys.argv[3]
built = importlib.import_module(module + ".implementation").build(request, World())
one, log, rates = built.implementation, Log(), [0.05, 0.05, 0.01]
old = [one.to_device(batch) for batch in built.old_task.evaluation()]
adaptation = Adaptation(request, one, log, lambda: sum(map(one.count_correct, old)))
adaptation.begin(World(), built.facts)
start = one.training_state()
losses = []
batches = list(built.pipeline.training(1))[: len(rates)]
for rate, batch in zip(rates, batches, strict=True):
    losses.append(one.step(one.to_device(batch), rate, 1.0).loss)
adaptation.end()
found = {"start/" + name: value for name, value in start.items()}
found.update(("end/" + name, value) for name, value in one.training_state().items())

probe = importlib.import_module(module + ".probe")
probed = next(
    value
    for name, value in vars(probe).items()
    if name.startswith("Probed") and name != "ProbedModel"
)
model = probed(opening(request))
assign_start(model, request)
sgd = SharesInTurn(model, request.optimizer, 1)
canonical = [
    batch.images if batch.images.shape[1] in (1, 3) else batch.images.transpose(0, 3, 1, 2)
    for batch in (batch._replace(images=np.asarray(batch.images)) for batch in batches)
]
found["expected losses"] = np.array(
    [
        sgd.step(images.astype("float64"), np.asarray(batch.labels), rate)
        for images, batch, rate in zip(canonical, batches, rates, strict=True)
    ]
)
found["losses"] = np.array(losses)
found.update(("expected/parameter/" + name, value) for name, value in model.parameters().items())
found.update(("expected/statistic/" + name, value) for name, value in model.statistics().items())
digests = {key: [value for name, value in log.points if name == key] for key, _ in log.points}
found["frozen"] = np.array(digests["frozen"])
found["old task"] = np.array(digests["old_task_accuracy"])
found["started"] = np.array(digests["started_from"])
found["gradients"] = np.array(len(one.gradients(one.to_device(batches[0]))))
found["trained"] = np.array(built.facts["trained"]["names"])
np.savez(folder + "/found.npz", **found)
