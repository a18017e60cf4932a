"""The workload pinned outside the code that all frameworks share: orders, mini-batches, rates and
initial weights, written down as numbers.

Three frameworks that train on the same wrong mini-batches agree with one another. So every value
here is a literal, or is computed by lines of NumPy in this file that call nothing of the project.
Digests are the first sixteen digits of SHA-256, of little-endian bytes in C order. A value that
changes is another workload: it needs a new round of the rulebook, not a new number here.
"""

import csv
import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from reference_impls import initial_weights, loop
from reference_impls.communication import World
from reference_impls.contract import (
    Batch,
    DataSet,
    Implementation,
    Pipeline,
    Preprocessing,
    Request,
    StepResult,
)
from reference_impls.data.order import epoch_order
from reference_impls.data.photographs import ImageFolderReader, random_crop
from reference_impls.data.pipelines import open_pipeline
from reference_impls.schedules import SCHEDULES
from reference_impls.shares import Share
from suite.bundle.log import read_log
from suite.catalog.workloads import load_workload, load_workloads
from suite.datasets.prepare import from_directory
from tests.builders import Scenario, make_request

Array = np.ndarray[Any, Any]
PARAMETERS = json.loads(Path(__file__).with_name("parameters.json").read_text(encoding="utf-8"))
"""Names and shapes of every model's parameters, as torchvision's models list them."""

TRAIN, EVAL, BATCH = 20, 10, 8
SEED = 7
EPOCHS = range(1, 101)
"""More than the longest training of a workload has, which is of 90 epochs."""


def digest(*arrays: Array) -> str:
    """Of the arrays' little-endian bytes, one after the other."""
    whole = hashlib.sha256()
    for each in arrays:
        whole.update(np.ascontiguousarray(each, each.dtype.newbyteorder("<")).tobytes())
    return whole.hexdigest()[:16]


# Orders: RandomState([seed, epoch]).permutation(samples), MT19937 initialised by an array (NEP 19:
# its stream never changes).

ORDERS = {
    1: [9, 8, 5, 6, 2, 3, 7, 0, 1, 4],
    2: [9, 1, 8, 3, 4, 5, 2, 7, 6, 0],
    3: [7, 4, 1, 6, 8, 3, 5, 2, 9, 0],
    5: [2, 9, 5, 7, 3, 1, 8, 0, 6, 4],
    29: [2, 1, 8, 0, 6, 7, 3, 4, 5, 9],
}
"""Of ten samples, seed 7, in the first epochs and in two late ones."""

ORDER_OF_MNIST = {
    1: "7da87b7a86b72076",
    2: "ea220ad701c4f457",
    3: "f64c1e6787d43b35",
    5: "9f8e682aabc121da",
    29: "6c52e6916ec6c8a6",
}
"""Digests of the orders of MNIST's 60,000 training samples as int64, seed 7."""


@pytest.mark.parametrize("epoch", ORDERS)
def test_the_order_of_samples(epoch: int) -> None:
    assert epoch_order(SEED, epoch, 10).tolist() == ORDERS[epoch]
    assert digest(epoch_order(SEED, epoch, 60_000).astype(np.int64)) == ORDER_OF_MNIST[epoch]


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_every_epoch_and_every_seed_has_an_order_of_its_own(seed: int) -> None:
    orders = {epoch: epoch_order(seed, epoch, 10).tolist() for epoch in EPOCHS}
    assert orders == {
        epoch: np.random.RandomState([seed, epoch]).permutation(10).tolist() for epoch in EPOCHS
    }


# Schedules: base rate 1 over a horizon of 20 steps.

RATES = {
    "constant": {0: 1.0, 7: 1.0, 19: 1.0},
    # 1 - step / 20: step 20, where it would be 0, is never run
    "linear": {0: 1.0, 1: 0.95, 10: 0.5, 19: 0.05},
    # up by (1 - 1/25) / 6 a step to step 6 = 0.3 * 20, then (1 + cos(pi k / 14)) / 2 for k = 0 ...
    # 13
    "one_cycle": {
        0: 0.04,
        1: 0.2,
        3: 0.52,
        5: 0.84,
        6: 1.0,
        7: 0.5 + 0.5 * math.cos(math.pi / 14),
        13: 0.5,
        19: 0.5 - 0.5 * math.cos(math.pi / 14),
    },
}


