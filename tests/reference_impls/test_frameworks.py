"""What every framework's implementation must do, through the process boundary that a vendor's would
have, too."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_impls.contract import (
    BF16_MIXED,
    FLOAT32,
    FP16_MIXED,
    REQUEST_NAME,
    SYNCHRONISED,
    DataSet,
    Loading,
    Parallel,
    Preprocessing,
    Request,
    log_name,
    request_to_dict,
)
from reference_impls.data.pipelines import open_pipeline
from reference_impls.structure import STRUCTURES
from suite.bundle.log import read_log
from suite.catalog.data_sets import load_data_set
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import Workload, load_workload, load_workloads
from suite.datasets.prepare import make_data_set
from suite.datasets.synthetic import WRITERS
from tests.builders import Scenario, make_request
from tests.conftest import Trained, environment_of, printed_in, train, write_request
from tests.reference_impls.fetched_batches import EPOCHS

Array = np.ndarray[Any, Any]
SAMPLES = 64
BITS = {BF16_MIXED: (7, 7, False), FP16_MIXED: (10, 10, True)}
"""Bits of products and of convolutions, and whether 2^20 overflows."""


@pytest.fixture
def few(tmp_path: Path) -> DataSet:
    """64 digits, for training and for evaluation."""
    source, folder = make_data_set("digits", tmp_path / "home").directory, tmp_path / "few"
    folder.mkdir()
    for split in ("train", "t10k"):
        for kind, header, size in (("images-idx3", 16, 784), ("labels-idx1", 8, 1)):
            content = (source / f"train-{kind}-ubyte").read_bytes()
            count = SAMPLES.to_bytes(4, "big")
            (folder / f"{split}-{kind}-ubyte").write_bytes(
                content[:4] + count + content[8:header] + content[header : header + SAMPLES * size]
            )
    return DataSet("mnist", str(folder), "idx", 10, SAMPLES, SAMPLES, True, False)


TRAIN_EACH = """
import importlib, sys
from reference_impls.main import main
build, requests = importlib.import_module(sys.argv[1] + ".implementation").build, sys.argv[2:]
for request in requests:
    sys.argv[1:] = ["--request", request]
    main(build)
"""


def test_every_workload_starts_and_a_short_run_is_complete(
    framework: str, few: DataSet, tmp_path: Path
) -> None:
    """One process trains them in turn, since a framework's start is most of the time."""
    workloads, short = load_workloads(), tmp_path / "short"
    requests = [_one_step(framework, workload, tmp_path / workload.name) for workload in workloads]
    short.mkdir()
    whole = {"global_batch_size": 24, "epochs": 2, "target_accuracy": None}
    requests.append(write_request(framework, short, few, **whole))
    printed_in(framework, "-c", TRAIN_EACH, load_framework(framework).module, *requests)
    _knows_no_class_yet(workloads, tmp_path)
    _is_complete(Trained.read(short))


def _knows_no_class_yet(workloads: Sequence[Workload], folder: Path) -> None:
    """From generated data in its own layout: a model has as many parameters as its workload says,
    and at first no idea which class it is."""
    for workload in workloads:
        trained = Trained.read(folder / workload.name)
        assert trained.log.value("parameters") == workload.parameters, workload.name
        built, classes = (
            trained.log.value("model_layers"),
            load_data_set(workload.data).classes or 0,
        )
        assert (
            built["sha256"] == STRUCTURES.get(workload.model, built["sha256"])
            and built["dropout"] == 0
        ), workload.name
        assert trained.losses[0] == pytest.approx(math.log(classes), rel=0.1), workload.name


def _one_step(framework: str, workload: Workload, folder: Path) -> Path:
    """The request of one step of eight samples, in a new folder."""
    data_folder, definition, settings = (
        folder / "data",
        load_data_set(workload.data),
        workload.preprocessing,
    )
    data_folder.mkdir(parents=True)
    WRITERS[definition.layout](data_folder, definition, 8, 5, 1)
    data = DataSet(
        workload.data,
        str(data_folder),
        definition.layout,
        definition.classes or 0,
        8,
        5,
        False,
        True,
    )
    preprocessing = Preprocessing(list(settings.mean), list(settings.std), settings.augmentation)
    changes = {
        "model": workload.model,
        "initial_weights": workload.initial_weights,
        "preprocessing": preprocessing,
    }
    return write_request(framework, folder, data, steps=1, global_batch_size=8, **changes)


