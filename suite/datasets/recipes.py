"""Makes the pictures of a data set from photographs, as its recipe says: crops, scales and JPEG
encoding.

Every number follows from the name of the picture, in integers, so that all machines make the same
pictures. One photograph per core is in memory at a time.
"""

import hashlib
import io
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from suite.catalog.data_sets import DataSetDefinition, DataSetRecipe, PictureShape
from suite.catalog.data_sets import folder as definitions_folder
from suite.datasets.class_folders import COLUMNS, write_table
from suite.datasets.digest_lists import (
    CANONICAL_FOLDER,
    MADE_LIST,
    compare_list,
    name_in_line,
    read_list,
)
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.paths import HOME_VARIABLE

SUBSAMPLING = "4:2:0"


@dataclass(frozen=True)
class Crop:
    """A part of a photograph, in whole pixels, and the size it is scaled to."""

    shape: PictureShape
    box: tuple[int, int, int, int]
    is_mirrored: bool


def make_pictures(
    definition: DataSetDefinition,
    source: Path,
    target: Path,
    progress: Callable[[int, int], None],
) -> None:
    """Write the tables, the pictures and their digest list into ``target``.

    Raises SuiteError for photographs that are missing or changed, and where the disk is too small.
    """
    recipe = definition.recipe
    assert recipe is not None
    photographs = _photographs(definition, source)
    free_bytes = shutil.disk_usage(target).free
    if free_bytes < recipe.size_bytes:
        raise SuiteError(
            f"The data set {definition.name!r} needs {recipe.size_bytes / 1e9:.1f} GB, and"
            f" {target.parent} has {free_bytes / 1e9:.1f} GB free; free some space, or set"
            f" {HOME_VARIABLE} to a folder on another disk."
        )
    numbers = _numbers(definition, len(photographs))
    (target / CANONICAL_FOLDER).mkdir()
    lines = _make_all(photographs, numbers, partial(_make, recipe, target), progress)
    (target / MADE_LIST).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    _write_tables(definition, photographs, numbers, target)


def crop_of(name: str, width: int, height: int, recipe: DataSetRecipe) -> Crop:
    """The crop of a photograph of ``width`` x ``height`` that becomes the picture ``name``."""
    digest = hashlib.sha256(name.encode()).digest()
    kind, size, left, top, mirror = (
        int.from_bytes(digest[at : at + 4], "big") for at in range(0, 20, 4)
    )
    shape = next(
        shape
        for number, shape in enumerate(recipe.shapes)
        if kind % 100 < sum(each.percent for each in recipe.shapes[: number + 1])
    )
    percent = recipe.smallest_crop_percent + size % (101 - recipe.smallest_crop_percent)
    wide = min(width, height * shape.width // shape.height) * percent // 100
    high = min(height, width * shape.height // shape.width) * percent // 100
    x, y = left % (width - wide + 1), top % (height - high + 1)
    return Crop(shape, (x, y, x + wide, y + high), bool(mirror % 2))


def _photographs(definition: DataSetDefinition, source: Path) -> Sequence[Path]:
    """The listed photographs anywhere below ``source``, sorted by class folder and name."""
    assert definition.recipe is not None and definition.recipe.photographs.digest_list is not None
    listed = read_list(definitions_folder() / definition.recipe.photographs.digest_list)
    names = [name_in_line(line) for line in listed]
    found: Mapping[str, Path] = {
        f"{CANONICAL_FOLDER}/{path.name}": path
        for path in source.rglob("*.jpg")
        if not path.is_symlink()
    }
    paths = {name: found[name] for name in names if name in found}
    different = compare_list(listed, [f"{sha256(paths[name])}  {name}" for name in paths], names)
    wrong = (*different.missing, *different.changed)
    if wrong:
        raise SuiteError(
            f"{source} lacks {len(different.missing)} of the {len(names)} photographs for"
            f" {definition.name!r}; the number of photographs that differ from the published"
            f" ones is {len(different.changed)}."
            f" The first one that is missing or differs is {Path(wrong[0]).name}. Get all of them"
            f" again from {definition.recipe.source}."
        )
    return sorted(paths.values(), key=lambda path: (path.parent.name, path.name))


def _numbers(definition: DataSetDefinition, photographs: int) -> Sequence[int]:
    """How many pictures are made of each photograph."""
    total = (definition.train_samples or 0) + (definition.eval_samples or 0)
    return [total // photographs + (place < total % photographs) for place in range(photographs)]


def _make_all(
    photographs: Sequence[Path],
    numbers: Sequence[int],
    make: Callable[[Path, int], Sequence[str]],
    progress: Callable[[int, int], None],
) -> Sequence[str]:
    """Make the pictures of every photograph on all cores; their lines, sorted by name."""
    lines: list[str] = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # Pillow releases the GIL
        try:
            for made in pool.map(make, photographs, numbers):
                lines += made
                progress(len(lines) - 1, sum(numbers))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return sorted(lines, key=name_in_line)


def _make(recipe: DataSetRecipe, target: Path, path: Path, count: int) -> Sequence[str]:
    """Make the pictures of one photograph; their lines of the digest list."""
    from PIL import Image  # start-up: loads Pillow

    with Image.open(path) as opened:
        photograph = opened.convert("RGB")
    lines = []
    for number in range(count):
        image_id = _image_id(path, number)
        crop = crop_of(image_id, photograph.width, photograph.height, recipe)
        # in two calls: in one, Pillow's version decides which direction is scaled and rounded first
        picture = photograph.crop(crop.box)
        for size in ((crop.shape.width, picture.height), (crop.shape.width, crop.shape.height)):
            picture = picture.resize(size, Image.Resampling.BICUBIC)
        if crop.is_mirrored:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        picture.info = {}  # nothing of the photograph's file but its pixels
        coded = io.BytesIO()
        picture.save(coded, "JPEG", quality=recipe.quality, subsampling=SUBSAMPLING)
        name = f"{CANONICAL_FOLDER}/{image_id}.jpg"
        (target / name).write_bytes(coded.getbuffer())
        lines.append(f"{hashlib.sha256(coded.getbuffer()).hexdigest()}  {name}")
    return lines


def _image_id(path: Path, number: int) -> str:
    return f"{path.stem}-{number}"


def _write_tables(
    definition: DataSetDefinition, photographs: Sequence[Path], numbers: Sequence[int], target: Path
) -> None:
    """A class is a group of photographs that follow one another; the first picture of its first
    photographs is for evaluation."""
    classes = definition.classes or 0
    evaluated = (definition.eval_samples or 0) // classes
    rows: tuple[list[tuple[str, int]], ...] = ([], [])
    seen = [0] * classes
    for place, (path, count) in enumerate(zip(photographs, numbers, strict=True)):
        label = place * classes // len(photographs)
        seen[label] += 1
        for number in range(count):
            is_evaluated = number == 0 and seen[label] <= evaluated
            rows[is_evaluated].append((_image_id(path, number), label))
    for table, columns, of_table in zip(definition.tables, COLUMNS, rows, strict=True):
        write_table(target / table.name, columns, of_table)
