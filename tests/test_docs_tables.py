"""The generated tables of docs/ are up to date."""

from pathlib import Path

import pytest

from suite.files.generated import fill_generated, generated_places, markdown_table
from suite.files.paths import repository_root
from tools.docs_tables import TABLES, pages, write


@pytest.mark.parametrize("path", list(pages()), ids=lambda path: path.name)
def test_a_page_is_up_to_date(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert fill_generated(text, TABLES) == text, (
        f"{path.relative_to(repository_root())} is behind the code: run `make tables`"
    )


def test_every_table_is_on_a_page() -> None:
    assert {
        name for path in pages() for name in generated_places(path.read_text(encoding="utf-8"))
    } == set(TABLES)


def test_only_marked_places_are_filled_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "page.md"
    page.write_text("before\n<!-- generated: meters -->\nold\n<!-- end -->\nafter\n")
    write(tmp_path)
    assert (
        page.read_text()
        == f"before\n<!-- generated: meters -->\n{TABLES['meters']()}\n<!-- end -->\nafter\n"
    )
    with pytest.raises(KeyError, match="unknown"):
        fill_generated("<!-- generated: unknown -->\n<!-- end -->", TABLES)


def test_a_bar_in_a_cell_does_not_split_it() -> None:
    assert markdown_table(("a", "b"), [("x|y", "z")]) == "| a | b |\n| --- | --- |\n| x/y | z |"
