"""The camera: points where the closed form puts them, pictures that arrive there, and the identity
from the front."""

import math

import numpy as np
import pytest
from PIL import Image

from suite.extensions.viewpoint.programs.camera import (
    DISTANCE,
    SIDE,
    as_picture,
    as_pixels,
    encoded,
    homography,
    project,
    view,
)

GOLDEN = {
    # (x, y), yaw, roll: u, v worked out by hand from the camera's equations with DISTANCE = 2
    ((0.5, 0.0), 0.0, 0.0): (0.5, 0.0),
    ((0.5, 0.5), 60.0, 0.0): (0.5 / (2 + math.sqrt(3) / 4), 1.0 / (2 + math.sqrt(3) / 4)),
    ((-0.5, 0.5), 60.0, 0.0): (-0.5 / (2 - math.sqrt(3) / 4), 1.0 / (2 - math.sqrt(3) / 4)),
    ((0.5, 0.0), 30.0, 0.0): (math.sqrt(3) / 2 / 2.25, 0.0),
    ((0.5, 0.0), 0.0, 90.0): (0.0, 0.5),
    ((0.0, 0.5), 60.0, 90.0): (-0.5 / (2 - math.sqrt(3) / 4), 0.0),
    ((0.0, 0.0), 47.0, 11.0): (0.0, 0.0),
}


@pytest.mark.parametrize(("point", "yaw", "roll"), GOLDEN)
def test_a_point_is_seen_where_the_equations_put_it(
    point: tuple[float, float], yaw: float, roll: float
) -> None:
    assert project(point, yaw, roll) == pytest.approx(GOLDEN[point, yaw, roll], abs=1e-12)


def test_the_other_side_is_the_mirror_image() -> None:
    for x, y in ((0.3, 0.2), (-0.5, 0.1)):
        (left_u, left_v), (right_u, right_v) = (
            project((x, y), -40.0, 0.0),
            project((-x, y), 40.0, 0.0),
        )
        assert (left_u, left_v) == pytest.approx((-right_u, right_v))


def test_the_homography_can_be_inverted_at_every_view() -> None:
    assert all(np.linalg.cond(homography(yaw, 5.0)) < 100 for yaw in range(-75, 76, 5))


@pytest.mark.parametrize(("yaw", "roll"), [(0.0, 0.0), (30.0, 0.0), (60.0, 5.0), (-60.0, -5.0)])
def test_a_spot_of_a_picture_arrives_at_its_projection(yaw: float, roll: float) -> None:
    """A bright spot of 3x3 of 224x224 pixels; the middle of what the frame shows of it, to a third
    of a pixel."""
    pixels = np.zeros((SIDE, SIDE, 1), np.uint8)
    pixels[60:63, 150:153] = 255
    frame = np.asarray(view(as_picture(pixels, channels_last=True), yaw, roll), np.float64)
    rows, columns = np.mgrid[:SIDE, :SIDE] + 0.5
    found = (frame * columns).sum() / frame.sum(), (frame * rows).sum() / frame.sum()
    u, v = project((151.5 / SIDE - 0.5, 61.5 / SIDE - 0.5), yaw, roll)
    assert found == pytest.approx(((u + 0.5) * SIDE, (v + 0.5) * SIDE), abs=0.34)


def test_from_the_front_a_picture_of_the_frame_s_size_is_unchanged() -> None:
    pixels = np.random.RandomState(1).randint(0, 256, (SIDE, SIDE, 3)).astype(np.uint8)
    assert np.array_equal(np.asarray(view(Image.fromarray(pixels), 0.0, 0.0)), pixels)


def test_beside_the_picture_the_frame_is_black() -> None:
    frame = np.asarray(view(Image.new("L", (28, 28), 255), 60.0, 0.0))
    edge = (project((0.5, 0.0), 60.0, 0.0)[0] + 0.5) * SIDE
    assert frame[SIDE // 2, math.ceil(edge) + 1 :].max() == 0
    assert frame[SIDE // 2, math.floor(edge) - 9] == 255
    assert DISTANCE == 2.0, "the golden points above are worked out for it"


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_small_picture_comes_back_nearly_the_same_from_the_front(
    channels: int, channels_last: bool
) -> None:
    """28x28 pixels of a smooth picture through camera, JPEG and the mean of 8x8 pixels: within 12
    of 255."""
    ramp = np.add.outer(np.arange(28), np.arange(28)) * 4
    pixels = np.stack([ramp] * channels, axis=2 if channels_last else 0).astype(np.uint8)
    back = as_pixels(encoded(view(as_picture(pixels, channels_last), 0.0, 0.0)), 28)
    expected = pixels if channels_last else pixels.transpose(1, 2, 0)
    assert back.shape == (28, 28, channels)
    assert np.abs(back.astype(int)[1:-1, 1:-1] - expected[1:-1, 1:-1]).max() <= 12
