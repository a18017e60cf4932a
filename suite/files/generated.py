"""Generated places of Markdown pages: the text between ``<!-- generated: NAME -->`` and ``<!-- end
-->``.

A page's places are filled by functions without arguments that return Markdown, by name.
The rulebook is filled by suite.compliance.rulebook, the pages of docs/ by tools/docs_tables.py.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

Writers = Mapping[str, Callable[[], str]]
_PLACE = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill_generated(text: str, writers: Writers) -> str:
    """The text with the content of every generated place replaced; raises KeyError for a place
    without a writer."""
    return _PLACE.sub(lambda found: f"{found[1]}{writers[found['name']]()}\n{found[3]}", text)


def generated_places(text: str) -> tuple[str, ...]:
    """The names of the text's generated places, in order."""
    return tuple(found["name"] for found in _PLACE.finditer(text))


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; ``|`` in a cell becomes ``/``."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
