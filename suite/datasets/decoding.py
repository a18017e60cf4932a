"""Decodes every picture of a data set: the only way to find damage in its middle."""

from collections.abc import Callable, Iterator
from pathlib import Path

from suite.datasets.layouts import PICTURES
from suite.errors import SuiteError


def decode_all(directory: Path, progress: Callable[[int, int], None]) -> int:
    """Decode every picture below the folder and return their number; raises SuiteError naming the first that is damaged.

    ``progress`` is told how many are done, of how many.
    """
    from PIL import Image

    paths = sorted(_pictures(directory))
    for done, path in enumerate(paths):
        progress(done, len(paths))
        try:
            with Image.open(path) as picture:
                picture.load()
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise SuiteError(f"{path} is damaged: {error}; get the picture again.") from error
    return len(paths)


def _pictures(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.suffix.lower() in PICTURES and path.is_file())
