"""PyTorch: our loop and a plain loop over torchvision's data sets. Started by
benchmarks/speed/pytorch.py."""

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

from benchmarks.workers import turns
from benchmarks.workers.turns import Contest, Options
from reference_impls.contract import Batch
from reference_impls.data.pipelines import open_pipeline
from reference_impls.pytorch.implementation import PyTorchImplementation
from reference_impls.pytorch.models import MODELS
from reference_impls.pytorch.vision import import_torchvision
from reference_impls.pytorch_bf16.implementation import Bfloat16ChannelsLast


def plain(model: nn.Module) -> Callable[[torch.Tensor, torch.Tensor], float]:
    """A training step as in PyTorch's tutorials."""
    optimizer, criterion = (
        torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
        nn.CrossEntropyLoss(),
    )

    def step(images: torch.Tensor, labels: torch.Tensor) -> float:
        model.train()
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def lenet(options: Options) -> Contest:
    """The first mini-batches of an epoch from MNIST's files: ours, and torchvision's MNIST with a
    transform per sample (as in the papers)."""
    torch.set_num_threads(options.threads)
    request = turns.mnist(options)
    ours, theirs = MODELS["lenet5"](10), plain(MODELS["lenet5"](10))
    implementation = PyTorchImplementation(ours, request.optimizer, "cpu")
    loader = DataLoader(
        _torchvision_mnist(options.data), batch_size=options.batch_size, shuffle=True
    )

    def do_theirs() -> None:
        for images, labels in itertools.islice(loader, options.steps):
            theirs(images, labels)

    return Contest(
        lambda: turns.steps_of(implementation, open_pipeline(request).training(1), options.steps),
        do_theirs,
        options.steps,
    )


def _torchvision_mnist(folder: str) -> "torch.utils.data.Dataset":
    vision = import_torchvision()
    transform = vision.transforms.Compose(
        [vision.transforms.ToTensor(), vision.transforms.Normalize((0.1307,), (0.3081,))]
    )

    class Mnist(vision.datasets.MNIST):
        """torchvision's MNIST, read from a folder of any name."""

        raw_folder = property(lambda self: str(Path(folder).resolve()))

    return Mnist(folder, train=True, transform=transform)


def model(name: str, side: int, classes: int, options: Options) -> Contest:
    """A training step on a mini-batch in memory: ours, and the plain loop."""
    torch.set_num_threads(options.threads)
    images, labels = turns.pictures(options, side, classes)
    request = turns.mnist(options)
    implementation = PyTorchImplementation(MODELS[name](classes), request.optimizer, "cpu")
    theirs, tensors = (
        plain(MODELS[name](classes)),
        (torch.from_numpy(images), torch.from_numpy(labels)),
    )

    def do_theirs() -> None:
        for _ in range(options.steps):
            theirs(*tensors)

    return Contest(
        lambda: turns.steps_of(
            implementation, itertools.repeat(Batch(images, labels)), options.steps
        ),
        do_theirs,
        options.steps,
    )


def bf16(name: str, side: int, classes: int, options: Options) -> Contest:
    """A training step: the open-division variant with bfloat16, and the reference."""
    torch.set_num_threads(options.threads)
    batch, settings = Batch(*turns.pictures(options, side, classes)), turns.mnist(options).optimizer
    both = [
        kind(MODELS[name](classes), settings, "cpu")
        for kind in (Bfloat16ChannelsLast, PyTorchImplementation)
    ]
    tuned, reference = (
        partial(turns.steps_of, one, itertools.repeat(batch), options.steps) for one in both
    )
    return Contest(tuned, reference, options.steps)


def photographs(options: Options) -> Contest:
    """Mini-batches of 224x224 from JPEG files, without training: ours, and ImageFolder with the
    usual transforms."""
    torch.set_num_threads(options.threads)
    vision = import_torchvision()
    transforms = vision.transforms
    chain = [
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
    ]
    chain.append(transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    folder = vision.datasets.ImageFolder(Path(options.data) / "train", transforms.Compose(chain))
    loader = DataLoader(folder, batch_size=options.batch_size, shuffle=True)
    request = turns.photographs(options, len(folder), len(folder.classes))

    def take(batches: "object") -> None:
        for _ in itertools.islice(batches, options.steps):
            pass

    return Contest(
        lambda: take(open_pipeline(request).training(1)), lambda: take(loader), options.steps
    )


CASES = {
    "lenet": lenet,
    **{name: partial(model, *case) for name, case in turns.MODELS.items()},
    "photographs": photographs,
    "resnet18-bf16": partial(bf16, *turns.MODELS["resnet18"]),
    "mobilenetv3-bf16": partial(bf16, *turns.MODELS["mobilenetv3"]),
}

if __name__ == "__main__":
    turns.main(CASES)