@pytest.mark.parametrize("schedule", RATES)
def test_the_rates_of_a_schedule(schedule: str) -> None:
    assert {step: SCHEDULES[schedule](1.0, step, 20) for step in RATES[schedule]} == pytest.approx(
        RATES[schedule], abs=1e-12
    )
    assert SCHEDULES[schedule](0.3, 5, 20) == pytest.approx(0.3 * SCHEDULES[schedule](1.0, 5, 20))


def test_every_schedule_is_pinned() -> None:
    assert set(RATES) == set(SCHEDULES)
    assert {workload.optimizer.schedule for workload in load_workloads()} <= set(RATES)


class Recorder(Implementation, Pipeline):
    """Three mini-batches an epoch, of 4, 4 and 2 samples; an evaluation of two, of 3 and 2. Keeps
    what the loop asks for."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.rates: list[float] = []
        self.evaluated: list[int] = []

    def training(self, epoch: int) -> Iterator[Batch]:
        self.epochs.append(epoch)
        yield from (Batch([0] * size, [0] * size) for size in (4, 4, 2))

    def evaluation(self) -> Iterator[Batch]:
        yield from (Batch([0] * size, [0] * size) for size in (3, 2))

    def to_device(self, batch: Batch) -> Batch:
        return batch

    def step(self, device_batch: Any, learning_rate: float, share: float) -> StepResult:
        assert share == 1.0
        self.rates.append(learning_rate)
        return StepResult(1.0, 0.0)

    def count_correct(self, device_batch: Any) -> int:
        self.evaluated.append(len(device_batch.labels))
        return 2


def test_the_loop_gives_every_step_its_rate_and_evaluates_every_sample(tmp_path: Path) -> None:
    """Thirty epochs of three steps under the linear schedule from 9: its horizon is ninety steps,
    so each step has 0.1 less than the one before."""
    recorder, request = Recorder(), make_request(tmp_path, Scenario())
    data = request.data._replace(train_samples=10, eval_samples=5)
    optimizer = request.optimizer._replace(base_learning_rate=9.0, schedule="linear")
    request = request._replace(
        data=data, optimizer=optimizer, global_batch_size=4, epochs=30, target_accuracy=None
    )
    loop.run(
        request, World(), lambda request, world: loop.Built(recorder, recorder, {"parameters": 1})
    )
    assert recorder.rates == pytest.approx([tenths / 10 for tenths in range(90, 0, -1)])
    assert recorder.epochs == list(range(1, 31)), "the epochs whose mini-batches the loop asks for"
    assert recorder.evaluated == [3, 2] * 30
    evaluations = read_log(tmp_path / "log.txt").all("eval_accuracy")
    assert [(event.value, event.metadata["correct"]) for event in evaluations] == [(0.8, 4)] * 30


# Mini-batches of data sets that are made here: every pixel follows from its place, so that no two
# planes, rows, columns or samples are alike.


def request_for(
    folder: Path, layout: str, statistics: tuple[list[float], list[float]], augmentation: str
) -> Request:
    """Mini-batches of eight from twenty samples."""
    data = DataSet(layout, str(folder), layout, 10, TRAIN, EVAL, False, False)
    preprocessing = Preprocessing(*statistics, augmentation)
    return make_request(folder, Scenario())._replace(
        data=data, preprocessing=preprocessing, global_batch_size=BATCH, seed=SEED
    )


def normalised(pixels: Array, mean: list[float], std: list[float]) -> Array:
    """``(pixel / 255 - mean) / std`` of (samples, channels, height, width), as one multiplication
    and one addition in float32."""
    scale, shift = (
        np.array(values).astype(np.float32).reshape(-1, 1, 1)
        for values in (1 / (255 * np.array(std)), -np.array(mean) / np.array(std))
    )
    return np.asarray(pixels.astype(np.float32) * scale + shift)


def order(epoch: int, batch: int = 0) -> Array:
    """The samples of an epoch's mini-batch."""
    return np.random.RandomState([SEED, epoch]).permutation(TRAIN)[
        batch * BATCH : (batch + 1) * BATCH
    ]


def draws(epoch: int, count: int) -> Array:
    """The random numbers of every sample's augmentation: one row per sample, by its place in the
    files."""
    return np.random.RandomState([SEED, epoch, 1]).random_sample((TRAIN, count))


