"""Workloads (model, data set, target), each defined in ``rules/workloads/*.toml``."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path

from reference_impls.contract import FROZEN, Start, Trains
from suite.catalog.definitions import Definitions
from suite.files.paths import rules_folder
from suite.files.schema import AboveZero

WIDE, NARROW = "float64", "float32"
PARAMETER_COUNT = "parameter count"
"""Precisions of `suite verify-model`, and the quantity that is compared with the workload's
number."""

OF_STATES = (
    "timed update",
    "timed statistic",
    "timed rate",
    "timed decay",
    "timed path",
    "timed bias path",
    "timed statistic path",
)
"""Quantities that only an implementation with training states shows: those of the checkout."""


@dataclass(frozen=True)
class OptimizerDefinition:
    """SGD with momentum: without it some frameworks keep no velocity, which is part of the training
    state. ``schedule`` is a name in reference_impls.schedules."""

    name: str
    base_learning_rate: float
    momentum: AboveZero
    weight_decay: float
    schedule: str


@dataclass(frozen=True)
class PreprocessingDefinition:
    """Normalisation per channel of pixels scaled to [0, 1], after the augmentation of training
    images (none, crop_flip, resized_crop). ``side`` is that of the squares that the model reads, in
    pixels; None: the layout's own (photographs: 224)."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    augmentation: str = "none"
    side: int | None = None


@dataclass(frozen=True)
class OtherData:
    """A further data set for the workload in the open division.

    ``target_accuracy`` is None where none has been established; ``model`` and ``augmentation`` are
    None for the workload's.
    """

    data: str
    epochs: int
    target_accuracy: float | None = None
    model: str | None = None
    augmentation: str | None = None


@dataclass(frozen=True)
class Tunable:
    """Ranges within which a closed submission may tune: (minimum, maximum), inclusive."""

    batch_size: tuple[int, ...]
    base_learning_rate: tuple[float, ...]


@dataclass(frozen=True)
class Needs:
    """Memory and disk space for the workload at its default batch size."""

    memory_size_bytes: int
    disk_size_bytes: int


@dataclass(frozen=True)
class TolerancesOnGpu:
    """Tolerances in float64 where a framework's kernels for a GPU compute some of it in float32."""

    logits: float
    loss: float
    gradient: float


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of `suite verify-model`, relative to a quantity's maximum; float64 unless the name
    says float32.

    ``losses`` are of the optimiser steps, ``statistic`` and ``parameter`` after them,
    ``statistic_float32`` after the first step.
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
    on_gpu: TolerancesOnGpu | None = None

    def by_precision(self, accelerator: str = "cpu") -> dict[str, dict[str, float]]:
        """The tolerance of every quantity that is compared, by precision."""
        wide = {
            name: getattr(self, name)
            for name in ("logits", "loss", "gradient", "losses", "statistic", "parameter")
        }
        if accelerator != "cpu" and self.on_gpu is not None:
            wide.update(asdict(self.on_gpu))
        narrow = {
            name: getattr(self, f"{name}_float32") for name in ("logits", "loss", "statistic")
        }
        return {WIDE: wide, NARROW: narrow}


@dataclass(frozen=True)
class TimedTolerances:
    """Tolerances of the steps of the program that is timed, in its own precision, against a referee
    in float64; relative to a quantity's maximum.

    ``update`` is what the first step did to the parameters, ``statistic`` what batch normalisation
    has seen after it, ``correct`` the numbers of correctly classified samples up to every
    evaluation: rounding decides a sample now and then, a mistake more and more. In deep networks
    with batch normalisation rounding changes the updates of single layers much; there ``rate``,
    ``decay`` and ``path``, which are of the whole network (suite.verify.state_changes), are
    compared, too; else None. ``bias_path`` is what all steps did to the biases alone: they begin at
    0, and their weight decay shows in nothing else. ``statistic_path`` is what all steps did to the
    statistics of the whole network; None where there are none.
    """

    first_loss: float
    losses: float
    update: float
    statistic: float
    correct: float
    rate: float | None = None
    decay: float | None = None
    path: float | None = None
    bias_path: float | None = None
    statistic_path: float | None = None

    def by_quantity(self) -> dict[str, float]:
        """The tolerance of every quantity that is compared, by the name that it has in a
        verdict."""
        return {
            f"timed {name.replace('_', ' ')}": value
            for name, value in asdict(self).items()
            if value is not None
        }


@dataclass(frozen=True)
class TimedSteps:
    """Inputs of the steps of the program that is timed: mini-batches of ``batch_size`` samples
    unless another size is asked for.

    An epoch has two steps and an evaluation of ``evaluated`` samples. ``contrast`` multiplies the
    normalised pictures: gradients are larger for it, and a threshold by which a step clips them
    shows. ``first_base_learning_rate`` is of the training that ends after its first step, where it
    needs another rate than the training of all steps: at a rate that is low enough for rounding not
    to grow from step to step, the first step may change weights by less than float32 can tell.
    """

    batch_size: int
    base_learning_rate: float
    weight_decay: float
    tolerances: TimedTolerances
    first_base_learning_rate: float | None = None
    epochs: int = 5
    evaluated: int = 50
    contrast: float = 1.0


