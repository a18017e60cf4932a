"""What names somebody in a bundle's files."""

import json
import tracemalloc
from pathlib import Path

import pytest

from suite.bundle.disclosures import find_disclosures


@pytest.mark.parametrize("key", ["hostname", "net.hostname"])
def test_a_key_that_is_dotted_already_says_what_its_text_is(tmp_path: Path, key: str) -> None:
    path = tmp_path / "system.json"
    path.write_text(json.dumps({key: "kitchen"}))
    (found,) = find_disclosures(tmp_path, [path])
    assert (found.where, found.kind) == (key, "a host's name")


def test_a_long_text_takes_memory_for_a_few_copies(tmp_path: Path) -> None:
    path = tmp_path / "system.json"
    path.write_text(json.dumps({"a": "x" * 2**20}))
    tracemalloc.start()
    try:
        assert not list(find_disclosures(tmp_path, [path]))
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()
