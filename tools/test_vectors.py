"""The test vectors of docs/draws.md: what the suite's own code draws, crops and digests, for
who writes it again in another language."""

from collections.abc import Iterable
from io import BytesIO

import numpy as np
from PIL import Image

from reference_impls import initial_weights
from reference_impls.contract import FIRST_LINK, link
from reference_impls.data.cifar10 import PADDING
from reference_impls.data.order import epoch_order
from reference_impls.data.photographs import SIDE, central_crop, random_crop
from reference_impls.precisions import BANDS
from reference_impls.probe import PROBE_VERSION, ProbeRequest, random_value
from reference_impls.schedules import SCHEDULES
from reference_impls.training_state import digests
from suite.files.generated import markdown_table

SEED, EPOCH, SAMPLES, SAMPLE = 1, 2, 10, 7
RATE, STEPS, PLACES = 0.1, 100, (0, 10, 30, 65, 99)
SHAPES: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "uniform_fan_in": ("conv1.bias", {"conv1.weight": (6, 1, 5, 5), "conv1.bias": (6,)}),
    "glorot_uniform": ("conv1.weight", {"conv1.weight": (6, 1, 5, 5)}),
    "kaiming_normal": (
        "features.1.block.0.0.weight",
        {"features.1.block.0.0.weight": (16, 1, 3, 3)},
    ),
}
PROBE_KEYS = {
    "probe_version": f"{PROBE_VERSION}",
    "model": "the model, as in a run's request",
    "classes": "classes of the data",
    "image_shape": "channels, height, width",
    "batch_size": "samples of every mini-batch",
    "dtype": "`float64` or `float32`",
    "seed": "of the inputs, which are there already",
    "optimizer": "as in a run's request; no schedule applies",
    "learning_rates": "numbers, one for each step",
    "threads": "that compute",
    "accelerator": "`cpu` or `cuda`: compute there, or refuse",
    "parallel": "as in a run's request; `ranks` is 1",
    "shares": "1",
    "output": "folder to write to",
    "trains": "as in a run's request; absent: the whole model",
}


def probe_keys() -> str:
    """The keys of the probe's request."""
    assert PROBE_KEYS.keys() == set(ProbeRequest._fields)
    inputs = [("inputs", "folder to read from")]
    rows = [(f"`{name}`", about) for name, about in [*PROBE_KEYS.items(), *inputs]]
    return markdown_table(("key", "meaning"), rows)


def vectors() -> str:
    """What is computed, from what, and the result."""
    return markdown_table(("what", "of", "result"), [*_drawn(), *_computed()])


def _drawn() -> list[tuple[str, str, str]]:
    """What follows from the seed."""
    small, large = (
        np.random.RandomState([SEED, EPOCH, 1]).random_sample((SAMPLES, count))[SAMPLE]
        for count in (3, 5)
    )
    row, column = (int(draw * (2 * PADDING + 1)) for draw in small[:2])
    box, mirrored = random_crop(640, 480, large)
    of_sample = f"seed {SEED}, epoch {EPOCH}, {SAMPLES} samples, sample {SAMPLE}"
    weights = [
        (
            f"`{name}`",
            f"`{parameter}` {shapes[parameter]}, seed {SEED}: its first numbers",
            _numbers(initial_weights.make(name, shapes, SEED)[parameter].ravel()[:3]),
        )
        for name, (parameter, shapes) in SHAPES.items()
    ]
    order = epoch_order(SEED, EPOCH, SAMPLES)
    inputs = random_value("bn1.running_var", (2,), SEED)
    return [
        ("order", f"seed {SEED}, epoch {EPOCH}, {SAMPLES} samples", _numbers(order)),
        ("draws, `crop_flip`", of_sample, _numbers(small)),
        ("`crop_flip`", "these", f"row {row}, column {column}, mirrored: {small[2] < 0.5}"),
        ("draws, `resized_crop`", of_sample, _numbers(large)),
        (
            "`resized_crop`",
            "these, 640 wide and 480 high: left, top, right, bottom",
            f"{_numbers(box)}, mirrored: {mirrored}",
        ),
        *weights,
        ("the probe's input", f"`bn1.running_var` (2,), seed {SEED}", _numbers(inputs)),
    ]


def _computed() -> list[tuple[str, str, str]]:
    """What is the same for every seed."""
    crop = central_crop(640, 480, ())[0]
    rates = [
        (
            f"`{name}`",
            f"base {RATE:g}, steps {', '.join(map(str, PLACES))} of {STEPS}",
            _numbers([schedule(RATE, step, STEPS) for step in PLACES]),
        )
        for name, schedule in SCHEDULES.items()
    ]
    state = {"parameter/fc.weight": np.array([[1.0, 2.0]], np.float32)}
    line = ':::MLLOG {"metadata": {"rank": 0}}'
    bits = (f"{name}: {band.lowest} to {band.highest}" for name, band in BANDS.items())
    return [
        ("evaluation crop", "640 wide, 480 high", _numbers(crop)),
        *(
            (
                "JPEG scale",
                f"1600 wide, 1200 high, evaluation crop, side {side}",
                _decoded(1600, 1200, side),
            )
            for side in (SIDE, 80)
        ),
        *rates,
        (
            "`parameter` digest",
            "`fc.weight` float32 (1, 2): 1, 2",
            f"`{digests(state)['parameter']}`",
        ),
        ("`statistic` digest", "a model without any", f"`{digests(state)['statistic']}`"),
        ("chain", f"`{line}` as first line", f"`{link(FIRST_LINK, line)}`"),
        ("bits of `arithmetic`", "precision", "; ".join(bits)),
    ]


def _decoded(width: int, height: int, side: int) -> str:
    """The size at which a JPEG is decoded for its evaluation crop at this side."""
    file = BytesIO()
    Image.new("RGB", (width, height)).save(file, "JPEG")
    left, top, right, bottom = central_crop(width, height, ())[0]
    shrunk = max(1.0, min(right - left, bottom - top) / side)
    with Image.open(file) as image:
        image.draft("RGB", (int(width / shrunk), int(height / shrunk)))
        return f"{image.width} by {image.height}"


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{float(value):.8g}" for value in values)