@dataclass(frozen=True)
class GoldenValues:
    """What the workload's model computes in float64, in every framework, on the inputs of `suite
    verify-model`.

    ``logits`` are the first ten of the first sample, ``losses`` those of the optimiser steps. They
    are written down so that no implementation, and so not the reference either, is its own proof.
    `python -m tools.golden_values WORKLOAD` prints them for every framework.
    """

    logits: tuple[float, ...]
    losses: tuple[float, ...]


GOLDEN = tuple(each.name for each in fields(GoldenValues))
"""Quantities of which workloads pin numbers."""


@dataclass(frozen=True)
class Verification:
    """Inputs of `suite verify-model`: one optimiser step per learning rate, on images of shape
    (channels, height, width).

    ``samples_per_rank`` is for `suite verify-ranks`, whose first rank has one more. ``timed`` is
    for the program that trains in a run; None where its tolerances were not measured: then its
    steps are not compared. Without ``golden`` the model is compared with the reference's alone.
    """

    seed: int
    classes: int
    image_shape: tuple[int, ...]
    batch_size: int
    samples_per_rank: int
    learning_rates: tuple[float, ...]
    tolerances: Tolerances
    timed: TimedSteps | None = None
    golden: GoldenValues | None = None


@dataclass(frozen=True)
class StartDefinition:
    """A checkpoint to begin with, a training state in ``rules/checkpoints``. ``fresh`` are patterns
    of the parameters that the seed draws; ``sha256`` is of everything else, once a model has it
    (reference_impls.adaptation)."""

    checkpoint: str
    sha256: str
    fresh: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file of the checkpoint."""
        return rules_folder() / "checkpoints" / f"{self.checkpoint}.npz"


@dataclass(frozen=True)
class TrainsDefinition:
    """The part of the model that is trained: patterns of its parameters, how many numbers they
    have, and whether batch normalisation's statistics are ``frozen`` or ``updated``."""

    parameters: tuple[str, ...]
    count: int
    statistics: str = FROZEN


@dataclass(frozen=True)
class OldTask:
    """The data set that a checkpoint was trained on, and the side of its pictures as in
    PreprocessingDefinition."""

    data: str
    side: int | None = None


@dataclass(frozen=True)
class OtherPart:
    """A further part of the model to train, in the open division; its name is that of `suite run
    --trains`."""

    name: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """One workload. ``forward_macs`` are the multiply-adds of a forward pass per sample; a training
    step has about three times that.

    ``target_accuracy`` is None where no target has been established: a run then trains all epochs,
    and its results are a *characterisation*. ``target_is_provisional``: too few reference runs
    support it (suite.metrics.targets), and entries are not ranked. ``unranked``: why they are not,
    whatever the target. ``threads`` is the default number of threads; None: one per usable core.
    ``normalisation_statistics``: the model keeps running means and variances, which are a part of
    its training state; its convergence depends on the mini-batch of a rank and not on the global
    one alone. ``start`` and ``trains`` define an adaptation: None begins with the seed's weights,
    and trains the whole model. ``old_task`` is what the checkpoint was trained for; it is evaluated
    before and after where its data are prepared.
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
    target_is_provisional: bool = False
    unranked: str | None = None
    other_data: tuple[OtherData, ...] = ()
    threads: int | None = None
    normalisation_statistics: bool = True
    start: StartDefinition | None = None
    trains: TrainsDefinition | None = None
    other_trains: tuple[OtherPart, ...] = ()
    old_task: OldTask | None = None

    @property
    def requested_start(self) -> Start | None:
        """``start`` as a request has it."""
        if self.start is None:
            return None
        return Start(self.start.checkpoint, str(self.start.path), list(self.start.fresh))

    @property
    def requested_part(self) -> Trains | None:
        """``trains`` as a request has it."""
        if self.trains is None:
            return None
        return Trains(list(self.trains.parameters), self.trains.statistics)

    @property
    def is_characterisation(self) -> bool:
        """Whether results show what a system does in an epoch and nothing else: no rank, and no
        batch size but the workload's in the closed division.

        Without a target nothing shows that a larger mini-batch, which makes an epoch shorter, needs
        no more epochs.
        """
        return self.target_accuracy is None

    @property
    def why_not_ranked(self) -> str | None:
        """Why no entry has a rank, whatever its runs; None where it may have one, and for a
        characterisation."""
        if self.target_is_provisional:
            return "its target is provisional, so entries are not ranked"
        return self.unranked

    @property
    def closed_batch_sizes(self) -> tuple[int, int]:
        """The smallest and the largest batch size of a closed run."""
        lowest, highest = self.tunable.batch_size
        return (self.batch_size, self.batch_size) if self.is_characterisation else (lowest, highest)


def golden_name(quantity: str) -> str:
    """The name that a verdict gives to the comparison of a quantity with the numbers that the
    workload pins."""
    return f"golden {quantity}"


DEFINITIONS = Definitions("workloads", Workload, "workload")
folder, load_workload, load_workloads = DEFINITIONS.folder, DEFINITIONS.load, DEFINITIONS.load_all
