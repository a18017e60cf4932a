"""Tables I to III of the checkpointing paper."""

import pytest

from suite.extensions.memory_study.record.paper_tables import LIMIT, cells, published, terms
from suite.memory.network import load_network

FOUND_C = {
    224: 536_800,
    350: 1_459_200,
    500: 3_367_900,
    650: 5_602_300,
    1100: 15_638_400,
    1500: 28_470_000,
}
"""c of ResNet-18 and 34 by the picture's width, as the published values give it back with P and L
known, in words."""


def test_every_cell_is_within_a_percent() -> None:
    found = cells()
    assert len(found) == 30 + 30 + 20
    assert [cell for cell in found if abs(cell.deviation) > LIMIT] == []


def test_tables_have_a_row_per_value_and_a_column_per_depth() -> None:
    paper = published()
    assert all(len(table.cells) == len(table.values) for table in paper.tables)
    assert all(len(row) == len(paper.depths) for table in paper.tables for row in table.cells)


@pytest.mark.parametrize(("image", "expected"), FOUND_C.items())
def test_c_grows_with_the_picture(image: int, expected: int) -> None:
    """No constant is fitted, so c is near what the tables give back, not equal to it."""
    for depth in (18, 34):
        assert terms(load_network(f"resnet{depth}"), image).left_out == pytest.approx(
            expected, rel=0.16
        )


def test_c_does_not_depend_on_the_number_of_blocks() -> None:
    for image in (224, 500):
        found = {
            depth: terms(load_network(f"resnet{depth}"), image).left_out
            for depth in (18, 34, 50, 101, 152)
        }
        assert found[18] == found[34]
        assert found[50] == found[101] == found[152]