def digit(sample: int) -> Array:
    """(28, 28), row by row: neither symmetric nor like another sample."""
    row, column = np.mgrid[:28, :28]
    return ((37 * sample + 11 * row + 5 * column + row * column) % 256).astype(np.uint8)


def write_digits(folder: Path, evaluated: int = EVAL) -> None:
    """Four IDX files: magic number 2051 or 2049, sizes as big-endian 32-bit numbers, then bytes
    (LeCun's description of MNIST)."""
    for prefix, first, count in (("train", 0, TRAIN), ("t10k", 100, evaluated)):
        samples = range(first, first + count)
        header = b"".join(number.to_bytes(4, "big") for number in (2051, count, 28, 28))
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(
            header + b"".join(digit(sample).tobytes() for sample in samples)
        )
        header = b"".join(number.to_bytes(4, "big") for number in (2049, count))
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(
            header + bytes(sample % 10 for sample in samples)
        )


OF_LENET = ([0.1307], [0.3081])
DIGITS = {
    1: "8ec92c46c9670f57",
    2: "29c11f5ca9d32b3f",
    3: "12ae7aca57087903",
    5: "0a7689463ad3ef8c",
    29: "e4d669c44bf32940",
}
EVALUATED_DIGITS = "92757d446eea0a93"


def test_the_first_mini_batches_of_mnist(tmp_path: Path) -> None:
    write_digits(tmp_path)
    pipeline = open_pipeline(request_for(tmp_path, "idx", OF_LENET, "none"))
    for epoch, expected in DIGITS.items():
        first = next(iter(pipeline.training(epoch)))
        chosen = order(epoch)
        assert np.array_equal(
            first.images,
            normalised(np.stack([digit(sample) for sample in chosen])[:, np.newaxis], *OF_LENET),
        )
        assert first.labels.tolist() == [sample % 10 for sample in chosen]
        assert digest(first.images, first.labels) == expected
    assert [len(batch.labels) for batch in pipeline.training(1)] == [8, 8, 4]
    (evaluated,) = pipeline.evaluation()
    assert digest(evaluated.images, evaluated.labels) == EVALUATED_DIGITS


@pytest.mark.parametrize(
    ("rank", "ranks", "sizes"), [(0, 1, [250, 10]), (0, 3, [87]), (2, 3, [86])]
)
def test_every_rank_evaluates_its_share_of_mnist(
    rank: int, ranks: int, sizes: list[int], tmp_path: Path
) -> None:
    """Of 260 digits, 250 at a time, rank r of n takes r, r + n, ... in the order of the file."""
    write_digits(tmp_path, 260)
    request = request_for(tmp_path, "idx", OF_LENET, "none")
    request = request._replace(data=request.data._replace(eval_samples=260))
    evaluated = list(open_pipeline(request, share=Share(rank, ranks)).evaluation())
    chosen = range(100, 360)[rank::ranks]
    assert [len(batch.labels) for batch in evaluated] == sizes
    assert np.concatenate([batch.labels for batch in evaluated]).tolist() == [
        sample % 10 for sample in chosen
    ]
    expected = normalised(np.stack([digit(sample) for sample in chosen])[:, np.newaxis], *OF_LENET)
    assert np.array_equal(np.concatenate([batch.images for batch in evaluated]), expected)


def picture(sample: int) -> Array:
    """(3, 32, 32): the red, the green and the blue plane."""
    plane, row, column = np.mgrid[:3, :32, :32]
    return ((31 * sample + 80 * plane + 7 * row + 3 * column + row * column) % 256).astype(np.uint8)


def write_pictures(folder: Path) -> None:
    """CIFAR-10's binary version: a label, then 1024 red, 1024 green and 1024 blue bytes, row by
    row; four samples in each of five files."""
    for number in range(5):
        records = [
            bytes([sample % 10]) + picture(sample).tobytes()
            for sample in range(4 * number, 4 * number + 4)
        ]
        (folder / f"data_batch_{number + 1}.bin").write_bytes(b"".join(records))
    (folder / "test_batch.bin").write_bytes(
        b"".join(
            bytes([sample % 10]) + picture(sample).tobytes() for sample in range(100, 100 + EVAL)
        )
    )


def cropped(image: Array, draw: Array) -> Array:
    """A window of the image in a frame of four black pixels, nine places down and nine across;
    mirrored if the third number is below a half."""
    framed = np.pad(image, ((0, 0), (4, 4), (4, 4)))
    top, left = int(draw[0] * 9), int(draw[1] * 9)
    window = framed[:, top : top + 32, left : left + 32]
    return window[:, :, ::-1] if draw[2] < 0.5 else window


