"""Training steps of a network by a schedule, for measurements of memory: ``python -m reference_impls.pytorch.memory_steps REQUEST``.

REQUEST is a JSON file: ``model`` as for reference_impls.pytorch.trace, ``image``, ``batch``, ``classes``, ``threads``, ``seed``, ``blocks`` and
``schedule`` (reference_impls.pytorch.recompute); an empty schedule is ordinary training. Every line on standard
input is one step; the answer is one line of JSON with CPU time, loss and the highest resident set. The line
``digest`` is answered with digests of gradients, weights and buffers.
"""

import hashlib
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterable, Tuple

import torch
from torch import nn

from reference_impls.pytorch.recompute import ScheduledStep, blocks
from reference_impls.pytorch.trace import build


class Training:
    """A network, its optimizer and one mini-batch of random pictures."""

    def __init__(self, request: Dict[str, Any]) -> None:
        torch.set_num_threads(request["threads"])
        torch.manual_seed(request["seed"])
        self._model = build(request["model"])
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=1e-4, momentum=0.9, foreach=False)
        for parameter in self._model.parameters():  # all at once: made between activations, they would leave gaps
            self._optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        self._images = torch.randn(request["batch"], *request["image"])
        self._labels = torch.randint(request["classes"], (request["batch"],))
        schedule = [(action, block) for action, block in request["schedule"]]
        self._step = ScheduledStep(blocks(self._model, request["blocks"]), schedule) if schedule else None

    def step(self) -> float:
        """Train one step; the loss."""
        self._optimizer.zero_grad(set_to_none=True)
        if self._step is None:
            loss = nn.functional.cross_entropy(self._model(self._images), self._labels)
            loss.backward()
            value = loss.item()
        else:
            value = self._step(self._images, lambda output: nn.functional.cross_entropy(output, self._labels))
        self._optimizer.step()
        return value

    def digests(self) -> Dict[str, str]:
        """SHA-256 of the last gradients, the weights and the buffers."""
        parameters = list(self._model.named_parameters())
        return {
            "gradients": _digest((name, value.grad) for name, value in parameters),
            "weights": _digest((name, value.detach()) for name, value in parameters),
            "buffers": _digest(self._model.named_buffers()),
        }


def _digest(values: Iterable[Tuple[str, Any]]) -> str:
    digest = hashlib.sha256()
    for name, value in values:
        digest.update(name.encode())
        digest.update(memoryview(value.contiguous().numpy().reshape(-1)).cast("B"))
    return digest.hexdigest()


def memory() -> Dict[str, int]:
    """Resident set and its highest value, in bytes (VmRSS, VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.startswith(("VmRSS", "VmHWM"))}


def main() -> None:
    """Answer one line for every line on standard input."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        request = json.load(stream)
    imported = memory()["VmRSS"]
    training = Training(request)
    _answer({"imported_bytes": imported, **memory()})
    for line in sys.stdin:
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
            }
        )


def _answer(values: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
