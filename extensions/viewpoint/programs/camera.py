"""A pinhole camera that looks at a flat picture, turned about its vertical axis and rolled in its
own plane. Needs NumPy and Pillow.

The picture is the square [-1/2, 1/2] x [-1/2, 1/2] of the plane z = 0, its middle DISTANCE picture
widths in front of the camera, on the optical axis. It is rolled by ``roll``, then turned by
``yaw``: a point (x, y) is at

    x' = x cos(roll) - y sin(roll),  y' = x sin(roll) + y cos(roll)
    X = x' cos(yaw),  Y = y',  Z = DISTANCE + x' sin(yaw)

The focal length is DISTANCE frame widths, so that a picture seen from the front fills the frame
exactly: (u, v) = DISTANCE (X, Y) / Z, from the frame's middle. Lens distortion, blur by motion and
noise are left out. (Hartley and Zisserman, Multiple View Geometry, 2004, section 8.1.1.)
"""

import io
import math
from typing import Tuple

import numpy as np
from PIL import Image

SIDE = 224
"""Pixels of a frame's side."""

DISTANCE = 2.0
QUALITY = 85
"""Of a stored frame's JPEG."""


def homography(yaw_deg: float, roll_deg: float) -> np.ndarray:
    """The 3x3 matrix, float64, from a picture's points (x, y, 1) to the frame's (u, v, 1), both in
    widths from the middle, up to a factor."""
    yaw, roll = math.radians(yaw_deg), math.radians(roll_deg)
    cosine, sine = math.cos(roll), math.sin(roll)
    return np.array(
        [
            [DISTANCE * math.cos(yaw) * cosine, -DISTANCE * math.cos(yaw) * sine, 0.0],
            [DISTANCE * sine, DISTANCE * cosine, 0.0],
            [math.sin(yaw) * cosine, -math.sin(yaw) * sine, DISTANCE],
        ]
    )


def project(point: Tuple[float, float], yaw_deg: float, roll_deg: float) -> Tuple[float, float]:
    """Where the camera sees a point of the picture."""
    u, v, scale = homography(yaw_deg, roll_deg) @ np.array([point[0], point[1], 1.0])
    return float(u / scale), float(v / scale)


def view(picture: Image.Image, yaw_deg: float, roll_deg: float) -> Image.Image:
    """The frame, SIDE x SIDE, of a square picture: bilinear, black beside the picture."""
    back = (
        _from_widths(picture.width)
        @ np.linalg.inv(homography(yaw_deg, roll_deg))
        @ np.linalg.inv(_from_widths(SIDE))
    )
    coefficients = (back / back[2, 2]).ravel()[:8].tolist()
    return picture.transform((SIDE, SIDE), Image.PERSPECTIVE, coefficients, Image.BILINEAR)


def _from_widths(side: int) -> np.ndarray:
    """From widths from the middle to pixels from the upper left corner."""
    return np.array([[side, 0.0, side / 2], [0.0, side, side / 2], [0.0, 0.0, 1.0]])


def as_picture(pixels: np.ndarray, channels_last: bool) -> Image.Image:
    """A reader's image, uint8 (channels, height, width) or channels last, of one or three
    channels."""
    last = pixels if channels_last else pixels.transpose(1, 2, 0)
    return Image.fromarray(np.ascontiguousarray(last[:, :, 0] if last.shape[2] == 1 else last))


def encoded(frame: Image.Image) -> bytes:
    """A frame as JPEG."""
    stream = io.BytesIO()
    frame.save(stream, "JPEG", quality=QUALITY)
    return stream.getvalue()


def as_pixels(jpeg: bytes, side: int) -> np.ndarray:
    """A stored frame for a model that reads pictures of ``side``: uint8 (side, side, channels). A
    smaller side is the mean of the frame's pixels."""
    with Image.open(io.BytesIO(jpeg)) as frame:
        pixels = np.asarray(
            frame if frame.size == (side, side) else frame.resize((side, side), Image.BOX)
        )
    return pixels[:, :, np.newaxis] if pixels.ndim == 2 else pixels
