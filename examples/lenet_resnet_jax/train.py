"""Trains LeNet-5 or ResNet-18 as request.json says. docs/implementing.md defines request, log and
step records."""

import argparse
import json
import math
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import model
import numpy as np
from data import Split, evaluation_batches, training_batches
from records import Log, digests, keep, kept, write_steps

KNOWN = {
    "contract_version": (2,),
    "model": tuple(model.MODELS),
    "optimizer.name": ("sgd",),
    "optimizer.schedule": ("constant", "linear", "one_cycle"),
    "initial_weights": ("glorot_uniform", "kaiming_normal"),
    "data.layout": ("idx", "cifar10"),
    "preprocessing.augmentation": ("none", "crop_flip"),
    "parallel.ranks": (1,),
    "batches": ("read",),
    "drop_cache_every_epoch": (False,),
    "accelerator": ("cpu", "cuda"),
    "precision": ("float32",),
    "timing": ("synchronised",),
    "accumulation": (1,),
    "recomputation": (None,),
    "start": (None,),
    "trains": (None,),
    "old_task": (None,),
}
"""What may be asked for; a key that the request does not have is not asked for."""


def main():
    """Train from run_start to run_stop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--request", type=Path, required=True)
    parser.add_argument("--keep-states", type=Path)
    parser.add_argument("--start-state", type=Path)
    arguments = parser.parse_args()
    request = json.loads(arguments.request.read_text(encoding="utf-8"))
    refuse_unknown(request)
    configure(request)
    log = Log(Path(request["output_directory"]) / "log.txt")
    log("init_start")
    state = model.initial_state(
        request["model"], request["data"]["classes"], request["seed"], request["initial_weights"]
    )
    epoch = 0
    if arguments.start_state is not None:
        state, epoch = restored(request, arguments.start_state, state)
        log("state_restored", digests(state), epoch_num=epoch)
    program = compiled(request, state)
    log("parameters", sum(array.size for array in state.parameter.values()))
    log("framework_version", jax.__version__)
    log("framework_threads", request["threads"])
    log("model_trained", request["model"])
    log("optimizer_used", "sgd")
    log("precision", "float32")
    log("arithmetic", arithmetic())
    log("ranks", 1)
    log("init_stop")
    log("run_start")
    log("run_stop", status=run(request, state, epoch, program, log, arguments.keep_states))


def refuse_unknown(request):
    """End the program for a request that it cannot follow."""
    groups = {key: value for key, value in request.items() if isinstance(value, dict)}
    flat = request | {f"{g}.{key}": value for g in groups for key, value in groups[g].items()}
    for key, known in KNOWN.items():
        if key in flat and flat[key] not in known:
            words = ", ".join(map(str, known))
            sys.exit(f"error: this implementation knows {key} = {words}, not {flat[key]!r}")


def configure(request):
    """Where JAX computes, with how many threads, and never in TF32; before the first array."""
    os.environ["NPROC"] = str(request["threads"])
    jax.config.update("jax_platforms", request["accelerator"])
    jax.config.update("jax_default_matmul_precision", "highest")


def steps_of_epoch(request):
    """Mini-batches of a whole epoch."""
    return math.ceil(request["data"]["train_samples"] / request["global_batch_size"])


def restored(request, path, state):
    """The training state in a file, and its epoch; a state within an epoch is refused."""
    found, epoch, steps = kept(path, state)
    if steps != epoch * steps_of_epoch(request):
        sys.exit(f"error: {path} is a state within epoch {epoch}: no run continues from one")
    return jax.device_put(found), epoch


class Program(NamedTuple):
    """What is compiled: ``steps`` by the size of their mini-batch, and the count of correct
    predictions."""

    steps: dict
    correct: jax.stages.Compiled


def compiled(request, state):
    """The program for the sizes of all mini-batches, which the request tells without any data."""
    split = Split(request["data"], True)
    size, sgd = request["global_batch_size"], request["optimizer"]
    mean, deviation = (
        np.float32(request["preprocessing"][key])[:, None, None] for key in ("mean", "std")
    )

    def normalised(pixels):
        return (pixels.astype(jnp.float32) / 255 - mean) / deviation

    def step(state, pixels, labels, rate):
        how = {key: sgd[key] for key in ("momentum", "weight_decay")}
        return model.step(state, normalised(pixels), labels, rate, model=request["model"], **how)

    def correct(state, pixels, labels):
        apply = model.MODELS[request["model"]]
        logits, _ = apply(state.parameter, state.statistic, normalised(pixels), False)
        return (logits.argmax(axis=1) == labels).sum()

    def batch(samples):
        pixels = jax.ShapeDtypeStruct((samples, *split.image_shape), jnp.uint8)
        return pixels, jax.ShapeDtypeStruct((samples,), jnp.int32)

    sizes = {size, split.size - (steps_of_epoch(request) - 1) * size}
    donating = jax.jit(step, donate_argnums=0)
    steps = {n: donating.lower(state, *batch(n), np.float32(0)).compile() for n in sizes}
    return Program(steps, jax.jit(correct).lower(state, *batch(size)).compile())


def run(request, state, epoch, program, log, folder):
    """Epochs after ``epoch`` until the target is reached, or to the last epoch or step; returns the
    run's status. ``folder`` keeps every epoch's training state, None: nothing does."""
    training, evaluation = (Split(request["data"], is_training) for is_training in (True, False))
    whole, size = steps_of_epoch(request), request["global_batch_size"]
    target = request["target_accuracy"]

    def ending():
        is_last = epoch == request["epochs"] or done == request["steps"]
        if done == epoch * whole and (is_last or epoch % request["eval_every_epochs"] == 0):
            accuracy = evaluate(state, program, evaluation, size, log, epoch)
            if target is not None and accuracy >= target:
                return "success"
        return ("success" if target is None else "aborted") if is_last else None

    done = epoch * whole
    status = ending() if epoch else None  # a state is evaluated first
    while status is None:
        epoch += 1
        state, count = train_epoch(request, state, program, training, log, epoch)
        done += count
        log("uncounted_start", epoch_num=epoch, reason="state")
        log("state_digests", digests(state), epoch_num=epoch)
        if folder is not None:
            keep(folder, state, epoch, done)
        log("uncounted_stop", epoch_num=epoch, reason="state")
        status = ending()
    return status


def train_epoch(request, state, program, split, log, epoch):
    """One epoch; returns the state after it and the number of its steps. Nothing is written between
    its first fetch and its last step."""
    whole, now = steps_of_epoch(request), time.monotonic_ns
    done, horizon = (epoch - 1) * whole, request["epochs"] * whole
    rows, rates = [], []
    log("epoch_start", epoch_num=epoch)
    batches = training_batches(split, request, epoch)
    for step in range(done, min(done + whole, request["steps"] or horizon)):
        rates.append(rate_at(request["optimizer"], step, horizon))
        start = now()
        batch = next(batches)
        fetched = now()
        batch = jax.block_until_ready(jax.device_put(batch))
        copied = now()
        samples = len(batch[1])
        state, loss = jax.block_until_ready(
            program.steps[samples](state, *batch, np.float32(rates[-1]))
        )
        stop = now()
        seconds = [(fetched - start) / 1e9, (copied - fetched) / 1e9, (stop - copied) / 1e9, 0.0]
        rows.append([epoch, step + 1, 0, samples, start, *seconds, float(loss)])
    batches.close()
    write_steps(Path(request["output_directory"]) / "steps.csv", rows)
    log("epoch_stop", mono_ns=stop, epoch_num=epoch, steps=len(rows))
    log("learning_rates", [rates[0], rates[-1], math.fsum(rates) / len(rates)], epoch_num=epoch)
    return state, len(rows)


def rate_at(optimizer, step, horizon):
    """Learning rate of a step."""
    base, peak = optimizer["base_learning_rate"], 0.3 * horizon
    if optimizer["schedule"] == "linear":
        return base * (1 - step / horizon)
    if optimizer["schedule"] == "constant":
        return base
    if step < peak:
        return base * (0.04 + 0.96 * step / peak)
    return base / 2 * (1 + math.cos(math.pi * (step - peak) / (horizon - peak)))


def evaluate(state, program, split, size, log, epoch):
    """The share of evaluation samples that are classified correctly."""
    log("eval_start", epoch_num=epoch)
    counts = (program.correct(state, *batch) for batch in evaluation_batches(split, size))
    correct = sum(map(int, counts))
    log("eval_accuracy", correct / split.size, epoch_num=epoch, correct=correct)
    log("eval_stop", epoch_num=epoch)
    return correct / split.size


def arithmetic():
    """How many bits products and convolutions keep on the device."""
    numbers, identity = 1 + 2.0 ** -np.arange(1, 24), np.eye(23, dtype=np.float32)

    @jax.jit
    def results(matrix):
        convolve = partial(jax.lax.conv, window_strides=(1, 1), padding="VALID")
        maps = convolve(matrix[:, :, None, None], identity[:, :, None, None])
        return matrix @ identity, maps[:, :, 0, 0]

    def bits(result):
        is_kept = np.abs(np.diag(result).astype(float) - numbers) < 2.0 ** -np.arange(2, 25)
        return int(np.argmin(np.append(is_kept, False)))

    product, convolution = results(np.float32(np.diag(numbers)))
    return {
        "product_bits": bits(product),
        "convolution_bits": bits(convolution),
        "overflows": bool(np.isinf(results(2**20 * identity)[0]).any()),
        "settings": {"matmul_precision": jax.config.jax_default_matmul_precision},
    }


if __name__ == "__main__":
    main()
