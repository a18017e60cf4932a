"""The embedded data set: scikit-learn's bundled handwritten digits, written in MNIST's layout."""

from pathlib import Path

import numpy as np

EVALUATION_EVERY = 5  # each fifth sample is for evaluation


def write(directory: Path) -> None:
    """Write the four IDX files of 28x28 images.

    The 1,797 images of 8x8 pixels have values 0..16, which are scaled to 0..255; every pixel is
    repeated 3x3 and a black border of two pixels is added. Samples 4, 9, 14, … (359) are for
    evaluation, the other 1,438 for training. The same bytes on every machine.
    """
    from sklearn.datasets import load_digits  # start-up: loads scikit-learn and scipy

    digits = load_digits()
    pixels = (np.asarray(digits.images) * 255 / 16).round().astype(np.uint8)
    images = np.pad(pixels.repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (2, 2), (2, 2)))
    labels = np.asarray(digits.target).astype(np.uint8)
    evaluation = np.arange(len(labels)) % EVALUATION_EVERY == EVALUATION_EVERY - 1
    for prefix, chosen in (("train", ~evaluation), ("t10k", evaluation)):
        write_idx(directory / f"{prefix}-images-idx3-ubyte", images[chosen])
        write_idx(directory / f"{prefix}-labels-idx1-ubyte", labels[chosen])


def write_idx(path: Path, array: np.ndarray) -> None:
    """One array of bytes in the IDX format of MNIST."""
    header = bytes([0, 0, 8, array.ndim]) + b"".join(
        length.to_bytes(4, "big") for length in array.shape
    )
    path.write_bytes(header + array.tobytes())
