"""Fills the generated tables of docs/: ``make docs-tables``, or ``python -m tools.docs_tables``.

A page has a table where it has the marks ``<!-- generated: NAME -->`` and ``<!-- end -->``; NAME is a key of :data:`TABLES`.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from suite.files.generated import Writers, fill, places, table
from suite.files.paths import repository_root
from suite.meters.meter import Meter
from suite.meters.registry import meter_classes


def pages(root: Path | None = None) -> Iterator[Path]:
    """The pages of docs/ that have a generated table."""
    for path in sorted(((root or repository_root()) / "docs").glob("**/*.md")):
        if places(path.read_text(encoding="utf-8")):
            yield path


def write(root: Path | None = None) -> None:
    """Fill every generated table of the checkout."""
    for path in pages(root):
        path.write_text(fill(path.read_text(encoding="utf-8"), TABLES), encoding="utf-8")


def channels_of(meter: type[Meter]) -> str:
    """The channels of a meter as Markdown: the first paragraph of its class's docstring, without the word "Channels"."""
    paragraph = (inspect.getdoc(meter) or "").partition("\n\n")[0]
    return re.sub(r"^Channels?:? ", "", " ".join(paragraph.split()).replace("``", "`"))


def _meters() -> str:
    rows = [(f"`{meter.name}`", f"{meter.period_s:g} s", meter.description, channels_of(meter)) for meter in meter_classes()]
    return table(("meter", "period", "reads", "channels"), rows)


TABLES: Writers = {"meters": _meters}


if __name__ == "__main__":
    write()
