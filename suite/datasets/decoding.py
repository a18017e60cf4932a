"""Decodes every image of a data set: the only way to find damage in the middle of a file."""

from collections.abc import Callable, Iterator
from pathlib import Path

from suite.datasets.layouts import IMAGE_SUFFIXES
from suite.errors import SuiteError


def decode_all(directory: Path, progress: Callable[[int, int], None]) -> int:
    """Decode every image below the folder and return their number; raises SuiteError naming the
    first that is damaged.

    ``progress`` is called with the number of decoded images and the total.
    """
    from PIL import Image  # start-up: loads Pillow

    paths = sorted(_images(directory))
    for done, path in enumerate(paths):
        progress(done, len(paths))
        try:
            with Image.open(path) as image:
                image.load()
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise SuiteError(f"{path} is damaged: {error}; get the image again.") from error
    return len(paths)


def _images(directory: Path) -> Iterator[Path]:
    return (
        path
        for path in directory.rglob("*")
        if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()
    )