def augmented(epoch: int, chosen: Array) -> Array:
    """The chosen samples as an epoch trains on them."""
    drawn = draws(epoch, 3)
    return normalised(
        np.stack([cropped(picture(sample), drawn[sample]) for sample in chosen]), *OF_RESNET
    )


OF_RESNET = ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616])
FIRST_DIGESTS = {
    1: "120b9d1d3862ebd0",
    2: "aedcdddc0a4a58b5",
    3: "da35a32ffff0ae3d",
    5: "358f700c40e54f09",
    29: "2871bafd3e66abea",
}
EVALUATED_DIGEST = "e697b3928746ce92"


def test_the_first_mini_batches_of_cifar10(tmp_path: Path) -> None:
    write_pictures(tmp_path)
    pipeline = open_pipeline(request_for(tmp_path, "cifar10", OF_RESNET, "crop_flip"))
    for epoch, expected in FIRST_DIGESTS.items():
        first = next(iter(pipeline.training(epoch)))
        assert np.array_equal(first.images, augmented(epoch, order(epoch)))
        assert first.labels.tolist() == [sample % 10 for sample in order(epoch)]
        assert digest(first.images, first.labels) == expected
    (evaluated,) = pipeline.evaluation()
    assert digest(evaluated.images, evaluated.labels) == EVALUATED_DIGEST


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_mini_batch_of_every_epoch_of_cifar10(ranks: int, tmp_path: Path) -> None:
    """Three mini-batches an epoch, of 8, 8 and 4 samples, of which rank r of n takes r, r + n, ...;
    each with the draws of its epoch."""
    write_pictures(tmp_path)
    request = request_for(tmp_path, "cifar10", OF_RESNET, "crop_flip")
    for rank in range(ranks):
        pipeline = open_pipeline(request, share=Share(rank, ranks))
        for epoch in EPOCHS:
            where, batches = (
                f"of rank {rank} of {ranks} in epoch {epoch}",
                list(pipeline.training(epoch)),
            )
            shares = [order(epoch, number)[rank::ranks] for number in range(3)]
            assert [batch.labels.tolist() for batch in batches] == [
                [sample % 10 for sample in chosen] for chosen in shares
            ], f"labels {where}"
            for batch, chosen in zip(batches, shares, strict=True):
                assert np.array_equal(batch.images, augmented(epoch, chosen)), (
                    f"pictures or their augmentation {where}"
                )


def test_the_draws_of_the_first_pictures_cover_both_sides() -> None:
    """Of the twenty samples of epoch 1 some are mirrored and some are not, or the digests above
    would prove less."""
    assert 4 < np.count_nonzero(draws(1, 3)[:, 2] < 0.5) < 16


# Photographs: BMP files under JPEG's names, because decoders of JPEG differ in the last bit; Pillow
# goes by the content.

WIDTH, HEIGHT = 300, 200
OF_MOBILENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


def photograph(sample: int) -> Array:
    """(200, 300, 3): red falls to the right, green downwards, and noise, which shows how pixels are
    weighed."""
    row, column = np.mgrid[:HEIGHT, :WIDTH]
    noise = np.random.RandomState(sample).randint(0, 120, (HEIGHT, WIDTH, 3))
    planes = np.stack(
        [135 - column * 135 // WIDTH, row * 135 // HEIGHT, np.full_like(row, 10 * (sample % 10))],
        axis=2,
    )
    return (planes + noise).astype(np.uint8)


def write_photographs(folder: Path) -> None:
    """GLD-23k's two tables and the folder of images."""
    (folder / "images").mkdir()
    tables = (
        ("mini_gld_train_split.csv", range(TRAIN)),
        ("mini_gld_test.csv", range(100, 100 + EVAL)),
    )
    for name, samples in tables:
        with (folder / name).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["user_id", "image_id", "class"])
            writer.writerows([0, f"photograph{sample}", sample % 10] for sample in samples)
        for sample in samples:
            Image.fromarray(photograph(sample)).save(
                folder / "images" / f"photograph{sample}.jpg", format="BMP"
            )


