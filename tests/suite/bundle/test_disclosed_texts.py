"""Names are searched for in the different texts of a JSON file; a text that they leave out would be
searched by nobody."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from suite.bundle.disclosures import TOKEN, _distinct_texts, _texts_of_json

KEYS = st.sampled_from(["hostname", "serial", "a.hostname", TOKEN, "", "model", "."]) | st.text(
    max_size=3
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_different_texts_are_those_of_the_whole_file(values: dict[str, Any]) -> None:
    assert _distinct_texts(values) == {text for _, text in _texts_of_json(values)}