def fetched(framework: str, request: Request, folder: Path) -> list[Array]:
    """Images and labels, in turn, that the framework's own pipeline gives for the request
    (fetched_batches)."""
    folder.mkdir()
    (folder / REQUEST_NAME).write_text(json.dumps(request_to_dict(request)))
    module = load_framework(framework).module
    printed_in(framework, "-m", "tests.reference_impls.fetched_batches", module, folder)
    with np.load(folder / "fetched.npz") as archive:
        return list(archive.values())


@pytest.mark.proof
def test_workers_change_no_bit_of_a_mini_batch(framework: str, tmp_path: Path) -> None:
    """They pass on, from one process or library to another, the float32 pixels and 64-bit labels
    that the pipeline makes without them."""
    WRITERS["cifar10"](tmp_path, load_data_set("cifar10"), 44, 10, 1)
    data, settings = (
        DataSet("cifar10", str(tmp_path), "cifar10", 10, 44, 10, False, True),
        load_workload("vgg11").preprocessing,
    )
    preprocessing = Preprocessing(list(settings.mean), list(settings.std), "crop_flip")
    request = make_request(tmp_path, Scenario(framework=framework))._replace(
        data=data, preprocessing=preprocessing, global_batch_size=8, threads=1
    )
    found = fetched(framework, request._replace(loading=Loading(2, 2)), tmp_path / "run")
    pipeline = open_pipeline(
        request._replace(loading=Loading(0, 2)), channels_last=found[0].shape[-1] == 3
    )
    batches = [batch for epoch in EPOCHS for batch in pipeline.training(epoch)] + list(
        pipeline.evaluation()
    )
    assert len(found) == 2 * len(batches) == 26
    for number, batch in enumerate(batches):
        images, labels = found[2 * number : 2 * number + 2]
        assert images.dtype == np.float32 and np.array_equal(images, batch.images), (
            f"pixels of mini-batch {number}"
        )
        assert labels.dtype == np.int64 and np.array_equal(labels, batch.labels), (
            f"labels of mini-batch {number}"
        )


@pytest.mark.proof
def test_a_run_with_workers_has_the_losses_of_one_without(
    framework: str, few: DataSet, tmp_path: Path
) -> None:
    """To the rounding of two runs of one seed: their mini-batches are compared bit by bit above."""
    runs = [
        train(
            framework,
            tmp_path / str(count),
            few,
            loading=Loading(count, 2),
            epochs=2,
            target_accuracy=None,
        )
        for count in (0, 2)
    ]
    assert runs[0].losses == pytest.approx(runs[1].losses, rel=1e-6)
    assert len(runs[0].losses) == 2 * SAMPLES / 16


@pytest.mark.proof
def test_64_samples_can_be_overfitted(framework: str, few: DataSet, tmp_path: Path) -> None:
    trained = train(
        framework, tmp_path / "run", few, epochs=60, eval_every_epochs=5, target_accuracy=1.0
    )
    assert max(event.value for event in trained.log.all("eval_accuracy")) == 1.0


@pytest.mark.proof
def test_same_seed_same_losses_other_seed_other_losses(
    framework: str, few: DataSet, tmp_path: Path
) -> None:
    runs = [
        train(framework, tmp_path / str(index), few, seed=seed, steps=12, epochs=3)
        for index, seed in enumerate((5, 5, 6))
    ]
    assert runs[0].losses == pytest.approx(runs[1].losses, rel=1e-6)
    assert runs[0].losses[0] != pytest.approx(runs[2].losses[0], rel=1e-4)


def _is_complete(trained: Trained) -> None:
    """Its log has no problem, the last mini-batch of an epoch may be smaller, and a CPU computes in
    float32, by switches that are logged."""
    assert list(trained.steps["samples"]) == 2 * [24, 24, 16]
    assert trained.log.problems == ()
    assert trained.log.finished_epochs() == (1, 2)
    assert isinstance(trained.log.value("framework_version"), str)
    assert trained.log.value("precision") == FLOAT32 and observed_in(trained) == (23, 23, False)
    assert trained.log.value("arithmetic")["settings"]