def weights_of_pixels(size: int, low: float, high: float, side: int) -> Array:
    """(side, size): how much each pixel of a side counts in each output pixel, for the part from
    ``low`` to ``high``.

    Pillow's bilinear filter with antialiasing: a triangle around the output pixel's centre, as wide
    as two output pixels where the image shrinks and as two input pixels where it grows; its values
    at the centres of the input pixels, divided by their sum.
    """
    step = (high - low) / side
    centres = low + (np.arange(side) + 0.5) * step
    distances = np.abs(np.arange(size) + 0.5 - centres[:, np.newaxis]) / max(step, 1.0)
    triangle = np.maximum(0.0, 1.0 - distances)
    return np.asarray(triangle / triangle.sum(axis=1, keepdims=True))


def resized(image: Array, crop: tuple[float, float, float, float], side: int = 224) -> Array:
    """The crop (left, top, right, bottom), in floating point: (side, side, planes)."""
    left, top, right, bottom = crop
    down, across = (
        weights_of_pixels(image.shape[0], top, bottom, side),
        weights_of_pixels(image.shape[1], left, right, side),
    )
    return np.stack(
        [
            down @ image[:, :, plane].astype(np.float64) @ across.T
            for plane in range(image.shape[2])
        ],
        axis=2,
    )


def crop_of(
    draw: Array, width: int = WIDTH, height: int = HEIGHT
) -> tuple[float, float, float, float]:
    """torchvision's RandomResizedCrop: 8 % to 100 % of the area, an aspect ratio between 3:4 and
    4:3, uniform in its logarithm."""
    area = width * height * (0.08 + 0.92 * draw[0])
    ratio = (3 / 4) * (16 / 9) ** draw[1]
    wide, high = min(width, (area * ratio) ** 0.5), min(height, (area / ratio) ** 0.5)
    return (
        draw[2] * (width - wide),
        draw[3] * (height - high),
        draw[2] * (width - wide) + wide,
        draw[3] * (height - high) + high,
    )


def assert_like(images: Array, expected: Array) -> None:
    """Pillow rounds to whole levels after each of its two passes: so an output pixel is off by one
    level at most."""
    level = 1 / (255 * np.array(OF_MOBILENET[1]).reshape(-1, 1, 1))
    assert (
        np.abs(images - normalised(expected.transpose(0, 3, 1, 2), *OF_MOBILENET)) <= 1.1 * level
    ).all()


def of_side(side: int | None, folder: Path) -> Pipeline:
    """Photographs in squares of this side."""
    request = request_for(folder, "gld23k", OF_MOBILENET, "resized_crop")
    return open_pipeline(request._replace(data=request.data._replace(side=side)))


SIDES = ((None, 224), (160, 160))
"""What a request says, and the pixels of a side that it gets."""


@pytest.mark.parametrize("side", SIDES, ids=str)
@pytest.mark.parametrize("epoch", [1, 5, 29])
def test_the_first_mini_batch_of_photographs(
    epoch: int, side: tuple[int | None, int], tmp_path: Path
) -> None:
    write_photographs(tmp_path)
    first = next(iter(of_side(side[0], tmp_path).training(epoch)))
    assert first.labels.tolist() == [sample % 10 for sample in order(epoch)]
    assert_like(first.images, photographs(epoch, side[1]))


def photographs(epoch: int, side: int) -> Array:
    """The pictures of an epoch's first mini-batch."""
    expected = []
    for sample in order(epoch):
        draw = draws(epoch, 5)[sample]
        upright = resized(photograph(sample), crop_of(draw), side)
        expected.append(upright[:, ::-1] if draw[4] < 0.5 else upright)
    return np.stack(expected)


def test_a_later_epoch_crops_the_same_photographs_again(tmp_path: Path) -> None:
    assert set(order(1)) & set(order(2))
    write_photographs(tmp_path)
    pipeline = of_side(32, tmp_path)
    for epoch in (1, 2):
        assert_like(next(iter(pipeline.training(epoch))).images, photographs(epoch, 32))


@pytest.mark.parametrize("side", SIDES, ids=str)
def test_the_middle_of_the_photographs_is_evaluated(
    side: tuple[int | None, int], tmp_path: Path
) -> None:
    """A short side of 256, of which the middle 224 are left: 175 of 200 pixels, at another side,
    too."""
    write_photographs(tmp_path)
    (evaluated,) = of_side(side[0], tmp_path).evaluation()
    assert_like(
        evaluated.images,
        np.stack(
            [
                resized(photograph(sample), (62.5, 12.5, 237.5, 187.5), side[1])
                for sample in range(100, 100 + EVAL)
            ]
        ),
    )


