"""Workloads: model, data set and target, defined once in ``rules/workloads/*.toml``."""

from dataclasses import dataclass
from pathlib import Path

from suite.catalog.definitions import load_all, load_one
from suite.files.paths import repository_root


@dataclass(frozen=True)
class OptimizerDefinition:
    """SGD as every implementation takes it; ``schedule`` is a name in reference_impls.schedules."""

    name: str
    base_learning_rate: float
    momentum: float
    weight_decay: float
    schedule: str


@dataclass(frozen=True)
class PreprocessingDefinition:
    """Normalisation of pixels scaled to [0, 1], per channel, after an augmentation of training pictures (none, crop_flip, resized_crop)."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    augmentation: str = "none"


@dataclass(frozen=True)
class OtherData:
    """A data set that the workload may be run on in the open division.

    ``target_accuracy`` is None where none has been established there, ``model`` where it is the workload's own.
    """

    data: str
    epochs: int
    target_accuracy: float | None = None
    model: str | None = None


@dataclass(frozen=True)
class Tunable:
    """What a closed submission may tune: each range is (lowest, highest), both allowed."""

    batch_size: tuple[int, ...]
    base_learning_rate: tuple[float, ...]


@dataclass(frozen=True)
class Needs:
    """What a device must have for the workload at its default batch size."""

    memory_size_bytes: int
    disk_size_bytes: int


@dataclass(frozen=True)
class Tolerances:
    """How far an implementation may be from the reference, relative to a quantity's largest value; float64 unless named otherwise.

    ``losses``, ``statistic`` and ``parameter`` are those of the optimiser steps and after them, ``statistic_float32`` is that after the first.
    """

    logits: float
    loss: float
    gradient: float
    losses: float
    statistic: float
    parameter: float
    logits_float32: float
    loss_float32: float
    statistic_float32: float


@dataclass(frozen=True)
class Verification:
    """What `suite verify-model` computes: as many optimiser steps as there are learning rates, on images (channels, height, width).

    ``samples_per_rank`` are for `suite verify-ranks`, whose first rank takes one more.
    """

    seed: int
    classes: int
    image_shape: tuple[int, ...]
    batch_size: int
    samples_per_rank: int
    learning_rates: tuple[float, ...]
    tolerances: Tolerances


@dataclass(frozen=True)
class Workload:
    """One workload; ``forward_macs`` are multiply-adds of the forward pass of one sample, training costs about three times that.

    ``target_accuracy`` is None where no target has been established: a run then trains all its epochs.
    ``threads`` is the default thread count, None for every usable core.
    """

    name: str
    title: str
    model: str
    parameters: int
    forward_macs: int
    data: str
    initial_weights: str
    epochs: int
    eval_every_epochs: int
    batch_size: int
    optimizer: OptimizerDefinition
    preprocessing: PreprocessingDefinition
    tunable: Tunable
    needs: Needs
    verification: Verification
    target_accuracy: float | None = None
    other_data: tuple[OtherData, ...] = ()
    threads: int | None = None


def folder(root: Path | None = None) -> Path:
    """Where the workloads are defined."""
    return (root or repository_root()) / "rules" / "workloads"


def load_workload(name: str, root: Path | None = None) -> Workload:
    """The workload of this name; raises SuiteError naming the nearest one when there is none."""
    return load_one(folder(root), Workload, "workload", name)


def load_workloads(root: Path | None = None) -> tuple[Workload, ...]:
    """Every workload, by name."""
    return load_all(folder(root), Workload)
