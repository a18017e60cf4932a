"""Answers the probe of `suite verify-model`: reads .npy files, writes .npy files.
docs/implementing.md defines both."""

import argparse
import json
from pathlib import Path

import numpy as np
from model import SHAPES, LeNet5


def main():
    """Logits, loss and gradients of the first mini-batch, then one step per learning rate."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--request", required=True)
    request = json.loads(Path(parser.parse_args().request).read_text(encoding="utf-8"))

    def read(name):
        return np.load(Path(request["inputs"]) / (name + ".npy"))

    def write(name, value):
        np.save(Path(request["output"]) / (name + ".npy"), value)

    def batch(index):
        return read(f"images_{index}"), read(f"labels_{index}")

    model = LeNet5({name: read("parameter/" + name) for name in SHAPES})
    write("logits", model.logits(batch(0)[0]))
    write("loss", model.loss(*batch(0)))
    for name, value in model.gradients.items():
        write("gradient/" + name, value)
    losses, optimizer = [], request["optimizer"]
    for index, rate in enumerate(request["learning_rates"]):
        losses.append(model.loss(*batch(index)))
        model.update(rate, optimizer["momentum"], optimizer["weight_decay"])
    write("losses", losses)
    for name, value in model.parameters.items():
        write("parameter/" + name, value)


if __name__ == "__main__":
    main()