CROPS = {
    # area, aspect, left, top, mirror: what is left of 400x300, and whether it is mirrored
    # 8 % of 120,000 pixels, square: sqrt(9600)
    (0.0, 0.5, 0.0, 0.0, 0.0): ((0.0, 0.0, 97.98, 97.98), True),
    # 54 %: sqrt(64,800) = 254.56, in the middle
    (0.5, 0.5, 0.5, 0.5, 0.4999): ((72.72, 22.72, 327.28, 277.28), True),
    # 3:4: sqrt(9600 * 3 / 4) by sqrt(9600 * 4 / 3), lower right
    (0.0, 0.0, 1.0, 1.0, 0.5): ((315.15, 186.86, 400.0, 300.0), False),
    (0.0, 1.0, 0.0, 1.0, 0.9): ((0.0, 215.15, 113.14, 300.0), False),  # 4:3
    # the whole area at 3:4 would be 300 x 400: clipped to 300 rows
    (1.0, 0.0, 0.3, 0.3, 0.9): ((30.0, 0.0, 330.0, 300.0), False),
}


@pytest.mark.parametrize("draw", CROPS, ids=str)
def test_the_crop_of_a_photograph(draw: tuple[float, ...]) -> None:
    crop, mirrored = CROPS[draw]
    assert random_crop(400, 300, np.array(draw)) == (pytest.approx(crop, abs=0.01), mirrored)


