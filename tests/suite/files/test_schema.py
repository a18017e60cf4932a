"""What is wrong in the values of a table by name is named with the key, and never a crash."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from suite.files.schema import SchemaError, from_plain


class Word(str, enum.Enum):
    YES = "yes"


@dataclass(frozen=True)
class Item:
    word: Word


@dataclass(frozen=True)
class Items:
    named: Mapping[str, Item | None]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"word": "Yes"}, "named.b.word: expected one of yes, found 'Yes'"),
        ({"word": "yes", "more": 1}, "named.b.there is no key 'more'"),
        ({}, "named.b.the key 'word' is missing"),
        (7, "named.b: expected a table, found 7"),
    ],
)
def test_a_wrong_value_of_a_mapping_is_named(item: object, words: str) -> None:
    with pytest.raises(SchemaError) as found:
        from_plain({"named": {"a": {"word": "yes"}, "none": None, "b": item}}, Items, "")
    assert words in str(found.value)
