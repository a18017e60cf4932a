"""Baseline: a small neural network in PowerTrain's manner (Prashanthi et al., 2024).

Trained on many modes of another workload, then all layers are fine-tuned on the few profiled modes
of this one. Two hidden layers instead of four, logarithms of time and power as outputs of one
network: enough for four inputs. Without another workload's table it is trained on the few alone.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.extensions.prediction.record.conformal import JackknifePlus, Point, jackknife_plus
from suite.extensions.prediction.record.table import Profile

Array = Any  # of floats

HIDDEN = 32
FIRST_STEPS, FIRST_RATE = 1500, 0.01
TUNING_STEPS, TUNING_RATE = 400, 0.003
BATCH = 128
DECAY = 1e-4


@dataclass(frozen=True)
class _Network:
    """Inputs are standardised by ``centre`` and ``spread``, outputs by ``level``; ``layers`` are
    weights and biases in turn."""

    centre: Array
    spread: Array
    level: Array
    layers: tuple[Array, ...]

    def at(self, rows: Array) -> Array:
        return _forward(self.layers, (rows - self.centre) / self.spread)[-1] + self.level


def fit(profile: Profile, others: Sequence[Profile] = (), seed: int = 0) -> JackknifePlus:
    """Train on the first of ``others`` and fine-tune on the profile; the level (mean of the
    logarithms) is always the profile's own."""
    first = _trained(others[0], None, seed) if others else None
    return jackknife_plus(lambda part: _point(_trained(part, first, seed)), profile)


def _point(network: _Network) -> Point:
    def at(rows: Array) -> tuple[Array, Array]:
        values = network.at(rows)
        return values[:, 0], values[:, 1]

    return at


def _trained(profile: Profile, first: _Network | None, seed: int) -> _Network:
    random = np.random.default_rng(seed)
    outputs = np.log(np.column_stack([profile.time_s, profile.power_w]))
    centre, spread = (
        (profile.rows.mean(axis=0), profile.rows.std(axis=0))
        if first is None
        else (first.centre, first.spread)
    )
    inputs, level = (
        (profile.rows - centre) / np.where(spread > 0, spread, 1.0),
        outputs.mean(axis=0),
    )
    # the level that the trained network has on these modes is not that of all modes
    if first is not None:
        level = level - _forward(first.layers, inputs)[-1].mean(axis=0)
    layers = _start(inputs.shape[1], random) if first is None else first.layers
    steps, rate = (FIRST_STEPS, FIRST_RATE) if first is None else (TUNING_STEPS, TUNING_RATE)
    return _Network(
        centre,
        np.where(spread > 0, spread, 1.0),
        level,
        _descend(layers, inputs, outputs - level, (steps, rate), random),
    )


def _start(inputs: int, random: np.random.Generator) -> tuple[Array, ...]:
    sizes = (inputs, HIDDEN, HIDDEN, 2)
    layers: list[Array] = []
    for before, after in itertools.pairwise(sizes):
        layers += [
            random.standard_normal((before, after))
            * np.sqrt(2 / before)
            * (0.1 if after == 2 else 1.0),
            np.zeros(after),
        ]
    return tuple(layers)


def _forward(layers: Sequence[Array], inputs: Array) -> list[Array]:
    """The inputs, each hidden layer's output (rectified), and the output."""
    values = [inputs]
    for place in range(0, len(layers), 2):
        linear = values[-1] @ layers[place] + layers[place + 1]
        values.append(linear if place == len(layers) - 2 else np.maximum(linear, 0))
    return values


def _gradients(layers: Sequence[Array], inputs: Array, outputs: Array) -> list[Array]:
    """Gradients of the mean squared error."""
    values = _forward(layers, inputs)
    error = 2 * (values[-1] - outputs) / len(inputs)
    gradients: list[Array] = []
    for place in range(len(layers) - 2, -1, -2):
        gradients = [
            values[place // 2].T @ error + DECAY * layers[place],
            error.sum(axis=0),
            *gradients,
        ]
        error = (error @ layers[place].T) * (values[place // 2] > 0)
    return gradients


def _descend(
    layers: Sequence[Array],
    inputs: Array,
    outputs: Array,
    schedule: tuple[int, float],
    random: np.random.Generator,
) -> tuple[Array, ...]:
    """Adam (Kingma and Ba, 2015) with a rate that falls linearly to a tenth."""
    steps, rate = schedule
    current = [layer.copy() for layer in layers]
    mean, square = (
        [np.zeros_like(layer) for layer in layers],
        [np.zeros_like(layer) for layer in layers],
    )
    for step in range(1, steps + 1):
        chosen = (
            random.choice(len(inputs), BATCH, replace=False) if len(inputs) > BATCH else slice(None)
        )
        now = rate * (1 - 0.9 * step / steps)
        for place, gradient in enumerate(_gradients(current, inputs[chosen], outputs[chosen])):
            mean[place] = 0.9 * mean[place] + 0.1 * gradient
            square[place] = 0.999 * square[place] + 0.001 * gradient**2
            current[place] -= (
                now
                * (mean[place] / (1 - 0.9**step))
                / (np.sqrt(square[place] / (1 - 0.999**step)) + 1e-8)
            )
    return tuple(current)