def test_a_jpeg_that_is_decoded_at_half_its_size_has_the_same_crop(tmp_path: Path) -> None:
    """1200x900, of which 787.5 pixels become 224: Pillow decodes at half the size. Red is the
    column, green the row, in levels of a 256th."""
    (tmp_path / "train" / "a").mkdir(parents=True)
    (tmp_path / "val" / "a").mkdir(parents=True)
    row, column = np.mgrid[:900, :1200]
    image = np.stack(
        [column * 256 // 1200, row * 256 // 900, np.full_like(row, 128)], axis=2
    ).astype(np.uint8)
    for split in ("train", "val"):
        Image.fromarray(image).save(tmp_path / split / "a" / "1.jpg", quality=95)
    request = request_for(tmp_path, "imagefolder", ([0.0] * 3, [1.0] * 3), "resized_crop")
    (evaluated,) = open_pipeline(
        request._replace(data=request.data._replace(train_samples=1, eval_samples=1))
    ).evaluation()
    levels = evaluated.images[0] * 255
    columns = (206.25 + (np.arange(224) + 0.5) * 787.5 / 224) * 256 / 1200 - 0.5
    rows = (56.25 + (np.arange(224) + 0.5) * 787.5 / 224) * 256 / 900 - 0.5
    assert np.abs(levels[0] - columns).max() < 3
    assert np.abs(levels[1] - rows[:, np.newaxis]).max() < 3
    assert np.abs(levels[2] - 128).max() < 3


DECODED = [
    # the sizes of a JPEG and of its crop, and n: it is decoded at 1/n, the smallest size that
    # leaves the crop's short side 224 pixels
    ((1600, 1200), (437, 437), 1),  # at a half, 218.5
    ((1600, 1200), (582, 437), 1),  # the long side would have 291, the short one decides
    ((1600, 1200), (460, 460), 2),  # 230
    ((1600, 1200), (885, 885), 2),  # at a quarter, 221
    ((1600, 1200), (910, 910), 4),  # 227.5
    ((1600, 1200), (1600, 1200), 4),  # at an eighth, 150
    ((2000, 2000), (1800, 1800), 8),  # 225
]
LEVELS_OFF = 3.0
"""Root mean square. Measured: 0.5 with libjpeg-turbo, 2.0 for a decoder that keeps the low
frequencies of every block, as IJG's libjpeg does from version 7 on, 5.9 to 18 at a smaller scale,
and 3.6 to 4.5 with a bicubic filter."""


def waves(size: tuple[int, int], crop: tuple[int, int]) -> Array:
    """Grey levels (height, width): waves across and down, two and a half pixels of the crop at
    224x224 long, which fewer pixels cannot show."""
    phases = [
        2 * np.pi * np.arange(whole) / (2.5 * part / 224)
        for whole, part in zip(size, crop, strict=True)
    ]
    return np.asarray(128 + 30 * np.sin(phases[0]) + 30 * np.sin(phases[1])[:, np.newaxis]).astype(
        np.uint8
    )


def crop_found(image: Image.Image, name: str, draw: Array, folder: Path) -> Array:
    """Levels (224, 224, 3) of the crop that a draw gives of the only picture in a folder."""
    (folder / "train" / "a").mkdir(parents=True)
    image.save(folder / "train" / "a" / name, quality=90)
    reader = ImageFolderReader(request_for(folder, "imagefolder", OF_MOBILENET, "resized_crop"))
    (found,) = reader.training_images(reader.training(), np.array([0]), draw[np.newaxis])
    return np.asarray(found)


def draw_of(size: tuple[int, int], crop: tuple[int, int]) -> Array:
    """Area and aspect of a crop, the other way round than in crop_of, and a place that is neither a
    corner nor the middle; not mirrored."""
    (width, height), (wide, high) = size, crop
    return np.array(
        [
            (wide * high / (width * height) - 0.08) / 0.92,
            math.log(wide / high / (3 / 4), 16 / 9),
            0.3,
            0.6,
            0.9,
        ]
    )


@pytest.mark.parametrize(("size", "crop", "part"), DECODED, ids=str)
def test_a_large_jpeg_is_decoded_with_the_pixels_that_its_crop_needs(
    size: tuple[int, int], crop: tuple[int, int], part: int, tmp_path: Path
) -> None:
    """A decoder at 1/n of the size gives the mean of every n x n pixels, here of those that it
    decodes in full."""
    (width, height), draw = size, draw_of(size, crop)
    found = crop_found(Image.fromarray(waves(size, crop)).convert("RGB"), "1.jpg", draw, tmp_path)
    with Image.open(tmp_path / "train" / "a" / "1.jpg") as image:
        decoded = (
            np.asarray(image.convert("L"))
            .reshape(height // part, part, width // part, part)
            .mean(axis=(1, 3))
        )
    left, top, right, bottom = (edge / part for edge in crop_of(draw, width, height))
    off = found - resized(decoded[:, :, np.newaxis], (left, top, right, bottom))
    levels_off = float(np.sqrt(np.square(off).mean()))
    assert levels_off < LEVELS_OFF, f"of a JPEG that is decoded at 1/{part}"


def test_a_crop_in_the_corner_of_a_jpeg_of_odd_width(tmp_path: Path) -> None:
    """Decoded at half its size it has 267 of 533 columns and 400 of 800 rows, and the crop ends at
    266.5 and 400."""
    row, column = np.mgrid[:800, :533]
    image = np.stack([column * 255 // 532, row * 255 // 799, np.full_like(row, 128)], axis=2)
    draw = draw_of((533, 800), (460, 460))
    draw[2:4] = 1.0
    found = crop_found(Image.fromarray(image.astype(np.uint8)), "1.jpg", draw, tmp_path)
    edges = crop_of(draw, 533, 800)
    assert edges[2:] == pytest.approx((533, 800))
    assert np.abs(found - resized(image, edges)).max() < 3


def test_a_large_png_is_decoded_in_full(tmp_path: Path) -> None:
    """It has no smaller sizes: four random pixels across and four down become one, each weighed as
    in a small picture."""
    pixels = np.random.RandomState(0).randint(0, 256, (1200, 1600, 3)).astype(np.uint8)
    draw = draw_of((1600, 1200), (910, 910))
    found = crop_found(Image.fromarray(pixels), "1.png", draw, tmp_path)
    assert np.abs(found - resized(pixels, crop_of(draw, 1600, 1200))).max() <= 1.1, (
        "levels, of which Pillow rounds one away"
    )


# Initial weights, seed 7.

DIGESTS_OF_WEIGHTS = {
    "lenet5": "e9b3f94393891426",
    "mobilenetv3_large": "a349b62a3a57bd3b",
    "resnet18": "8d3362ccdb4dd1ca",
    "resnet50": "c7580010406ccfc1",
    "vgg11": "7f4d29692980a414",
}
"""Over the parameters in the order of their names, each its name and a line break, then its float32
values."""

LAYERS = {
    # Glorot: sqrt(6 / (fan_in + fan_out)) = sqrt(6 / (6 * 25 + 16 * 25)) bounds a uniform
    # distribution, whose deviation is a sqrt(3)th of it
    ("lenet5", "conv2.weight"): (math.sqrt(6 / 550) / math.sqrt(3), math.sqrt(6 / 550)),
    ("lenet5", "fc1.weight"): (math.sqrt(6 / 520) / math.sqrt(3), math.sqrt(6 / 520)),
    ("lenet5", "fc1.bias"): (0.0, 0.0),
    # He: a normal distribution with 2 / fan_out, fan_out being output channels times kernel area;
    # no bound
    ("resnet18", "conv1.weight"): (math.sqrt(2 / (64 * 9)), None),
    ("resnet18", "layer2.0.downsample.0.weight"): (math.sqrt(2 / 128), None),
    ("resnet18", "fc.weight"): (0.01, None),
    ("resnet18", "bn1.bias"): (0.0, 0.0),
    # depthwise: 16 maps of 3x3
    ("mobilenetv3_large", "features.1.block.0.0.weight"): (math.sqrt(2 / (16 * 9)), None),
    ("mobilenetv3_large", "classifier.0.weight"): (0.01, None),
    ("vgg11", "features.0.weight"): (math.sqrt(2 / (64 * 9)), None),
}
"""Standard deviation and bound of a layer's initial values; ten thousand values scatter by less
than two hundredths around their deviation."""


def weights_of(model: str) -> dict[str, Array]:
    """The initial weights of a workload's model."""
    (distribution,) = {
        workload.initial_weights for workload in load_workloads() if workload.model == model
    }
    return initial_weights.make(
        distribution, {name: tuple(shape) for name, shape in PARAMETERS[model].items()}, SEED
    )


@pytest.mark.parametrize("model", DIGESTS_OF_WEIGHTS)
def test_the_initial_weights_of_a_model(model: str) -> None:
    made, whole = weights_of(model), hashlib.sha256()
    assert (
        sum(value.size for value in made.values())
        == {one.model: one.parameters for one in load_workloads()}[model]
    )
    for name in sorted(made):
        whole.update(f"{name}\n".encode() + made[name].astype("<f4").tobytes())
    assert whole.hexdigest()[:16] == DIGESTS_OF_WEIGHTS[model]
    for name, (deviation, bound) in {
        name: values for (of, name), values in LAYERS.items() if of == model
    }.items():
        value = made[name].astype(np.float64)
        assert value.std() == pytest.approx(deviation, rel=4 / math.sqrt(value.size))
        assert abs(value.mean()) <= 4 * deviation / math.sqrt(value.size)
        assert bound is None or 0.98 * bound <= np.abs(value).max() <= bound * (1 + 1e-6)


def test_a_scale_of_batch_normalisation_begins_at_one() -> None:
    assert (weights_of("resnet18")["layer1.0.bn1.weight"] == 1.0).all()


def test_uniform_fan_in_is_bounded_by_the_root_of_fan_in() -> None:
    """PyTorch's default, which no workload has: U(-1/20, 1/20) for 400 inputs, for the bias too."""
    made = initial_weights.make(
        "uniform_fan_in", {"fc1.weight": (120, 400), "fc1.bias": (120,)}, SEED
    )
    assert 0.0499 < np.abs(made["fc1.weight"]).max() <= 0.05
    assert made["fc1.weight"].std() == pytest.approx(0.05 / math.sqrt(3), rel=0.02)
    assert 0.045 < np.abs(made["fc1.bias"]).max() <= 0.05


# Real MNIST.

MNIST = {
    1: "df06cdef95a145f6",
    2: "c53ac906b0792b16",
    3: "e364131c10fd1436",
    5: "6305ce00d6614a11",
    29: "7cd89176d713deb9",
}
"""Digests of the first mini-batch of sixteen as LeNet-5 trains on it, seed 7, by epoch."""


@pytest.mark.real
def test_the_first_mini_batches_of_the_published_mnist(mnist: Path, tmp_path: Path) -> None:
    preprocessing, prepared = (
        load_workload("lenet").preprocessing,
        from_directory("mnist", mnist, tmp_path),
    )
    request = request_for(
        prepared.directory, "idx", (list(preprocessing.mean), list(preprocessing.std)), "none"
    )
    request = request._replace(
        data=request.data._replace(train_samples=60_000, eval_samples=10_000), global_batch_size=16
    )
    for epoch, expected in MNIST.items():
        first = next(iter(open_pipeline(request).training(epoch)))
        assert digest(first.images, first.labels) == expected