@pytest.mark.proof
@pytest.mark.pytorch
def test_the_open_variant_trains_nearly_as_the_reference(few: DataSet, tmp_path: Path) -> None:
    """Bfloat16 keeps eight bits of a number: the first losses are the reference's to a few
    hundredths, and not to float32's rounding."""
    environment_of("pytorch")
    reference = train("pytorch", tmp_path / "pytorch", few, steps=4)
    tuned = train("pytorch_bf16", tmp_path / "pytorch_bf16", few, steps=4, precision=BF16_MIXED)
    assert tuned.losses == pytest.approx(reference.losses, rel=0.05)
    assert tuned.losses != pytest.approx(reference.losses, rel=1e-5)
    assert (tuned.log.value("precision"), reference.log.value("precision")) == (BF16_MIXED, FLOAT32)


def observed_in(trained: Trained) -> tuple[int, int, bool]:
    """The bits of products and convolutions, and whether large numbers overflow, as the
    implementation logged them."""
    value = trained.log.value("arithmetic")
    return value["product_bits"], value["convolution_bits"], value["overflows"]


@pytest.mark.proof
def test_a_mixed_precision_trains_nearly_as_float32_and_is_observed(
    framework: str, few: DataSet, tmp_path: Path
) -> None:
    """In every 16-bit type that a framework declares: the first losses are float32's to a few
    hundredths, and not to its rounding."""
    plain = train(framework, tmp_path / "plain", few, steps=4)
    for precision in (
        one.value for one in load_framework(framework).precisions if one.value in BITS
    ):
        trained = train(framework, tmp_path / precision, few, steps=4, precision=precision)
        assert observed_in(trained) == BITS[precision]
        assert trained.losses == pytest.approx(plain.losses, rel=0.05)
        assert trained.losses != pytest.approx(plain.losses, rel=1e-5)


@pytest.mark.pytorch
def test_every_switch_of_tf32_is_set_by_itself() -> None:
    """PyTorch 2.11 has cuDNN's convolutions in TF32 by a switch of their own, which the one of all
    backends leaves as it is."""
    script = """
import json, torch
from reference_impls.pytorch.arithmetic import set_arithmetic
found = []
for before, precision in (("tf32", "float32"), ("ieee", "tf32")):
    torch.backends.cudnn.conv.fp32_precision = torch.backends.cuda.matmul.fp32_precision = before
    settings = set_arithmetic(precision)
    found.append([settings["fp32_precision.matmul"], settings["fp32_precision.conv"]])
print(json.dumps(found))
"""
    assert printed_in("pytorch", "-c", script) == '[["ieee", "ieee"], ["tf32", "tf32"]]\n'


@pytest.mark.proof
@pytest.mark.pytorch
def test_gradients_on_a_gpu_are_exchanged_through_the_host() -> None:
    told = printed_in("pytorch", "-m", "tests.reference_impls.other_device")
    assert told == "[0.25, 0.5, 0.75]\n"


@pytest.mark.proof
def test_ranks_that_synchronise_their_normalisation_keep_equal_statistics(
    framework: str, tmp_path: Path
) -> None:
    """Their statistics are never averaged: the digests after every epoch are equal because those of
    every step were. Shares are unequal."""
    definition = load_data_set("cifar10")
    WRITERS["cifar10"](tmp_path, definition, 10, 5, 1)
    data = DataSet("cifar10", str(tmp_path), "cifar10", 10, 10, 5, False, True)
    workload = load_workload("resnet18")
    preprocessing = Preprocessing(
        list(workload.preprocessing.mean), list(workload.preprocessing.std), "none"
    )
    changes = {
        "model": "resnet18",
        "initial_weights": "kaiming_normal",
        "preprocessing": preprocessing,
        "epochs": 2,
        "target_accuracy": None,
    }
    parallel = Parallel(2, 1, "mpi", 2**20, True, SYNCHRONISED)
    trained = train(
        framework, tmp_path / "run", data, global_batch_size=5, parallel=parallel, **changes
    )
    logs = [trained.log, read_log(tmp_path / "run" / log_name(1))]
    assert [log.value("model_bn_span") for log in logs] == [5, 5]
    digests = [[event.value for event in log.all("state_digests")] for log in logs]
    assert len(digests[0]) == 2 and digests[0] == digests[1]
    assert digests[0][0]["statistic"] != digests[0][1]["statistic"]
