"""Training steps of a network by a schedule, for measurements of memory: ``python -m
reference_impls.pytorch.memory_steps REQUEST``.

REQUEST is a JSON file: ``model`` as for reference_impls.pytorch.trace, or ``rows``
(reference_impls.pytorch.from_table); ``image``, ``batch``, ``classes``, ``threads``, ``seed``,
``blocks`` and ``schedule`` (reference_impls.pytorch.recompute); an empty schedule is ordinary
training, with another one weights are updated at once; ``spill`` is the folder of a schedule that
spills.

Every line on standard input is one step; the answer is one line of JSON with CPU time, loss and the
highest resident set. The line ``digest`` is answered with digests of gradients, weights and buffers
after one more step.
"""

import ctypes
import hashlib
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any, Dict

import torch
from torch import nn

from reference_impls.contract import Recomputation
from reference_impls.pytorch.at_once import Settings, UpdateAtOnce
from reference_impls.pytorch.from_table import network
from reference_impls.pytorch.recompute import ScheduledStep, blocks
from reference_impls.pytorch.spill import open_spill
from reference_impls.pytorch.trace import build

LEARNING_RATE, MOMENTUM = 1e-4, 0.9


class Training:
    """A network, its optimizer and one mini-batch of random pictures."""

    def __init__(self, request: Dict[str, Any]) -> None:
        torch.set_num_threads(request["threads"])
        torch.manual_seed(request["seed"])
        self._model = network(request["rows"]) if "rows" in request else build(request["model"])
        schedule, parameters = request["schedule"], list(self._model.parameters())
        self._optimizer = (
            None
            if schedule
            else torch.optim.SGD(parameters, lr=LEARNING_RATE, momentum=MOMENTUM, foreach=False)
        )
        settings = self._optimizer or Settings(parameters, LEARNING_RATE, MOMENTUM)
        for parameter in parameters:  # all at once: made between activations, they would leave gaps
            settings.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        self._images = torch.randn(request["batch"], *request["image"])
        self._labels = torch.randint(request["classes"], (request["batch"],))
        spill = open_spill(Recomputation(1, 1, 1.0, "", [], [], request.get("spill")))
        self._step = (
            ScheduledStep(blocks(self._model, request["blocks"]), schedule, spill)
            if schedule
            else None
        )
        self._at_once = UpdateAtOnce(settings) if schedule else None

    def step(self) -> float:
        """Train one step; the loss."""
        if self._step is not None:
            return self._step(
                self._images, lambda output: nn.functional.cross_entropy(output, self._labels)
            )
        assert self._optimizer is not None
        self._optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self._model(self._images), self._labels)
        loss.backward()
        self._optimizer.step()
        return loss.item()

    def digests(self) -> Dict[str, Any]:
        """Train one more step: its loss, SHA-256 of its gradients, the weights and the buffers, and
        the mini-batches that normalisations counted."""
        names = {parameter: name for name, parameter in self._model.named_parameters()}
        gradients: Dict[str, str] = {}
        if self._at_once is not None:
            self._at_once.seen = lambda parameter, gradient: gradients.update(
                {names[parameter]: _digest(gradient)}
            )
        loss = self.step()
        if self._at_once is None:
            gradients = {name: _digest(parameter.grad) for parameter, name in names.items()}
        else:
            self._at_once.seen = None
        weights = {name: _digest(parameter) for parameter, name in names.items()}
        buffers = {name: _digest(value) for name, value in self._model.named_buffers()}
        counted = sorted(
            {
                int(value)
                for name, value in self._model.named_buffers()
                if name.endswith("num_batches_tracked")
            }
        )
        return {
            "loss": loss,
            "gradients": gradients,
            "weights": weights,
            "buffers": buffers,
            "num_batches_tracked": counted,
        }


def _digest(value: Any) -> str:
    return hashlib.sha256(
        memoryview(value.detach().contiguous().numpy().reshape(-1)).cast("B")
    ).hexdigest()


class Arena:
    """The preload library of arena.c, if it is there."""

    def __init__(self) -> None:
        self._library = getattr(ctypes.CDLL(None), "arena_step", None) and ctypes.CDLL(None)

    def step(self) -> None:
        """A step begins."""
        if self._library is not None:
            self._library.arena_step()

    def counts(self) -> Dict[str, int]:
        """Bytes of large arrays, now and at their highest, those of the plan for them, and requests
        that the plan had no place for."""
        if self._library is None:
            return {}
        counts = (ctypes.c_size_t * 4)()
        self._library.arena_counts(counts)
        return dict(zip(("live", "live_peak", "planned", "unplanned"), counts))


def memory() -> Dict[str, int]:
    """Resident set and its highest value, in bytes (VmRSS, VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return {
        line.split(":")[0]: int(line.split()[1]) * 1024
        for line in lines
        if line.startswith(("VmRSS", "VmHWM", "RssAnon", "RssFile"))
    }


def main() -> None:
    """Answer one line for every line on standard input."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        request = json.load(stream)
    imported = memory()["VmRSS"]
    training, arena = Training(request), Arena()
    _answer({"imported_bytes": imported, **memory()})
    for line in sys.stdin:
        arena.step()
        if line.strip() == "digest":
            _answer(training.digests())
            continue
        before, started = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        loss = training.step()
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        faults = after.ru_minflt - before.ru_minflt
        _answer(
            {
                "cpu_s": cpu_s,
                "system_s": after.ru_stime - before.ru_stime,
                "wall_s": time.monotonic() - started,
                "faults": faults,
                "loss": loss,
                **memory(),
                **arena.counts(),
            }
        )


def _answer(values: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
