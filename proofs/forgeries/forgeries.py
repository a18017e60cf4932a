"""Forged runs for the audit: copies of sealed reference runs whose losses are those of another
training, or of none, sealed again.

Losses of a training with something wrong are real: the implementation trained them, with another
seed, data, weights, batch size or rate than the bundle says. Other forgeries need no training.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reference_impls.contract import Request, request_from_dict
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.verify.replaying import replay_steps
from tests.faults.edits.editable_bundle import EditableBundle

STEPS = 30
IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
IMAGES_HEADER_BYTES, LABELS_HEADER_BYTES, PIXELS = 16, 8, 28 * 28

Losses = Callable[["Sample"], Sequence[float]]


@dataclass(frozen=True)
class Sample:
    """A genuine run, its request on this machine's data, and a folder for scratch files."""

    run: Path
    request: Request
    scratch: Path

    def losses(self) -> "np.ndarray":
        """The run's losses."""
        return np.array(Bundle(self.run).steps().loss)


@dataclass(frozen=True)
class Forgery:
    """One forgery: its kind, what it does, and the losses that it claims; ``seed`` is claimed too,
    if not None."""

    kind: str
    name: str
    losses: Losses
    seed: int | None = None


def sample(run: Path, data: Path, scratch: Path) -> Sample:
    """A genuine run, and what is needed to train it with something wrong."""
    request = request_from_dict(dict(Bundle(run).run().request))
    return Sample(
        run,
        request._replace(
            data=request.data._replace(directory=str(data)),
            steps=STEPS,
            target_accuracy=None,
            threads=1,
        ),
        scratch,
    )


def forge(forgery: Forgery, of: Sample, target: Path) -> Path:
    """Write the forged bundle to ``target``, its chain and manifest made to fit."""
    losses = forgery.losses(of)
    shutil.copytree(of.run, target)
    bundle = EditableBundle(target)
    bundle.steps.loc[bundle.steps.index[: len(losses)], "loss"] = list(losses)
    if forgery.seed is not None:
        bundle.request["seed"] = bundle.event("seed")["value"] = forgery.seed
    bundle.save()
    return target


def all_forgeries() -> Iterator[Forgery]:
    """Forty, five of each kind."""
    for seed in (4, 5, 6, 7, 8):
        yield Forgery(
            "another seed",
            f"trained with seed {seed}",
            trained(lambda request, seed=seed: request._replace(seed=seed)),
        )
    for name, change in DATA.items():
        yield Forgery("other data", name, trained_on(change))
    for name in ("uniform_fan_in", "kaiming_normal"):
        yield Forgery(
            "other initial weights",
            name,
            trained(lambda request, name=name: request._replace(initial_weights=name)),
        )
        yield Forgery(
            "other initial weights",
            f"{name}, half the rate",
            trained(lambda request, name=name: halved(request)._replace(initial_weights=name)),
        )
    yield Forgery(
        "other initial weights", "pretrained for twenty steps", lambda of: of.losses()[20:50]
    )
    for size in (16, 64, 120, 127, 256):
        yield Forgery(
            "another batch size",
            f"{size} instead of 128",
            trained(lambda request, size=size: request._replace(global_batch_size=size)),
        )
    for factor in (0.5, 0.9):
        for number in range(1, 6):
            yield Forgery(
                f"{factor} of the learning rate",
                f"{number}",
                trained(lambda request, factor=factor: scaled(request, factor)),
            )
    for seed in (11, 12, 13, 14, 15):
        yield Forgery(
            "copied under another seed", f"as seed {seed}", lambda of: of.losses()[:STEPS], seed
        )
    for name, invented in INVENTED.items():
        yield Forgery("fabricated", name, invented)


def trained(change: Callable[[Request], Request]) -> Losses:
    """The losses of a training with a changed request, in the run's own framework."""
    return lambda of: replay_steps(change(of.request), load_framework(of.request.framework)).losses


def scaled(request: Request, factor: float) -> Request:
    """With another learning rate."""
    return request._replace(
        optimizer=request.optimizer._replace(
            base_learning_rate=request.optimizer.base_learning_rate * factor
        )
    )


def halved(request: Request) -> Request:
    """With half the learning rate."""
    return scaled(request, 0.5)


Change = Callable[["np.ndarray", "np.ndarray"], tuple["np.ndarray", "np.ndarray"]]


def trained_on(change: Change) -> Losses:
    """The losses of a training on changed images (samples, 28, 28) and labels (samples,)."""

    def losses(of: Sample) -> Sequence[float]:
        folder, source = of.scratch / "data", Path(of.request.data.directory)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        images, labels = (source / IMAGES).read_bytes(), (source / LABELS).read_bytes()
        changed = change(
            np.frombuffer(images, np.uint8, offset=IMAGES_HEADER_BYTES).reshape(-1, 28, 28).copy(),
            np.frombuffer(labels, np.uint8, offset=LABELS_HEADER_BYTES).copy(),
        )
        (folder / IMAGES).write_bytes(images[:IMAGES_HEADER_BYTES] + changed[0].tobytes())
        (folder / LABELS).write_bytes(labels[:LABELS_HEADER_BYTES] + changed[1].tobytes())
        request = of.request._replace(data=of.request.data._replace(directory=str(folder)))
        return replay_steps(request, load_framework(of.request.framework)).losses

    return losses


def half_twice(images: "np.ndarray", labels: "np.ndarray") -> tuple["np.ndarray", "np.ndarray"]:
    """The first half of the data set, twice."""
    half = len(labels) // 2
    return np.concatenate([images[:half]] * 2), np.concatenate([labels[:half]] * 2)


def few_wrong_labels(
    images: "np.ndarray", labels: "np.ndarray"
) -> tuple["np.ndarray", "np.ndarray"]:
    """One label of a hundred is wrong."""
    chosen = np.random.RandomState(1).permutation(len(labels))[: len(labels) // 100]
    labels[chosen] = (labels[chosen] + 1) % 10
    return images, labels


DATA: dict[str, Change] = {
    "generated pictures": lambda images, labels: (
        np.random.RandomState(1).randint(0, 256, images.shape).astype(np.uint8),
        labels,
    ),
    "inverted pictures": lambda images, labels: (255 - images, labels),
    "pictures shifted by one pixel": lambda images, labels: (np.roll(images, 1, axis=2), labels),
    "one half of the data, twice": half_twice,
    "one label of a hundred wrong": few_wrong_labels,
}


def _noise(deviation: float) -> Losses:
    return lambda of: of.losses()[:STEPS] + np.random.RandomState(1).normal(0, deviation, STEPS)


INVENTED: dict[str, Losses] = {
    "an exponential with noise": lambda of: (
        2.3 * np.exp(-np.arange(STEPS) / 40) + np.random.RandomState(2).normal(0, 0.05, STEPS)
    ),
    "the loss of guessing, slowly falling": lambda of: np.log(10) - 0.01 * np.arange(STEPS),
    "the real losses, 2 % smaller": lambda of: of.losses()[:STEPS] * 0.98,
    "the real losses with noise of 0.01": _noise(0.01),
    "the real losses, smoothed over three steps": lambda of: np.convolve(
        of.losses()[: STEPS + 2], np.ones(3) / 3, mode="valid"
    ),
}
