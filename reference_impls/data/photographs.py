"""Photographs as JPEG files: GLD-23k's tables of names and classes, or one folder per class;
decoded and cropped to a square."""

import csv
import itertools
import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Iterable, List, Tuple

import numpy as np
from PIL import Image

from reference_impls.contract import ContractError, Request
from reference_impls.data.reader import Reader, Split

SIDE = 224
SHORT_SIDE = 256  # of an evaluation image of that side, before the central crop
EXTENSIONS = (".jpg", ".jpeg", ".png")


class PhotographReader(Reader):
    """Images (side, side, 3), one by one, decoded by the request's number of threads; the side is
    224 where the request names none.

    Augmentation ``resized_crop``: a random crop of the image, mirrored half the time. The crop has
    8 % to 100 % of the area and an aspect ratio between 3:4 and 4:3 (Szegedy et al., Going deeper
    with convolutions, 2015, as in torchvision's RandomResizedCrop); an evaluation image is resized
    to a short side of 256/224 of the side, then cropped to its centre.
    """

    channels_last = True
    evaluation_batch = 32

    def __init__(self, request: Request) -> None:
        self._directory, self._side = request.data.directory, request.data.side or SIDE
        # Pillow releases the GIL while it decodes and resizes. Worker processes are parallel
        # already.
        self._threads = request.threads if request.loading.workers == 0 else 1
        self._augments = request.preprocessing.augmentation == "resized_crop"
        self.draws = 5 if self._augments else 0

    def files(self) -> List[str]:
        """All images, which the tables or folders name."""
        return [path for split in (self.training(), self.evaluation()) for path in split.images]

    def training_images(
        self, split: Split, chosen: np.ndarray, draws: np.ndarray
    ) -> List[np.ndarray]:
        """Images by index, augmented if the request says so."""
        if not self._augments:
            return self.evaluation_images(split, chosen)
        return self._decoded(split, chosen, random_crop, draws)

    def evaluation_images(self, split: Split, chosen: np.ndarray) -> List[np.ndarray]:
        """Central crops, by index."""
        return self._decoded(split, chosen, central_crop, [()] * len(chosen))

    def _decoded(
        self, split: Split, chosen: np.ndarray, crop_of: "CropOf", draws: Iterable[object]
    ) -> List[np.ndarray]:
        paths = [split.images[number] for number in chosen]
        if self._threads == 1:
            return [_decode(path, self._side, crop_of, draw) for path, draw in zip(paths, draws)]
        sides, crops = itertools.repeat(self._side), itertools.repeat(crop_of)
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(_decode, paths, sides, crops, draws))


class Gld23kReader(PhotographReader):
    """Google Landmarks 23k (Hsu et al., ECCV 2020): two tables and images/<image_id>.jpg, or the
    images in train/ and test/."""

    def training(self) -> Split:
        """mini_gld_train_split.csv: user_id, image_id, class."""
        return self._open("mini_gld_train_split.csv", "train")

    def evaluation(self) -> Split:
        """mini_gld_test.csv: image_id, class."""
        return self._open("mini_gld_test.csv", "test")

    def files(self) -> List[str]:
        """Both tables, and all images."""
        return [
            os.path.join(self._directory, name)
            for name in ("mini_gld_train_split.csv", "mini_gld_test.csv")
        ] + super().files()

    def _open(self, table: str, split: str) -> Split:
        path = os.path.join(self._directory, table)
        try:
            with open(path, encoding="utf-8", newline="") as stream:
                rows = [(row["image_id"], int(row["class"])) for row in csv.DictReader(stream)]
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise ContractError("{}: the table cannot be read: {}.".format(path, error)) from error
        folders = [os.path.join(self._directory, name) for name in ("images", split)]
        folder = next((folder for folder in folders if os.path.isdir(folder)), folders[0])
        return Split(
            np.array([label for _, label in rows], np.int64),
            [os.path.join(folder, name + ".jpg") for name, _ in rows],
        )


class ImageFolderReader(PhotographReader):
    """One folder per class below train/ and below val/ or test/; classes are numbered in the order
    of their names. Files beside the folders are left out."""

    def training(self) -> Split:
        """train/<class>/…"""
        return self._open(("train",))

    def evaluation(self) -> Split:
        """val/<class>/… or test/<class>/…"""
        return self._open(("val", "test"))

    def _open(self, names: Tuple[str, ...]) -> Split:
        found = [
            os.path.join(self._directory, name)
            for name in names
            if os.path.isdir(os.path.join(self._directory, name))
        ]
        if not found:
            raise ContractError(
                "{}: it has no folder {}.".format(self._directory, " or ".join(names))
            )
        paths, labels = [], []  # type: List[str], List[int]
        with os.scandir(found[0]) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
        for label, name in enumerate(names):
            files = sorted(
                file
                for file in os.listdir(os.path.join(found[0], name))
                if file.lower().endswith(EXTENSIONS)
            )
            paths += [os.path.join(found[0], name, file) for file in files]
            labels += [label] * len(files)
        return Split(np.array(labels, np.int64), paths)


def random_crop(
    width: int, height: int, draw: np.ndarray
) -> Tuple[Tuple[float, float, float, float], bool]:
    """Left, top, right and bottom of the crop, and whether it is mirrored; ``draw`` are area,
    aspect, left, top and mirror from [0, 1).

    A crop that does not fit is clipped to the image, where torchvision draws again: a fixed number
    of draws keeps images independent.
    """
    area = width * height * (0.08 + 0.92 * draw[0])
    aspect = math.exp(math.log(3 / 4) + draw[1] * (math.log(4 / 3) - math.log(3 / 4)))
    wide, high = min(width, math.sqrt(area * aspect)), min(height, math.sqrt(area / aspect))
    left, top = draw[2] * (width - wide), draw[3] * (height - high)
    return (left, top, left + wide, top + high), bool(draw[4] < 0.5)


def central_crop(
    width: int, height: int, draw: object
) -> Tuple[Tuple[float, float, float, float], bool]:
    """The central square of 224/256 of the short side; never mirrored."""
    side = min(width, height) * SIDE / SHORT_SIDE
    return ((width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2), False


CropOf = Callable[[int, int, object], Tuple[Tuple[float, float, float, float], bool]]


def _decode(path: str, side: int, crop_of: CropOf, draw: object) -> np.ndarray:
    """The crop of an image, scaled to side x side pixels; JPEG is decoded at the smallest scale
    that still has enough pixels."""
    try:
        with Image.open(path) as image:
            crop, mirrored = crop_of(image.width, image.height, draw)
            shrunk = max(1.0, min(crop[2] - crop[0], crop[3] - crop[1]) / side)
            full_width = image.width
            image.draft("RGB", (int(image.width / shrunk), int(image.height / shrunk)))
            # the decoder's 1, 1/2, 1/4 or 1/8: it rounds the sizes up
            scale = 1 / round(full_width / image.width)
            # convert() always copies
            coloured = image if image.mode == "RGB" else image.convert("RGB")
            square = coloured.resize(
                (side, side), Image.BILINEAR, box=[edge * scale for edge in crop]
            )
    except (OSError, ValueError, SyntaxError) as error:
        raise ContractError("{}: the image cannot be decoded: {}.".format(path, error)) from error
    pixels = np.asarray(square)
    return pixels[:, ::-1] if mirrored else pixels
