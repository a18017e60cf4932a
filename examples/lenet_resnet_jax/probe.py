"""Answers the probe of `suite verify-model`: reads .npy files, writes .npy files.
docs/implementing.md defines both."""

import argparse
import json
from functools import partial
from pathlib import Path

import jax
import model
import numpy as np
from train import configure, refuse_unknown


def main():
    """Logits, loss and gradients of the first mini-batch, then one step per learning rate."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--request", type=Path, required=True)
    request = json.loads(parser.parse_args().request.read_text(encoding="utf-8"))
    refuse_unknown(request)
    configure(request)
    jax.config.update("jax_enable_x64", request["dtype"] == "float64")
    inputs, optimizer, name = Path(request["inputs"]), request["optimizer"], request["model"]

    def read(kind):
        return {path.stem: np.load(path) for path in (inputs / kind).glob("*.npy")}

    def batch(k):
        return np.load(inputs / f"images_{k}.npy"), np.load(inputs / f"labels_{k}.npy")

    parameters, statistics = read("parameter"), read("statistic")
    infer = jax.jit(partial(model.MODELS[name], is_training=False))
    grad = jax.jit(jax.value_and_grad(partial(model.loss, model=name), has_aux=True))
    step = jax.jit(
        partial(
            model.step,
            model=name,
            momentum=optimizer["momentum"],
            weight_decay=optimizer["weight_decay"],
        )
    )
    results = {"logits": infer(parameters, statistics, batch(0)[0])[0]}
    (results["loss"], _), gradients = grad(parameters, statistics, *batch(0))
    state = model.State(parameters, jax.tree.map(np.zeros_like, parameters), statistics)
    losses = []
    for k, rate in enumerate(request["learning_rates"]):
        state, value = step(state, *batch(k), rate)
        losses.append(value)
    results["losses"] = np.stack(losses)
    trees = {"gradient": gradients, "parameter": state.parameter, "statistic": state.statistic}
    for kind, tree in trees.items():
        results |= {f"{kind}/{key}": array for key, array in tree.items()}
    for key, array in results.items():
        np.save(Path(request["output"]) / f"{key}.npy", np.asarray(array, order="C"))


if __name__ == "__main__":
    main()
