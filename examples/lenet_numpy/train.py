"""Trains LeNet-5 as request.json says. docs/implementing.md defines request, log and step
records."""

import argparse
import json
import math
import sys
import time
import zlib
from pathlib import Path

import numpy as np
from model import SHAPES, LeNet5
from records import Log, Steps, keep_state, peak_memory_bytes, state_digests, training_state

EVALUATED = 100
KNOWN = {
    "model": "lenet5",
    "initial_weights": "glorot_uniform",
    "batches": "read",
    "drop_cache_every_epoch": False,
    "accelerator": "cpu",
}


def main():
    """Train from run_start to run_stop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--request", required=True)
    parser.add_argument("--keep-states", type=Path)
    parser.add_argument("--start-state")
    arguments = parser.parse_args()
    request = json.loads(Path(arguments.request).read_text(encoding="utf-8"))
    for key, known in KNOWN.items():
        if request[key] != known:
            sys.exit(
                f"error: this implementation knows {key} = {known}, and the request says"
                f" {request[key]}"
            )
    log, steps = Log(request["output_directory"]), Steps(request["output_directory"])
    log.event("init_start")
    model = LeNet5(draw_weights(request["seed"]))
    start = (0, 0)
    if arguments.start_state is not None:
        start = restore(model, arguments.start_state)
        if start[1] != start[0] * steps_of_epoch(request):
            sys.exit(f"error: {arguments.start_state} is a state within epoch {start[0]}")
        log.event("state_restored", state_digests(model), epoch_num=start[0])
    log.event("parameters", sum(value.size for value in model.parameters.values()))
    log.event("model_trained", "lenet5")
    log.event("optimizer_used", "sgd")
    log.event("precision", "float32")
    log.event("framework_version", np.__version__)
    log.event("framework_threads", request["threads"])
    log.event("ranks", 1)
    log.event("init_stop")
    log.event("run_start")
    log.event("run_stop", status=run(request, model, log, steps, start, arguments.keep_states))
    log.event("peak_rss_of_ranks", [peak_memory_bytes()])
    steps.close()
    log.close()


def draw_weights(seed):
    """Glorot and Bengio's uniform distribution, a stream for every parameter; biases are zero."""
    drawn = {}
    for name, shape in SHAPES.items():
        drawn[name] = np.zeros(shape, np.float32)
        if name.endswith(".weight"):
            bound = math.sqrt(6.0 / (np.prod(shape[1:]) + shape[0] * np.prod(shape[2:])))
            stream = np.random.RandomState([seed, zlib.crc32(name.encode("ascii"))])
            drawn[name] = stream.uniform(-bound, bound, size=shape).astype(np.float32)
    return drawn


def restore(model, path):
    """Take over the arrays of a training state; returns its epoch and step."""
    with np.load(path) as state:
        for name, value in training_state(model).items():
            value[...] = state[name]
        epoch, step = state["progress"].tolist()
    return epoch, step


def steps_of_epoch(request):
    """Mini-batches of a whole epoch."""
    return math.ceil(request["data"]["train_samples"] / request["global_batch_size"])


def run(request, model, log, steps, start, states):
    """Epochs after ``start`` until the target is reached, or to the last epoch or step; returns the
    run's status. ``states`` is the folder that keeps every epoch's training state, or None."""
    whole = steps_of_epoch(request)
    training, evaluation = Split(request, "train"), Split(request, "t10k")
    target = request["target_accuracy"]

    def ending():
        is_last = epoch == request["epochs"] or done == request["steps"]
        if done == epoch * whole and (is_last or epoch % request["eval_every_epochs"] == 0):
            accuracy = evaluate(request, model, evaluation, log, epoch)
            if target is not None and accuracy >= target:
                return "success"
        return ("success" if target is None else "aborted") if is_last else None

    epoch, done = start
    status = ending() if epoch else None  # a state is evaluated first
    while status is None:
        epoch += 1
        done += train_epoch(request, model, training, log, steps, epoch, done)
        log.event("uncounted_start", reason="state", epoch_num=epoch)
        log.event("state_digests", state_digests(model), epoch_num=epoch)
        if states is not None:
            keep_state(model, states, epoch, done)
        log.event("uncounted_stop", reason="state", epoch_num=epoch)
        status = ending()
    return status


def train_epoch(request, model, split, log, steps, epoch, done):
    """One epoch; returns the number of its steps. Nothing is written between its first fetch and
    its last step."""
    optimizer, samples, size = (
        request["optimizer"],
        request["data"]["train_samples"],
        request["global_batch_size"],
    )
    horizon = request["epochs"] * steps_of_epoch(request)
    rows = []
    log.event("epoch_start", epoch_num=epoch)
    start_ns = stepped_ns = time.monotonic_ns()
    order = np.random.RandomState([request["seed"], epoch]).permutation(samples)
    for first in range(0, samples, size):
        images, labels = split.batch(order[first : first + size])
        fetched_ns = time.monotonic_ns()
        step = done + len(rows)
        rate = optimizer["base_learning_rate"] * (
            (1.0 - step / horizon) if optimizer["schedule"] == "linear" else 1.0
        )
        loss = model.loss(images, labels)
        model.update(rate, optimizer["momentum"], optimizer["weight_decay"])
        stepped_ns = time.monotonic_ns()
        fetch_s, compute_s = (fetched_ns - start_ns) * 1e-9, (stepped_ns - fetched_ns) * 1e-9
        rows.append((epoch, step + 1, 0, len(labels), start_ns, fetch_s, 0.0, compute_s, 0.0, loss))
        if step + 1 == request["steps"]:
            break
        start_ns = time.monotonic_ns()
    steps.write(rows)
    if not all(math.isfinite(row[-1]) for row in rows):
        sys.exit(
            f"error: the loss is no finite number in epoch {epoch}; use a smaller learning rate or"
            " batch size"
        )
    log.event("epoch_stop", at_ns=stepped_ns, epoch_num=epoch, steps=len(rows))
    return len(rows)


def evaluate(request, model, split, log, epoch):
    """The share of evaluation samples that are classified correctly."""
    samples = request["data"]["eval_samples"]
    log.event("eval_start", epoch_num=epoch)
    correct = 0
    for first in range(0, samples, EVALUATED):
        images, labels = split.batch(np.arange(first, min(first + EVALUATED, samples)))
        correct += int((model.logits(images).argmax(axis=1) == labels).sum())
    log.event("eval_accuracy", correct / samples, epoch_num=epoch, correct=correct)
    log.event("eval_stop", epoch_num=epoch)
    return correct / samples


class Split:
    """A part of the data set in IDX files, read when its first mini-batch is fetched."""

    def __init__(self, request, prefix):
        self._paths = [
            Path(request["data"]["directory"]) / (prefix + name)
            for name in ("-images-idx3-ubyte", "-labels-idx1-ubyte")
        ]
        mean, deviation = request["preprocessing"]["mean"][0], request["preprocessing"]["std"][0]
        self._scale, self._shift = (
            np.float32(1.0 / (255.0 * deviation)),
            np.float32(-mean / deviation),
        )
        self._images = self._labels = None

    def batch(self, chosen):
        """Normalised images float32 (samples, 1, 28, 28) and labels int64."""
        if self._images is None:
            self._images = np.fromfile(self._paths[0], np.uint8, offset=16).reshape(-1, 1, 28, 28)
            self._labels = np.fromfile(self._paths[1], np.uint8, offset=8).astype(np.int64)
        return self._images[chosen] * self._scale + self._shift, self._labels[chosen]


if __name__ == "__main__":
    main()
