"""Implementations that cheat after the steps which an audit compares one by one: the whole epoch
contradicts each of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_impls.communication import World
from reference_impls.contract import Batch
from reference_impls.fake.implementation import FEATURES, SoftmaxRegression
from reference_impls.state_file import Progress, StateFile, state_name, write_state
from suite.metrics.epoch_replays import MIN_REPLAYS, EpochReplays, replay_figures
from suite.metrics.replayed_losses import AuditVerdict
from suite.verify.rounding import round_anew

HONEST, STEPS, CLASSES = 5, 25, 10
Step = Callable[[Any, int, Batch, float], float]


def take(one: SoftmaxRegression, images: Any, labels: Any, rate: float) -> float:
    return float(one.step(Batch(images, labels), rate, 1.0)[0])


def part(share: float) -> Step:
    def step(one: Any, number: int, batch: Batch, rate: float) -> float:
        kept = max(1, round(len(batch.labels) * share))
        return take(one, batch.images[:kept], batch.labels[:kept], rate)

    return step


def every(period: int, loss: Callable[[Any, Batch], float]) -> Step:
    """Leave one update of ``period`` out, and state a loss."""

    def step(one: Any, number: int, batch: Batch, rate: float) -> float:
        if number % period:
            return take(one, batch.images, batch.labels, rate)
        return loss(one, batch)

    return step


def at_rate(factor: float) -> Step:
    return lambda one, number, batch, rate: take(one, batch.images, batch.labels, rate * factor)


def true_loss(one: Any, batch: Batch) -> float:
    return float(one._gradient(batch)[0])


def of_half(one: Any, batch: Batch) -> float:
    half = len(batch.labels) // 2
    return true_loss(one, Batch(batch.images[:half], batch.labels[:half]))


def whole_loss_half_update(one: Any, number: int, batch: Batch, rate: float) -> float:
    loss, half = true_loss(one, batch), len(batch.labels) // 2
    take(one, batch.images[:half], batch.labels[:half], rate)
    return loss


def repeated(one: Any, number: int, batch: Batch, rate: float) -> float:
    """The same few samples again and again."""
    one.first = getattr(one, "first", batch)
    return take(one, one.first.images, one.first.labels, rate)


def relabelled(one: Any, number: int, batch: Batch, rate: float) -> float:
    return take(one, batch.images, [label and label - 1 for label in batch.labels], rate)


def without_momentum(one: Any, number: int, batch: Batch, rate: float) -> float:
    one._momentum = 0.0
    return take(one, batch.images, batch.labels, rate * 10)


def easiest(one: Any, number: int, batch: Batch, rate: float) -> float:
    losses = [true_loss(one, Batch([x], [y])) for x, y in zip(*batch, strict=True)]
    kept = sorted(range(len(losses)), key=losses.__getitem__)[: len(losses) // 2]
    return take(one, [batch.images[k] for k in kept], [batch.labels[k] for k in kept], rate)


CHEATS: dict[str, Step] = {
    "half of the samples": part(0.5),
    "nine tenths of the samples": part(0.9),
    "one sample": part(0.0),
    "every second update left out, true loss": every(2, true_loss),
    "every fourth update left out, true loss": every(4, true_loss),
    "every eighth update left out, true loss": every(8, true_loss),
    "every eighth update left out, loss of half": every(8, of_half),
    "every update left out": every(1, true_loss),
    "every second update left out, invented loss": every(2, lambda one, batch: 0.5),
    "half the rate": at_rate(0.5),
    "nine tenths of the rate": at_rate(0.9),
    "a tenth more rate": at_rate(1.1),
    "no rate": at_rate(0.0),
    "whole loss, half of the update": whole_loss_half_update,
    "the same samples again": repeated,
    "other labels": relabelled,
    "no momentum": without_momentum,
    "the easiest samples": easiest,
    "half of the samples at twice the rate": lambda one, number, batch, rate: part(0.5)(
        one, number, batch, 2 * rate
    ),
    "losses of a falling line": lambda one, number, batch, rate: 1.0 - 0.01 * number,
}


def batches() -> Iterator[Batch]:
    """Pictures around the mean of their class."""
    random = np.random.default_rng(0)
    means = random.random((CLASSES, FEATURES))
    for _ in range(STEPS):
        labels = random.integers(0, CLASSES, 16)
        pictures = means[labels] + 0.3 * random.standard_normal((16, FEATURES))
        yield Batch(pictures.tolist(), labels.tolist())


class Trainer:
    """The test framework, from one state on."""

    def __init__(self, folder: Path) -> None:
        request: Any = SimpleNamespace(
            seed=1, optimizer=SimpleNamespace(momentum=0.9), data=SimpleNamespace(classes=CLASSES)
        )
        self._model: Any = SoftmaxRegression(request, World())
        self._folder, self._batches = folder, list(batches())
        write_state(str(folder / state_name(1)), self._model.training_state(), Progress(1, 0))
        self.replays = [self.epoch(at_rate(1.0), seed) for seed in range(MIN_REPLAYS)]

    def epoch(self, step: Step, seed: int = 99) -> tuple[tuple[float, ...], None]:
        """Losses of the steps, of which the first are honest."""
        moved = self._folder / "moved.npz"
        round_anew(StateFile(str(self._folder / state_name(1))), seed, moved)
        self._model.__dict__.pop("first", None)
        self._model._momentum = 0.9
        self._model.restore(StateFile(str(moved)).of_rank(0))
        honest = at_rate(1.0)
        return tuple(
            (honest if number <= HONEST else step)(self._model, number, batch, 0.1)
            for number, batch in enumerate(self._batches, start=1)
        ), None

    def judged(self, step: Step) -> AuditVerdict:
        own, replayed = replay_figures(self.epoch(step), self.replays)
        return EpochReplays(STEPS, 1, 1, 100, own, replayed).verdict


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    return Trainer(tmp_path_factory.mktemp("cheats"))


def test_an_honest_implementation_agrees(trainer: Trainer) -> None:
    assert trainer.judged(at_rate(1.0)) is AuditVerdict.AGREES


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheating_implementation_contradicts(trainer: Trainer, cheat: str) -> None:
    assert trainer.judged(CHEATS[cheat]) is AuditVerdict.CONTRADICTS
